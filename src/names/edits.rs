//! Edits of names.

use super::{Names, SymbolId};
use crate::syntax::{Edits, EditsError};

impl Edits<'_> {
    /// Renames a symbol where it is declared and where it is used. Registers of a range keep their
    /// numbers. `names` must come from the tree that is edited.
    ///
    /// ```
    /// use vptx::names::Names;
    /// use vptx::syntax::{self, Edits};
    ///
    /// let source = ".func f() { .reg .b32 %r<3>; mov.b32 %r1, 7; mov.b32 %r02, %r1; }";
    /// let tree = syntax::parse(source);
    /// let names = Names::of(&tree);
    /// let register = names.at(source.find("%r1").unwrap() as u32).unwrap();
    /// let mut edits = Edits::new(&tree);
    /// edits.rename_symbol(&names, register.symbol().unwrap(), "%value")?;
    /// assert_eq!(
    ///     edits.finish()?.text(),
    ///     ".func f() { .reg .b32 %value<3>; mov.b32 %value1, 7; mov.b32 %value02, %value1; }",
    /// );
    /// # Ok::<(), vptx::syntax::EditsError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not a name, if it cannot be the name of a range, if the text that is edited or
    /// an earlier edit has the name already, in any scope, or if a place is edited already.
    ///
    /// # Panics
    /// If the symbol belongs to another text.
    pub fn rename_symbol(
        &mut self,
        names: &Names,
        symbol: SymbolId,
        name: &str,
    ) -> Result<(), EditsError> {
        let own = names.symbol(symbol);
        let places = names.uses_of_symbol(symbol).map(super::Use::span);
        if own.count.is_none() {
            return self.rename(places, name);
        }
        let source = self.tree().source();
        let length = own.name.len() as usize;
        let numbered = places.map(|place| (place, place.text(source)[length..].to_string()));
        self.rename_range(numbered, name)
    }
}
