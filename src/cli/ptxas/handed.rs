//! Hands texts to ptxas.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::workspace::files::Contents;
#[cfg(not(target_os = "linux"))]
use crate::workspace::temporary::Temporary;

/// A file without a name, to be read from its start.
pub(super) fn nameless(contents: &(impl Contents + ?Sized)) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    // The file is in memory: no disk can be full, and nothing stays when all processes are killed.
    // ptxas inherits the file.
    let file = File::from(rustix::fs::memfd_create("vptx", rustix::fs::MemfdFlags::empty())?);
    #[cfg(not(target_os = "linux"))]
    let file = tempfile::tempfile()?;
    contents.write_to(&file)?;
    io::Seek::rewind(&mut &file)?;
    Ok(file)
}

/// A file that ptxas can open by its path as long as this value exists.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) path: PathBuf,
    #[cfg(target_os = "linux")]
    _file: File,
    #[cfg(not(target_os = "linux"))]
    _file: Temporary,
}

impl Handed {
    #[cfg(target_os = "linux")]
    pub(super) fn new(contents: &impl Contents) -> io::Result<Handed> {
        let file = nameless(contents)?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        Ok(Handed { path: format!("/proc/self/fd/{number}").into(), _file: file })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(contents: &impl Contents) -> io::Result<Handed> {
        let file = Temporary::beside(&std::env::temp_dir().join("ptx"), false)?;
        contents.write_to(file.file())?;
        Ok(Handed { path: file.path().into(), _file: file })
    }
}

/// Output of ptxas, with the paths that ptxas was given replaced by the user's names.
pub(super) fn with_names(text: Vec<u8>, names: &[(&[u8], &[u8])]) -> Vec<u8> {
    names.iter().fold(text, |text, (path, name)| {
        let mut new = Vec::with_capacity(text.len());
        let mut kept = 0;
        for at in memchr::memmem::find_iter(&text, path) {
            let end = at + path.len();
            // A path that ends in 1 is the start of a path that ends in 12.
            if !text.get(end).is_some_and(u8::is_ascii_digit) {
                new.extend_from_slice(&text[kept..at]);
                new.extend_from_slice(name);
                kept = end;
            }
        }
        new.extend_from_slice(&text[kept..]);
        new
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names() {
        let names: [(&[u8], &[u8]); 2] = [(b"/fd/1", b"a.ptx"), (b"/fd/12", b"b /fd/1.ptx")];
        let of = |text: &str| String::from_utf8(with_names(text.into(), &names)).unwrap();
        assert_eq!(of("x /fd/1, line 1; /fd/12"), "x a.ptx, line 1; b /fd/1.ptx");
        assert_eq!(of("/fd/1/fd/1 /fd/123"), "a.ptxa.ptx /fd/123");
        assert_eq!(of(""), "");
    }
}
