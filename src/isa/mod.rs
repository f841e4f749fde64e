//! The vocabulary of PTX: types, modifiers, selectors, masks, versions and
//! targets, and [`Form`], the row type of the table of instruction forms.
//!
//! Nothing here parses a file or prints one; the text forms are the spellings
//! of single tokens.
//!
//! ```
//! use vptx::isa::{Family, LaneWidth, Mnemonic, Selector, Target};
//!
//! let mnemonic: Mnemonic = "vadd4".parse()?;
//! assert_eq!(mnemonic.family(), Family::SimdArithmetic(LaneWidth::Bytes));
//! let selector: Selector = ".b7610".parse()?;
//! assert_eq!((selector.width(), selector.lanes()), (LaneWidth::Bytes, &[0, 1, 6, 7][..]));
//! assert_eq!("sm_90".parse::<Target>()?, Target::sm(90));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod form;
mod mnemonic;
mod modifier;
mod name;
mod registers;
mod selector;
mod target;
mod version;

pub use form::{Destination, Form, Negation, Requirement, Slot, Sources};
pub use mnemonic::{Family, Mnemonic};
pub use modifier::{Compare, Modifier, Role, Scale, SecondaryOp, ShiftMode, Type};
pub use name::InvalidName;
pub use registers::{RegisterType, WordRegisters, WordType, is_special_register};
pub use selector::{LaneWidth, Lanes, Mask, Part, Selector};
#[doc(hidden)]
pub use target::Feature;
pub(crate) use target::{Features, TARGET_OPTIONS};
pub use target::{InvalidTarget, Target};
pub use version::{InvalidVersion, PtxVersion};
