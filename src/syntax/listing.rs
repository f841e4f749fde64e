//! Listings of cuobjdump: they contain PTX, but are not PTX as a whole.

/// The kinds of heading above a part of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// `Fatbin ptx code:`
    Ptx,
    /// `Fatbin elf code:`
    Machine,
    /// `Fatbin concatenated entry code:` and the like.
    Other,
    /// `member libx.a:x.o:`
    Member,
}

/// The heading on a line, if any. In a concatenated entry, headings stand after a tab.
pub(crate) fn heading(line: &[u8]) -> Option<Heading> {
    let line = line.trim_ascii();
    if line.starts_with(b"member ") && line.ends_with(b":") {
        return Some(Heading::Member);
    }
    match line.strip_prefix(b"Fatbin ")?.strip_suffix(b" code:")? {
        b"ptx" => Some(Heading::Ptx),
        b"elf" => Some(Heading::Machine),
        _ => Some(Heading::Other),
    }
}

/// Whether a text starts as `cuobjdump -ptx` and the like print it.
pub(crate) fn is_listing(text: &[u8]) -> bool {
    let mut lines = text.trim_ascii_start().split(|&byte| byte == b'\n');
    match lines.next().and_then(heading) {
        Some(Heading::Member) => {
            let next = lines.map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
            next.and_then(heading).is_some()
        }
        first => first.is_some(),
    }
}
