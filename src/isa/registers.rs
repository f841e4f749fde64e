use std::fmt;

/// The type of a declared register, as far as video instructions care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterType {
    /// A class a 32-bit operand may have: `.b32`, `.u32`, `.s32`, and
    /// `.f16x2`, which ptxas treats as untyped bits.
    Word,
    /// `.pred`.
    Predicate,
    /// Any other class, or a vector register.
    Other,
}

impl RegisterType {
    /// The class of registers declared with this type (dot included).
    pub fn from_text(text: &str) -> RegisterType {
        match text {
            ".b32" | ".u32" | ".s32" | ".f16x2" => RegisterType::Word,
            ".pred" => RegisterType::Predicate,
            _ => RegisterType::Other,
        }
    }
}

/// How the 32-bit registers of an instruction are declared: video instructions
/// do not care, other instructions do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WordRegisters {
    /// All as `.b32`, or not at all.
    #[default]
    Untyped,
    /// Some as `.u32` or `.s32`, which instructions on pairs of halves reject.
    Integer,
    /// Some as `.f16x2`, which several instructions on words reject.
    Packed,
}

impl WordRegisters {
    /// Of a register declared with this type (dot included).
    pub fn from_text(text: &str) -> WordRegisters {
        match text {
            ".u32" | ".s32" => WordRegisters::Integer,
            ".f16x2" => WordRegisters::Packed,
            _ => WordRegisters::Untyped,
        }
    }
}

impl fmt::Display for RegisterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegisterType::Word => "a 32-bit register",
            RegisterType::Predicate => "a predicate",
            RegisterType::Other => "another class of register",
        })
    }
}

/// Whether PTX predefines this name as a read-only special register.
///
/// A program may declare a register of the same name; the declaration wins.
pub fn is_special_register(name: &str) -> bool {
    let Some(name) = name.strip_prefix('%') else {
        return false;
    };
    // `%envreg0`…`%envreg31`, `%pm0`…`%pm7`, `%reserved_smem_offset_0`…
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() < name.len() && matches!(stem, "envreg" | "pm" | "reserved_smem_offset_") {
        return true;
    }
    matches!(
        name,
        "tid"
            | "ntid"
            | "laneid"
            | "warpid"
            | "nwarpid"
            | "ctaid"
            | "nctaid"
            | "smid"
            | "nsmid"
            | "gridid"
            | "is_explicit_cluster"
            | "clusterid"
            | "nclusterid"
            | "cluster_ctaid"
            | "cluster_nctaid"
            | "cluster_ctarank"
            | "cluster_nctarank"
            | "lanemask_eq"
            | "lanemask_le"
            | "lanemask_lt"
            | "lanemask_ge"
            | "lanemask_gt"
            | "clock"
            | "clock_hi"
            | "clock64"
            | "globaltimer"
            | "globaltimer_lo"
            | "globaltimer_hi"
            | "pm0_64"
            | "pm1_64"
            | "pm2_64"
            | "pm3_64"
            | "pm4_64"
            | "pm5_64"
            | "pm6_64"
            | "pm7_64"
            | "reserved_smem_offset_begin"
            | "reserved_smem_offset_end"
            | "reserved_smem_offset_cap"
            | "total_smem_size"
            | "aggr_smem_size"
            | "dynamic_smem_size"
            | "current_graph_exec"
    )
}
