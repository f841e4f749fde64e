use std::fmt;

words! {
    /// The declared type of a register that can be a 32-bit operand.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
    pub enum WordType {
        /// `.b32`
        B32 = ".b32",
        /// `.u32`
        U32 = ".u32",
        /// `.s32`
        S32 = ".s32",
        /// `.f16x2`, which ptxas treats as untyped bits here.
        F16x2 = ".f16x2",
    }
    ALL
    /// The spelling in PTX, with its dot.
    text
}

impl WordType {
    /// The type with this spelling, if there is one.
    pub(crate) fn from_text(text: &str) -> Option<WordType> {
        WordType::ALL.into_iter().find(|it| it.text() == text)
    }
}

impl fmt::Display for WordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The type of a declared register, as far as it matters to video instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterType {
    /// A type that a 32-bit operand may have.
    Word(WordType),
    /// `.pred`.
    Predicate,
    /// Any other type, or a vector register.
    Other,
}

impl RegisterType {
    /// The class of registers declared with this type (dot included).
    pub fn of(declared: &str) -> RegisterType {
        match (WordType::from_text(declared), declared) {
            (Some(word), _) => RegisterType::Word(word),
            (None, ".pred") => RegisterType::Predicate,
            (None, _) => RegisterType::Other,
        }
    }
}

/// The declared types of the 32-bit registers of an instruction. They do not matter to video
/// instructions, but other instructions reject some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WordRegisters {
    /// All registers are `.b32`, or not declared.
    #[default]
    Untyped,
    /// Some registers are `.u32` or `.s32`, which instructions on pairs of halves reject.
    Integer,
    /// Some registers are `.f16x2`, which several instructions on words reject.
    Packed,
}

impl From<WordType> for WordRegisters {
    fn from(ty: WordType) -> WordRegisters {
        match ty {
            WordType::B32 => WordRegisters::Untyped,
            WordType::U32 | WordType::S32 => WordRegisters::Integer,
            WordType::F16x2 => WordRegisters::Packed,
        }
    }
}

impl fmt::Display for RegisterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RegisterType::Word(_) => "a 32-bit register",
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
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let most = match stem {
        "envreg" => Some(31),
        "pm" => Some(7),
        "reserved_smem_offset_" => Some(1),
        _ => None,
    };
    if let Some(most) = most {
        return (0..=most).any(|number: u32| number.to_string() == name[stem.len()..]);
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
            | "locality_domain_id"
            | "locality_domain_supplemental_sm"
    )
}
