//! Integer constant expressions, evaluated as they are read.
//!
//! The rules are those of the manual's chapter on constants: 64-bit integers,
//! signed unless a literal is too large or marked `U`. Measured on ptxas 11.8,
//! 12.9 and 13.5: shift counts are taken modulo 64, `%` and `~` are always
//! unsigned, and both branches of `?:` are evaluated.

use nom::{IResult, Parser};

use super::grammar::{Expected, Failure, Tokens, expect, punct};
use super::lexer::{Token, TokenKind};
use crate::source::Span;

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// 64 bits, and whether they are read as signed.
    Integer {
        /// The bits.
        bits: u64,
        /// Whether the bits are read as signed.
        signed: bool,
    },
    /// A floating-point value within an expression; no video instruction takes one.
    Float(f64),
}

impl Constant {
    /// The bits of an integer.
    pub fn bits(self) -> Option<u64> {
        match self {
            Constant::Integer { bits, .. } => Some(bits),
            Constant::Float(_) => None,
        }
    }
}

/// The reason why a constant expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantError {
    /// The kind of error.
    pub kind: ConstantErrorKind,
    /// The literal or operator at fault.
    pub span: Span,
}

/// The errors in constant expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantErrorKind {
    /// A literal such as `08`, `0x` or `12abc`.
    Malformed,
    /// A literal that ptxas refuses as too large.
    TooLarge,
    /// `/` or `%` by zero.
    DivisionByZero,
    /// The one signed quotient that does not fit in 64 bits; ptxas crashes on it.
    Overflow,
    /// A floating-point value where only an integer is allowed.
    FloatingPoint,
    /// Nested deeper than 200 levels.
    TooDeep,
}

/// How deep parentheses, unary operators and `?:` may nest.
const MAX_DEPTH: usize = 200;

type Evaluated = Result<Constant, ConstantError>;
type Parsed<'t, 's> = IResult<Tokens<'t, 's>, Evaluated, Failure>;

/// A constant expression.
pub(super) fn constant<'t, 's>(input: Tokens<'t, 's>) -> Parsed<'t, 's> {
    match input.first() {
        // ptxas accepts no operators around such a float.
        Some(token) if is_hexadecimal_float(input, token) => {
            Ok((input.skip(1), literal(input.text(token), token.span())))
        }
        _ => Expression { input, open: Vec::new(), depth: 0 }.read(),
    }
}

/// Whether a token is a 32-bit float such as `0f3F800000`. The 64-bit form `0d…` may be part of
/// an expression.
fn is_hexadecimal_float(input: Tokens<'_, '_>, token: Token) -> bool {
    let text = input.text(token).as_bytes();
    token.kind() == TokenKind::Number && matches!(text, [b'0', b'f' | b'F', ..])
}

/// Binary operators by rising precedence, as in C.
const LEVELS: &[&[[u8; 2]]] = &[
    &[*b"||"],
    &[*b"&&"],
    &[[b'|', 0]],
    &[[b'^', 0]],
    &[[b'&', 0]],
    &[*b"==", *b"!="],
    &[[b'<', 0], [b'>', 0], *b"<=", *b">="],
    &[*b"<<", *b">>"],
    &[[b'+', 0], [b'-', 0]],
    &[[b'*', 0], [b'/', 0], [b'%', 0]],
];

fn binary_operator(token: Token) -> Option<(Token, usize)> {
    let TokenKind::Punct(text) = token.kind() else {
        return None;
    };
    let level = LEVELS.iter().position(|level| level.contains(&text))?;
    Some((token, level))
}

/// An expression that is being read. Its open constructs are on the heap, as threads may have
/// little stack.
struct Expression<'t, 's> {
    /// The tokens to come.
    input: Tokens<'t, 's>,
    open: Vec<Open>,
    /// The number of open constructs that nest: all except binary operators.
    depth: usize,
}

