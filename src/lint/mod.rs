//! The codes of all findings, with their severity and explanation.
//!
//! Codes are stable once published: `V0xx` syntax, `V1xx` modifiers and types,
//! `V2xx` operands, selectors and masks, `V3xx` target and version, `V4xx`
//! spelling and portability, `V5xx` results that are not what they seem, `V6xx`
//! cost.

use std::fmt;

use crate::diagnostic::Severity;

macro_rules! codes {
    ($($code:ident $name:literal $severity:ident $title:literal,)*) => {
        /// The code of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $title] $code,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$code,)*];

            /// The code itself, such as `V101`.
            pub const fn text(self) -> &'static str {
                match self { $(Code::$code => stringify!($code),)* }
            }

            /// A readable name, such as `unknown-instruction`.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// What the rule finds, in a line.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$code => $title,)* }
            }

            /// The severity in the `documented` dialect.
            pub const fn severity(self) -> Severity {
                match self { $(Code::$code => Severity::$severity,)* }
            }

            /// What it does, why it matters, an example and its fix, in
            /// Markdown.
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(Code::$code => include_str!(concat!("pages/", stringify!($code), ".md")),)*
                }
            }
        }
    };
}

codes! {
    V001 "unclosed-comment" Error "A comment has no end",
    V002 "unclosed-string" Error "A string has no closing quote",
    V003 "unclosed-brace" Error "A `{` has no `}`",
    V004 "stray-brace" Error "A `}` has no `{`",
    V005 "missing-semicolon" Error "A statement has no `;`",
    V006 "unexpected-token" Error "A video instruction does not parse",
    V007 "invalid-character" Error "A character that PTX does not use",
    V008 "binary-file" Error "The input is not text",
    V009 "malformed-number" Error "A number is not written as PTX writes numbers",
    V010 "nested-too-deeply" Error "A constant expression nests too deeply",
    V011 "constant-without-value" Error "A constant expression has no value",
    V101 "unknown-instruction" Error "No such video instruction",
    V102 "unknown-modifier" Error "No such modifier",
    V103 "modifier-not-allowed" Error "The instruction does not take this modifier",
    V104 "missing-type" Error "The instruction has fewer types than it needs",
    V105 "extra-type" Error "The instruction has more types than it takes",
    V106 "wrong-type" Error "A type other than `.u32` and `.s32`",
    V107 "signed-shift-amount" Error "The type of a shift amount is not `.u32`",
    V108 "missing-comparison" Error "A `vset` without comparison",
    V109 "missing-shift-mode" Error "A shift without `.clamp` or `.wrap`",
    V110 "conflicting-modifiers" Error "Two modifiers for one place",
    V111 "saturate-with-accumulate" Error "SIMD `.sat` together with `.add`",
    V112 "simd-secondary-operation" Error "SIMD with a secondary operation other than `.add`",
    V113 "foreign-comparison" Error "A comparison that video instructions do not have",
    V114 "plus-one-with-negation" Error "`.po` together with a negated operand",
    V201 "missing-operand" Error "An operand is missing",
    V202 "extra-operand" Error "There are too many operands",
    V203 "missing-third-operand" Error "The third source `c` is missing",
    V204 "selector-with-secondary-operation" Error "A destination selector together with a secondary operation",
    V205 "wrong-selector" Error "A selector of another kind of instruction",
    V206 "unknown-selector" Error "No such selector",
    V207 "selector-not-allowed" Error "A selector on an operand that takes none",
    V209 "invalid-mask" Error "A destination mask that does not exist",
    V210 "selector-on-constant" Error "A selector on a constant",
    V211 "constant-not-allowed" Error "A constant where a register must stand",
    V212 "negation-not-allowed" Error "A minus on an operand that takes none",
    V213 "product-and-third-negated" Error "`vmad` with product and `c` both negated",
    V214 "operand-kind" Error "An operand of a kind that video instructions do not take",
    V215 "register-type" Error "A register that is not 32 bits of integer or untyped data",
    V216 "undeclared-register" Error "A register that is not declared",
    V217 "guard-not-predicate" Error "A guard that is not a predicate register",
    V218 "floating-point-constant" Error "A floating-point constant",
    V219 "special-register" Error "A special register as operand",
    V301 "target-too-low" Error "The target is too old for the instruction",
    V302 "version-too-low" Error "The PTX version is too old for the instruction",
    V401 "modifier-order" Warning "Modifiers in another order than documented",
    V402 "repeated-saturate" Warning "`.sat` written more than once",
    V403 "ignored-third-operand" Warning "A third source that is ignored",
    V404 "cancelled-negation" Warning "Two minus signs that cancel",
    V405 "selector-read-as-type" Warning "A selector that newer ptxas read as a type",
    V406 "constant-cut" Warning "A constant wider than 32 bits",
    V407 "ignored-selector" Warning "A selector that ptxas ignores",
    V501 "result-differs" Warning "The code of ptxas can give another result than the manual",
    V502 "result-differs-in-old-ptxas" Warning "The code of ptxas 11 and 12 can give another result than the manual",
    V601 "emulated-instruction" Note "ptxas emulates the instruction with more machine instructions than needed",
}

impl Code {
    /// The code or name written so, in any case.
    pub fn find(text: &str) -> Option<Code> {
        Code::ALL
            .iter()
            .copied()
            .find(|code| code.text().eq_ignore_ascii_case(text) || code.name() == text)
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
