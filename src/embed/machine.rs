//! Recognises `asm` statements for other machines than NVIDIA's GPUs: by constraints that these
//! GPUs lack, and by the names of registers among the clobbers.
//!
//! In a kernel, nvcc 13.5.37 refuses all clobbers but `memory`; clang for nvptx refuses all names
//! of registers.

/// Letters of constraints: registers, predicates, and constants. `i` and `c` are clang's.
const LETTERS: &[u8] = b"hrlfdqbcniC";

/// Whether a constraint, such as `=w`, is one of another machine.
pub(super) fn is_foreign_constraint(constraint: &str) -> bool {
    // `[name]` shares the register of another operand.
    let class = constraint.trim_start_matches(['=', '+', '&', '%', ' ']);
    let foreign = |byte: u8| byte == b'{' || byte.is_ascii_alphabetic() && !LETTERS.contains(&byte);
    !class.starts_with('[') && class.bytes().any(foreign)
}

/// Whether a clobber names a register.
pub(super) fn is_register(clobber: &str) -> bool {
    !matches!(clobber.trim(), "" | "memory" | "cc")
}
