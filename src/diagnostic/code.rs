//! The codes of all findings, with their severity and explanation.
//!
//! Codes are stable once published: `V0xx` syntax, `V1xx` modifiers and types,
//! `V2xx` operands, selectors and masks, `V3xx` target and version, `V4xx`
//! spelling and portability, `V5xx` results that are not what they seem, `V6xx`
//! cost, `V7xx` inline assembly, `V8xx` suppressions, `V9xx` names and flow.

use std::fmt;

use super::{Applicability, Severity};

macro_rules! codes {
    ($(
        $code:ident $rule:ident $name:literal $severity:ident $default:ident [$($fix:ident),*] $title:literal,
    )*) => {
        /// The code of a finding.
        #[allow(clippy::doc_markdown, reason = "the pages are also read in a terminal")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(
                #[doc = concat!(stringify!($code), ": ", $title)]
                #[doc = ""]
                #[doc = include_str!(concat!("pages/", stringify!($code), ".md"))]
                $rule,
            )*
            /// A rule of another program than vptx.
            Custom(&'static CustomRule),
        }

        impl Code {
            /// Every code of vptx, in order.
            pub const ALL: &'static [Code] = &[$(Code::$rule,)*];

            /// The code itself, such as `V101`.
            pub const fn text(self) -> &'static str {
                match self { $(Code::$rule => stringify!($code),)* Code::Custom(rule) => rule.code }
            }

            /// A readable name, such as `unknown-instruction`.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$rule => $name,)* Code::Custom(rule) => rule.name }
            }

            /// The findings of the rule, in one line.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$rule => $title,)* Code::Custom(rule) => rule.title }
            }

            /// The severity in the `documented` dialect.
            pub const fn severity(self) -> Severity {
                match self { $(Code::$rule => Severity::$severity,)* Code::Custom(rule) => rule.severity }
            }

            /// Whether the rule is on by default.
            pub const fn default(self) -> bool {
                match self { $(Code::$rule => on_or_off!($default),)* Code::Custom(_) => true }
            }

            /// The kinds of fixes that the rule may offer.
            pub const fn fixes(self) -> &'static [Applicability] {
                match self { $(Code::$rule => &[$(Applicability::$fix),*],)* Code::Custom(_) => &[] }
            }

            /// The page of the code, in Markdown: the findings, why they matter, an example and its
            /// fix.
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(Code::$rule => include_str!(concat!("pages/", stringify!($code), ".md")),)*
                    Code::Custom(rule) => rule.explanation,
                }
            }

            /// The index in [`Code::ALL`]; `None` for a custom rule.
            pub(super) const fn number(self) -> Option<u32> {
                enum Number { $($code,)* }
                match self {
                    $(Code::$rule => Some(Number::$code as u32),)*
                    Code::Custom(_) => None,
                }
            }
        }
    };
}

macro_rules! on_or_off {
    (on) => {
        true
    };
    (off) => {
        false
    };
}