/// A construct whose last operand is still to be read.
enum Open {
    Unary(u8, Span),
    Cast {
        signed: bool,
        span: Span,
    },
    Parenthesis,
    Binary {
        left: Evaluated,
        operator: Token,
        level: usize,
    },
    /// `condition ?`
    Yes {
        condition: Evaluated,
        question: Span,
    },
    /// `condition ? yes :`
    No {
        condition: Evaluated,
        question: Span,
        yes: Evaluated,
    },
}

impl<'t, 's> Expression<'t, 's> {
    fn read(mut self) -> Parsed<'t, 's> {
        loop {
            let operand = self.operand()?;
            if let Some(value) = self.after(operand)? {
                return Ok((self.input, value));
            }
        }
    }

    /// Reads prefixes and the literal after them.
    fn operand(&mut self) -> Result<Evaluated, nom::Err<Failure>> {
        loop {
            let Some(token) = self.input.first() else {
                return Err(self.input.expected(Expected::CONSTANT));
            };
            if self.depth > MAX_DEPTH {
                // The error ends the reading: the rest of the statement stays unread.
                let error = ConstantError { kind: ConstantErrorKind::TooDeep, span: token.span() };
                return Err(nom::Err::Failure(Failure::constant(error)));
            }
            let rest = self.input.skip(1);
            let open = match token.kind() {
                TokenKind::Punct([operator @ (b'+' | b'-' | b'~' | b'!'), 0]) => {
                    self.input = rest;
                    Open::Unary(operator, token.span())
                }
                TokenKind::Punct([b'(', 0]) => {
                    self.input = rest;
                    match rest.cast() {
                        Some(signed) => {
                            self.input = rest.skip(1);
                            self.expect(b')', Expected::CLOSE)?;
                            Open::Cast { signed, span: token.span() }
                        }
                        None => Open::Parenthesis,
                    }
                }
                TokenKind::Number if !is_hexadecimal_float(self.input, token) => {
                    let value = literal(self.input.text(token), token.span());
                    self.input = rest;
                    return Ok(value);
                }
                TokenKind::Ident if self.input.text(token) == "WARP_SZ" => {
                    self.input = rest;
                    return Ok(Ok(Constant::Integer { bits: 32, signed: true }));
                }
                _ => return Err(self.input.expected(Expected::CONSTANT)),
            };
            self.open.push(open);
            self.depth += 1;
        }
    }

    /// Closes the constructs that end after an operand. Returns the value of the whole expression
    /// if the expression ends there, too. Otherwise opens the construct that continues.
    fn after(&mut self, mut value: Evaluated) -> Result<Option<Evaluated>, nom::Err<Failure>> {
        loop {
            let next = self.input.first().and_then(binary_operator);
            match (self.open.pop(), next) {
                (Some(Open::Unary(operator, span)), _) => {
                    self.depth -= 1;
                    value = value.and_then(|value| apply_unary(operator, value, span));
                }
                (Some(Open::Cast { signed, span }), _) => {
                    self.depth -= 1;
                    value = value.and_then(|value| {
                        let (bits, _) = integer(value, span)?;
                        Ok(Constant::Integer { bits, signed })
                    });
                }
                // All binary operators are left-associative.
                (Some(Open::Binary { left, operator, level }), next)
                    if next.is_none_or(|(_, next)| next <= level) =>
                {
                    value = left.and_then(|left| apply(operator, left, value?));
                }
                (open, Some((operator, level))) => {
                    self.open.extend(open);
                    self.open.push(Open::Binary { left: value, operator, level });
                    self.input = self.input.skip(1);
                    return Ok(None);
                }
                (open, None) => {
                    if let Ok((rest, question)) = punct(b'?').parse(self.input) {
                        self.input = rest;
                        self.open.extend(open);
                        self.open.push(Open::Yes { condition: value, question: question.span() });
                        self.depth += 1;
                        return Ok(None);
                    }
                    match open {
                        Some(Open::Yes { condition, question }) => {
                            self.expect(b':', Expected::COLON)?;
                            self.open.push(Open::No { condition, question, yes: value });
                            return Ok(None);
                        }
                        Some(Open::No { condition, question, yes }) => {
                            value = choose(condition, question, yes, value);
                        }
                        Some(_) => self.expect(b')', Expected::CLOSE)?,
                        None => return Ok(Some(value)),
                    }
                    self.depth -= 1;
                }
            }
        }
    }

