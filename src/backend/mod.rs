//! From what instructions compute to other languages, one folder for each.

pub mod ptx;
