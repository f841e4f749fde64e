//! What PTX itself defines: types, modifiers, selectors, masks, versions and
//! targets, and [`Form`], the row type of the table of instruction forms.
//!
//! Nothing here parses a file or prints one; the text forms are the spellings
//! of single tokens.

mod form;
mod mnemonic;
mod modifier;
mod name;
mod registers;
mod selector;
mod version;

pub use form::{Destination, Form, Negation, Requirement, Slot, Sources};
pub use mnemonic::{Family, Mnemonic};
pub use modifier::{Compare, Modifier, Role, Scale, SecondaryOp, ShiftMode, Type};
pub use name::InvalidName;
pub use registers::{RegisterType, WordRegisters, WordType, is_special_register};
pub use selector::{LaneWidth, Lanes, Mask, Part, Selector};
pub use version::{InvalidTarget, InvalidVersion, PtxVersion, Target};