    fn expect(&mut self, byte: u8, what: Expected) -> Result<(), nom::Err<Failure>> {
        (self.input, _) = expect(punct(byte), what).parse(self.input)?;
        Ok(())
    }
}

/// The value of `condition ? yes : no`. All three must be integers.
fn choose(condition: Evaluated, question: Span, yes: Evaluated, no: Evaluated) -> Evaluated {
    let (condition, _) = integer(condition?, question)?;
    let (yes, no) = (yes?, no?);
    integer(yes, question)?;
    integer(no, question)?;
    Ok(if condition != 0 { yes } else { no })
}

fn integer(value: Constant, span: Span) -> Result<(u64, bool), ConstantError> {
    match value {
        Constant::Integer { bits, signed } => Ok((bits, signed)),
        Constant::Float(_) => Err(ConstantError { kind: ConstantErrorKind::FloatingPoint, span }),
    }
}

fn apply_unary(operator: u8, value: Constant, span: Span) -> Evaluated {
    if let (b'-' | b'+', Constant::Float(value)) = (operator, value) {
        return Ok(Constant::Float(if operator == b'-' { -value } else { value }));
    }
    let (bits, signed) = integer(value, span)?;
    Ok(match operator {
        b'-' => Constant::Integer { bits: bits.wrapping_neg(), signed },
        b'~' => Constant::Integer { bits: !bits, signed: false },
        b'!' => Constant::Integer { bits: u64::from(bits == 0), signed: true },
        _ => value,
    })
}

fn apply(operator: Token, left: Constant, right: Constant) -> Evaluated {
    let TokenKind::Punct(text) = operator.kind() else {
        unreachable!("binary_operator yields punctuation only");
    };
    let span = operator.span();
    if let (Constant::Float(left), Constant::Float(right)) = (left, right) {
        return apply_float(text, left, right, span);
    }
    let ((left, left_signed), (right, right_signed)) =
        (integer(left, span)?, integer(right, span)?);
    let signed = left_signed && right_signed;
    let fail = |kind| Err(ConstantError { kind, span });
    let less = |left: u64, right: u64| {
        if signed { left.cast_signed() < right.cast_signed() } else { left < right }
    };
    let truth = |value: bool| Ok(Constant::Integer { bits: u64::from(value), signed: true });
    let bits = match &text {
        b"||" => return truth(left != 0 || right != 0),
        b"&&" => return truth(left != 0 && right != 0),
        b"==" => return truth(left == right),
        b"!=" => return truth(left != right),
        b"<\0" => return truth(less(left, right)),
        b">\0" => return truth(less(right, left)),
        b"<=" => return truth(!less(right, left)),
        b">=" => return truth(!less(left, right)),
        b"<<" => {
            let bits = left.wrapping_shl(right as u32);
            return Ok(Constant::Integer { bits, signed: left_signed });
        }
        b">>" => {
            let bits = if left_signed {
                left.cast_signed().wrapping_shr(right as u32).cast_unsigned()
            } else {
                left.wrapping_shr(right as u32)
            };
            return Ok(Constant::Integer { bits, signed: left_signed });
        }
        b"|\0" => left | right,
        b"^\0" => left ^ right,
        b"&\0" => left & right,
        b"+\0" => left.wrapping_add(right),
        b"-\0" => left.wrapping_sub(right),
        b"*\0" => left.wrapping_mul(right),
        _ if right == 0 => return fail(ConstantErrorKind::DivisionByZero),
        b"/\0" if signed => match left.cast_signed().checked_div(right.cast_signed()) {
            Some(quotient) => quotient.cast_unsigned(),
            None => return fail(ConstantErrorKind::Overflow),
        },
        b"/\0" => left / right,
        _ => return Ok(Constant::Integer { bits: left % right, signed: false }),
    };
    Ok(Constant::Integer { bits, signed })
}