codes! {
    V001 UnclosedComment "unclosed-comment" Error on [] "A comment has no end",
    V002 UnclosedString "unclosed-string" Error on [] "A string has no closing quote",
    V003 UnclosedBrace "unclosed-brace" Error on [] "A `{` has no `}`",
    V004 StrayBrace "stray-brace" Error on [] "A `}` has no `{`",
    V005 MissingSemicolon "missing-semicolon" Error on [Unsafe] "A statement has no `;`",
    V006 UnexpectedToken "unexpected-token" Error on [Unsafe] "A video instruction or the head of a module does not parse",
    V007 InvalidCharacter "invalid-character" Error on [Safe, Unsafe] "A character that PTX does not use",
    V008 BinaryFile "binary-file" Error on [] "The input is not PTX text",
    V009 MalformedNumber "malformed-number" Error on [Unsafe] "A number in a form that PTX does not have",
    V010 NestedTooDeeply "nested-too-deeply" Error on [] "A constant expression nests too deeply",
    V011 ConstantWithoutValue "constant-without-value" Error on [] "A constant expression has no value",
    V012 MissingName "missing-name" Error on [] "The header of a function has no name",
    V101 UnknownInstruction "unknown-instruction" Error on [Unsafe] "No such video instruction",
    V102 UnknownModifier "unknown-modifier" Error on [Unsafe] "No such modifier",
    V103 ModifierNotAllowed "modifier-not-allowed" Error on [Unsafe] "The instruction does not take this modifier",
    V104 MissingType "missing-type" Error on [] "The instruction has fewer types than it needs",
    V105 ExtraType "extra-type" Error on [] "The instruction has more types than it takes",
    V106 WrongType "wrong-type" Error on [Unsafe] "A type other than `.u32` or `.s32`",
    V107 SignedShiftAmount "signed-shift-amount" Error on [Unsafe] "The type of a shift amount is not `.u32`",
    V108 MissingComparison "missing-comparison" Error on [] "A `vset` without a comparison",
    V109 MissingShiftMode "missing-shift-mode" Error on [Unsafe] "A shift without `.clamp` or `.wrap`",
    V110 ConflictingModifiers "conflicting-modifiers" Error on [Unsafe] "Two modifiers of the same kind",
    V111 SaturateWithAccumulate "saturate-with-accumulate" Error on [Unsafe] "`.sat` together with `.add` on a SIMD instruction",
    V112 SimdSecondaryOperation "simd-secondary-operation" Error on [] "A SIMD instruction with a secondary operation other than `.add`",
    V113 ForeignComparison "foreign-comparison" Error on [Unsafe] "A comparison that video instructions do not have",
    V114 PlusOneWithNegation "plus-one-with-negation" Error on [Safe] "`.po` together with a negated operand",
    V201 MissingOperand "missing-operand" Error on [] "An operand is missing",
    V202 ExtraOperand "extra-operand" Error on [] "There are too many operands",
    V203 MissingThirdOperand "missing-third-operand" Error on [Unsafe] "The third source `c` is missing",
    V204 SelectorWithSecondaryOperation "selector-with-secondary-operation" Error on [] "A destination selector together with a secondary operation",
    V205 WrongSelector "wrong-selector" Error on [Unsafe] "A selector for another kind of instruction",
    V206 UnknownSelector "unknown-selector" Error on [Unsafe] "No such selector",
    V207 SelectorNotAllowed "selector-not-allowed" Error on [Unsafe] "A selector on an operand that takes none",
    V209 InvalidMask "invalid-mask" Error on [Unsafe] "A destination mask that does not exist",
    V210 SelectorOnConstant "selector-on-constant" Error on [Unsafe] "A selector on a constant",
    V211 ConstantNotAllowed "constant-not-allowed" Error on [] "A constant where a register must stand",
    V212 NegationNotAllowed "negation-not-allowed" Error on [Safe, Unsafe] "A minus on an operand that takes none",
    V213 ProductAndThirdNegated "product-and-third-negated" Error on [] "A `vmad` that negates both the product and `c`",
    V214 OperandKind "operand-kind" Error on [Safe] "An operand of a kind that video instructions do not take",
    V215 RegisterType "register-type" Error on [] "A register that is not 32 bits of integer or untyped data",
    V216 UndeclaredRegister "undeclared-register" Error on [Unsafe] "A register that is not declared",
    V217 GuardNotPredicate "guard-not-predicate" Error on [] "A guard that is not a predicate register",
    V218 FloatingPointConstant "floating-point-constant" Error on [Unsafe] "A floating-point constant",
    V219 SpecialRegister "special-register" Error on [] "A special register as an operand",
    V301 TargetTooLow "target-too-low" Error on [] "The target is too old for the instruction",
    V302 VersionTooLow "version-too-low" Error on [] "The PTX version is too old for the instruction",
    V303 UnknownTarget "unknown-target" Warning on [Unsafe] "A target that does not exist",
    V304 UnknownVersion "unknown-version" Warning on [Unsafe] "A PTX version that does not exist",
    V305 TargetAboveVersion "target-above-version" Error on [Unsafe] "The PTX version is too old for the target",
    V401 ModifierOrder "modifier-order" Warning on [Safe] "Modifiers not in the documented order",
    V402 RepeatedSaturate "repeated-saturate" Warning on [Safe] "`.sat` written more than once",
    V403 IgnoredThirdOperand "ignored-third-operand" Warning on [Safe] "A third source that is ignored",
    V404 CancelledNegation "cancelled-negation" Warning on [Safe] "Two minus signs that cancel",
    V405 SelectorReadAsType "selector-read-as-type" Warning on [Safe] "A selector that newer versions of ptxas read as a type",
    V406 ConstantCut "constant-cut" Warning on [Safe] "A constant wider than 32 bits",
    V407 IgnoredSelector "ignored-selector" Warning on [Safe] "A selector that ptxas ignores",
    V408 ExplicitDefault "explicit-default" Note off [Safe] "A selector or mask that only repeats the default",
    V501 ResultDiffers "result-differs" Warning on [] "The result of ptxas can differ from the manual's",
    V502 ResultDiffersInOldPtxas "result-differs-in-old-ptxas" Warning on [] "The result of ptxas before 13.3 can differ from the manual's",
    V503 SaturateWithoutEffect "saturate-without-effect" Warning off [Safe] "A `.sat` that can never clamp",
    V504 SaturateOneSided "saturate-one-sided" Note off [] "A `.sat` that can clamp at one end only",
    V505 ConstantComparison "constant-comparison" Warning on [] "A comparison that is always true or always false",
    V506 SecondaryWithoutEffect "secondary-without-effect" Warning on [Safe] "A secondary operation that has no effect or hides the sources",
    V507 UnusedThirdSource "unused-third-source" Note off [Safe] "A third source of which nothing is kept",
    V508 RepeatedLane "repeated-lane" Note off [] "A lane selected twice while another is not selected",
    V509 ReplacedDestination "replaced-destination" Warning on [Unsafe] "A destination whose other bits are not kept",
    V510 UnreadSource "unread-source" Warning on [] "A source with no lane selected",
    V511 ShiftBeyondWidth "shift-beyond-width" Warning on [Safe] "A constant shift amount beyond the width of the value",
    V512 LostGuard "lost-guard" Warning on [Unsafe] "A guard that ptxas leaves out",
    V601 EmulatedInstruction "emulated-instruction" Note off [Safe, Unsafe] "ptxas emulates the instruction with more machine instructions than needed",
    V602 UnfusedInstructions "unfused-instructions" Note off [Safe, Unsafe] "Several instructions that one sequence with fewer machine instructions can replace",
    V603 PlainTarget "plain-target" Note off [] "An instruction with shorter code for a target with a suffix, such as `sm_120f`",
    V701 MissingAsmOperand "missing-asm-operand" Error on [Unsafe] "A reference to an operand that the `asm` does not have",
    V702 AsmOutputRead "asm-output-read" Warning on [Unsafe] "An `asm` output that is read but not declared as an input",
    V703 AsmInputWritten "asm-input-written" Warning on [] "An `asm` input that is written",
    V704 UnreadAsm "unread-asm" Note off [] "An `asm` statement that is not read",
    V705 AsmOutputUnwritten "asm-output-unwritten" Warning on [] "An output that some path does not write",
    V801 UnusedSuppression "unused-suppression" Warning on [Safe] "A suppression that suppresses nothing",
    V802 UnknownSuppression "unknown-suppression" Warning on [Safe, Unsafe] "A suppression that vptx cannot read as written",
    V803 BlanketSuppression "blanket-suppression" Warning off [] "A suppression that names no rules",
    V901 UndeclaredName "undeclared-name" Error on [] "A name that is not declared",
    V902 UndefinedLabel "undefined-label" Error on [] "A branch to what is no label in scope",
    V903 SecondDeclaration "second-declaration" Error on [] "A name that its scope has already",
    V904 UnwrittenSource "unwritten-source" Warning on [] "A source of a video instruction that is not written on every path to its use",
    V905 UnreadResult "unread-result" Warning on [Unsafe] "A result of a video instruction that nothing reads",
    V906 UnusedRegister "unused-register" Note off [Safe] "A register that nothing uses",
    V907 UnusedLabel "unused-label" Note off [Safe] "A label that nothing uses",
    V908 UnusedParameter "unused-parameter" Note off [] "A parameter that its function does not use",
    V909 UnreachableStatement "unreachable-statement" Note off [Unsafe] "Statements that no path leads to",
    V910 MalformedStatement "malformed-statement" Error on [Unsafe] "A statement that is no PTX",
    V911 UnknownWord "unknown-word" Error on [] "A word that PTX does not have",
}

