//! C functions that compute what video instructions compute.
//!
//! A [`Header`] compiles as C99, C++11, CUDA, HIP and `OpenCL` C. Its functions are pure, take and
//! return 32-bit words, and have no undefined behaviour.
//!
//! ```
//! use vptx::Semantics;
//! use vptx::backend::c::Header;
//!
//! let mut header = Header::new(Semantics::Manual);
//! let name = header.add(&"vmin4.s32.s32.s32 d.b10, x, y, z;".parse()?);
//! assert_eq!(name, "vmin4_s32_s32_s32_d_b10");
//! let text = header.to_string();
//! assert!(text.contains("vptx_u32 vmin4_s32_s32_s32_d_b10(vptx_u32 a, vptx_u32 b, vptx_u32 c)"));
//! # Ok::<(), vptx::ParseInstructionError>(())
//! ```

mod function;

use std::collections::HashSet;
use std::fmt;

use self::function::Function;
use crate::backend::name;
use crate::ir::Input;
use crate::video::{Instruction, Semantics};

/// A header with a function for each different instruction.
///
/// Headers with the same functions can be included together.
#[derive(Clone, Debug)]
pub struct Header {
    semantics: Semantics,
    names: HashSet<String>,
    functions: Vec<Function>,
}

impl Header {
    /// A header without functions, which will compute under this semantics.
    pub fn new(semantics: Semantics) -> Header {
        Header { semantics, names: HashSet::new(), functions: Vec::new() }
    }

    /// Adds the function of an instruction, unless it is there; returns its name.
    ///
    /// The name has the modifiers, selectors and constants of the instruction. Names of registers
    /// and guard predicates do not matter. Where the result differs from the manual's, the name
    /// ends with the semantics: `vadd_u32_u32_u32_sat_ptxas12`. The parameters are those of the
    /// words `a`, `b` and `c` that the result depends on, in this order
    /// ([`parameters`](Header::parameters)).
    pub fn add(&mut self, instruction: &Instruction) -> String {
        let program = instruction.lower(self.semantics);
        let name = name::of(instruction, self.semantics, &program);
        if self.names.insert(name.clone()) {
            let parameters = name::inputs(&program);
            let comment = name::plain(instruction);
            self.functions.push(function::of(&name, &comment, &parameters, &program));
        }
        name
    }

    /// The name of the function of an instruction.
    pub(crate) fn name(&self, instruction: &Instruction) -> String {
        name::of(instruction, self.semantics, &instruction.lower(self.semantics))
    }

    /// The source words that the function of an instruction takes.
    pub fn parameters(&self, instruction: &Instruction) -> Vec<Input> {
        name::inputs(&instruction.lower(self.semantics))
    }

    /// Adds the functions of another header.
    pub(crate) fn merge(&mut self, other: Header) {
        for function in other.functions {
            if self.names.insert(function.name.clone()) {
                self.functions.push(function);
            }
        }
    }

    /// The text to append to a header that was written earlier, so that it also has these
    /// functions. `None` if vptx did not write that header.
    pub(crate) fn addition_to(&self, written: &str) -> Option<String> {
        let is_defined = |name: &str| {
            let mut words = written.lines().map(|line| line.split_whitespace());
            words.any(|mut line| line.next() == Some("#define") && line.next() == Some(name))
        };
        if !is_defined("VPTX_FUNCTION") {
            return None;
        }
        let defined: HashSet<&str> = written
            .lines()
            .filter_map(|line| line.strip_prefix("#define ")?.trim_end().strip_prefix(HAS))
            .collect();
        let missing = self.functions.iter().filter(|it| !defined.contains(it.name.as_str()));
        let missing: Vec<&Function> = missing.collect();
        let has_wide = missing.iter().any(|it| it.has_wide) && !is_defined("VPTX_WIDE");
        let mut text = String::from(if has_wide { WIDE } else { "" });
        for function in missing {
            text.push('\n');
            text.push_str(&function.text);
        }
        Some(text)
    }
}

/// The prefix of the macro that says that a function is defined.
const HAS: &str = "VPTX_HAS_";

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PROLOGUE)?;
        if self.functions.iter().any(|function| function.has_wide) {
            f.write_str(WIDE)?;
        }
        for function in &self.functions {
            write!(f, "\n{}", function.text)?;
        }
        Ok(())
    }
}

/// Types and words that differ between languages.
const PROLOGUE: &str = "\
/* Video instructions of PTX as functions, written by vptx. */
#ifndef VPTX_FUNCTION
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef int vptx_i32;
typedef uint vptx_u32;
typedef long vptx_i64;
typedef ulong vptx_u64;
#define VPTX_I64(x) x##L
#define VPTX_U64(x) x##UL
#else
#include <stdint.h>
typedef int32_t vptx_i32;
typedef uint32_t vptx_u32;
typedef int64_t vptx_i64;
typedef uint64_t vptx_u64;
#define VPTX_I64(x) INT64_C(x)
#define VPTX_U64(x) UINT64_C(x)
#endif
#if defined(__CUDACC__) || defined(__HIP__)
#define VPTX_FUNCTION inline __host__ __device__
#elif defined(__cplusplus)
#define VPTX_FUNCTION inline
#else
#define VPTX_FUNCTION static inline
#endif
#endif
";

/// Integers of more than 64 bits.
const WIDE: &str = "
#ifndef VPTX_WIDE
#define VPTX_WIDE
/* high * 2^64 + low */
typedef struct {
    vptx_u64 low;
    vptx_i64 high;
} vptx_wide;
VPTX_FUNCTION vptx_wide vptx_wide_u64(vptx_u64 x)
{
    vptx_wide d;
    d.low = x;
    d.high = 0;
    return d;
}
VPTX_FUNCTION vptx_wide vptx_wide_i64(vptx_i64 x)
{
    vptx_wide d;
    d.low = (vptx_u64)x;
    d.high = x < 0 ? -1 : 0;
    return d;
}
VPTX_FUNCTION vptx_wide vptx_wide_add(vptx_wide x, vptx_wide y)
{
    vptx_wide d;
    d.low = x.low + y.low;
    d.high = x.high + y.high + (d.low < x.low ? 1 : 0);
    return d;
}
VPTX_FUNCTION vptx_wide vptx_wide_sub(vptx_wide x, vptx_wide y)
{
    vptx_wide d;
    d.low = x.low - y.low;
    d.high = x.high - y.high - (x.low < y.low ? 1 : 0);
    return d;
}
/* Rounds towards minus infinity; count is 1 to 32. */
VPTX_FUNCTION vptx_wide vptx_wide_shr(vptx_wide x, vptx_i32 count)
{
    vptx_wide d;
    d.low = (x.low >> count) | ((vptx_u64)x.high << (64 - count));
    d.high = x.high < 0 ? ~(~x.high >> count) : x.high >> count;
    return d;
}
VPTX_FUNCTION int vptx_wide_less(vptx_wide x, vptx_wide y)
{
    return x.high < y.high || (x.high == y.high && x.low < y.low);
}
#endif
";