fn apply_float(operator: [u8; 2], left: f64, right: f64, span: Span) -> Evaluated {
    let truth = |value: bool| Ok(Constant::Integer { bits: u64::from(value), signed: true });
    // The language defines exact comparison.
    #[allow(clippy::float_cmp)]
    match &operator {
        b"+\0" => Ok(Constant::Float(left + right)),
        b"-\0" => Ok(Constant::Float(left - right)),
        b"*\0" => Ok(Constant::Float(left * right)),
        b"/\0" if right == 0.0 => {
            Err(ConstantError { kind: ConstantErrorKind::DivisionByZero, span })
        }
        b"/\0" => Ok(Constant::Float(left / right)),
        b"==" => truth(left == right),
        b"!=" => truth(left != right),
        b"<\0" => truth(left < right),
        b">\0" => truth(left > right),
        b"<=" => truth(left <= right),
        b">=" => truth(left >= right),
        _ => Err(ConstantError { kind: ConstantErrorKind::FloatingPoint, span }),
    }
}

/// The bits of an integer literal. `None` for floating-point numbers, and for malformed ones.
pub(crate) fn integer_literal(text: &str) -> Option<u64> {
    match literal(text, Span::at(0)) {
        Ok(Constant::Integer { bits, .. }) => Some(bits),
        Ok(Constant::Float(_)) | Err(_) => None,
    }
}

/// The value of a literal token.
fn literal(text: &str, span: Span) -> Evaluated {
    let fail = |kind| Err(ConstantError { kind, span });
    let lower = text.as_bytes().get(1).map(u8::to_ascii_lowercase);
    let (digits, radix) = match lower {
        Some(b'x') if text.starts_with('0') => (&text[2..], 16),
        Some(b'b') if text.starts_with('0') => (&text[2..], 2),
        Some(b'f' | b'd') if text.starts_with('0') => {
            // `0f` with 8 and `0d` with 16 hex digits are floating-point bits.
            let width = if lower == Some(b'f') { 8 } else { 16 };
            let digits = &text[2..];
            if digits.len() != width {
                return fail(ConstantErrorKind::Malformed);
            }
            return match u64::from_str_radix(digits, 16) {
                Ok(bits) if width == 8 => {
                    Ok(Constant::Float(f64::from(f32::from_bits(bits as u32))))
                }
                Ok(bits) => Ok(Constant::Float(f64::from_bits(bits))),
                Err(_) => fail(ConstantErrorKind::Malformed),
            };
        }
        _ if text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
            return match text.parse::<f64>() {
                Ok(value) if out_of_range(value, text) => fail(ConstantErrorKind::TooLarge),
                Ok(value) => Ok(Constant::Float(value)),
                Err(_) => fail(ConstantErrorKind::Malformed),
            };
        }
        Some(b'0'..=b'9') if text.starts_with('0') => (&text[1..], 8),
        _ => (text, 10),
    };
    let (digits, unsigned) = match digits.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return fail(ConstantErrorKind::Malformed);
    }
    let mut bits = 0u64;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        // ptxas has this limit: before each further digit, the value must fit in 63 bits.
        // Larger results wrap to 64 bits.
        if bits.cast_signed() < 0 {
            return fail(ConstantErrorKind::TooLarge);
        }
        bits = bits.wrapping_mul(u64::from(radix)).wrapping_add(u64::from(digit));
    }
    Ok(Constant::Integer { bits, signed: !unsigned && bits.cast_signed() >= 0 })
}

/// Whether a decimal literal is too large or too small for a normal double. ptxas refuses the
/// literals that C's `strtod` reports as out of range.
fn out_of_range(value: f64, text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let nonzero = mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    value.is_infinite() || value.is_subnormal() || (value == 0.0 && nonzero)
}