/// A rule of another program, which reports its findings as vptx does.
///
/// ```
/// use vptx::diagnostic::{Applicability, CustomRule, Edit, Severity};
/// use vptx::source::Span;
/// use vptx::{CheckOptions, Code, Diagnostic, analysis};
///
/// static UNGUARDED: CustomRule =
///     CustomRule::new("HOUSE1", "unguarded", Severity::Warning, "An instruction without guard");
///
/// let source = "vmin.s32.s32.s32 d, a, b; // vptx: ignore[HOUSE1] it is cheap\n\
///               vmax.s32.s32.s32 d, a, b;";
/// let options = CheckOptions::default().with_custom_rules(vec![&UNGUARDED]);
/// let (module, mut found) = vptx::parse_with(source, &options)?;
/// let bare = module.instructions().filter(|(_, instruction)| instruction.guard.is_none());
/// let own = bare.map(|(span, _)| {
///     Diagnostic::new(Code::Custom(&UNGUARDED), span, "this always runs")
///         .label("has no guard")
///         .help("guard it")
///         .fix(Applicability::Unsafe, "add `@p`", vec![Edit::insert(span.start, "@p ")])
///         .statement(span)
/// });
/// found.extend(analysis::unsuppressed(source, &options, own.collect()));
/// let [only] = found.as_slice() else { panic!("{found:?}") };
/// assert_eq!(only.code.text(), "HOUSE1");
/// assert!(only.span.text(source).starts_with("vmax"));
/// # Ok::<(), vptx::ParseError>(())
/// ```
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CustomRule {
    code: &'static str,
    name: &'static str,
    severity: Severity,
    title: &'static str,
    explanation: &'static str,
}

impl CustomRule {
    /// A rule with a code such as `HOUSE1`, a readable name such as `unguarded`, the severity of
    /// its findings, and a line that says what they are.
    ///
    /// # Panics
    /// If the code or the name has anything but letters, digits, `-` and `_`, or does not start
    /// with a letter. If the code starts with `V` and a digit, as the codes of vptx do.
    pub const fn new(
        code: &'static str,
        name: &'static str,
        severity: Severity,
        title: &'static str,
    ) -> CustomRule {
        assert!(is_word(code.as_bytes()), "a code has letters, digits, `-` and `_` only");
        assert!(is_word(name.as_bytes()), "a name has letters, digits, `-` and `_` only");
        if let [b'V' | b'v', b'0'..=b'9', ..] = code.as_bytes() {
            panic!("codes such as `V501` belong to vptx");
        }
        CustomRule { code, name, severity, title, explanation: "" }
    }

    /// The rule with a page: the findings, why they matter, an example and its fix, in Markdown.
    #[must_use]
    pub const fn with_explanation(mut self, explanation: &'static str) -> CustomRule {
        self.explanation = explanation;
        self
    }
}

/// Whether a text can be the code or the name of a rule.
const fn is_word(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        if !text[at].is_ascii_alphanumeric() && text[at] != b'-' && text[at] != b'_' {
            return false;
        }
        at += 1;
    }
    !text.is_empty() && text[0].is_ascii_alphabetic()
}

impl Code {
    /// The code of vptx with this text in any case, or with exactly this name.
    pub fn find(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.is_called(text))
    }

    /// Whether this is the text of the code in any case, or exactly its name.
    pub(crate) fn is_called(self, text: &str) -> bool {
        self.text().eq_ignore_ascii_case(text) || self.name() == text
    }

    /// Whether such a finding is about what an instruction costs.
    pub(crate) fn is_cost(self) -> bool {
        matches!(self, Code::EmulatedInstruction | Code::UnfusedInstructions)
    }

    /// The address of the code's page in the documentation of the newest version. `None` for a
    /// custom rule.
    ///
    /// ```
    /// let url = vptx::Code::ResultDiffers.url().unwrap();
    /// assert_eq!(url, "https://docs.rs/vptx/latest/vptx/diagnostic/enum.Code.html#variant.ResultDiffers");
    /// ```
    pub fn url(self) -> Option<String> {
        self.number()?;
        Some(format!("https://docs.rs/vptx/latest/vptx/diagnostic/enum.Code.html#variant.{self:?}"))
    }

    /// The page of the code, in Markdown: its title, severity and explanation.
    ///
    /// ```
    /// let page = vptx::Code::ResultDiffers.page();
    /// assert!(page.starts_with("# V501 result-differs (warning)\n\n"));
    /// ```
    pub fn page(self) -> String {
        let (name, severity, title) = (self.name(), self.severity(), self.title());
        let explanation = self.explanation().trim_end();
        format!("# {self} {name} ({severity})\n\n{title}.\n\n{explanation}\n")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}
