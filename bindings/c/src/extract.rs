//! PTX inside binaries and archives.
#![forbid(unsafe_code)]

use std::io::Cursor;

use library::extract::{Limits, Member, walk};

use crate::border::Shared;
use crate::types::Str;

/// A PTX text of a binary.
#[repr(C)]
pub struct Image {
    /// A name for the text, such as `3.sm_90.ptx`.
    pub name: Str,
    /// The member of an archive that has the text. If archives are nested, the names of all
    /// members, from the outermost on, with `!` between them. Empty if the bytes are no archive.
    pub member: Str,
    /// The target, such as `sm_90`.
    pub target: Str,
    /// The major version of PTX.
    pub version_major: u32,
    /// The minor version of PTX.
    pub version_minor: u32,
    /// `none`, `lz4` or `zstd`.
    pub compression: Str,
    /// The offset in the file at which the entry of the text starts, in bytes.
    pub offset: u64,
    /// The text. Each byte that is not UTF-8 is replaced by U+007F.
    pub text: Str,
}

/// The PTX texts of a binary, and an error message for each text that cannot be read.
pub struct Images {
    images: Shared<Vec<Image>>,
    errors: Shared<Vec<Str>>,
    // The lists point at these.
    _texts: Vec<String>,
}

impl Images {
    pub(crate) fn find(bytes: &[u8]) -> Images {
        let (mut images, mut errors, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        let mut keep = |text: String| {
            let kept = Str::from(text.as_str());
            texts.push(text);
            kept
        };
        walk(
            &mut Cursor::new(bytes),
            Limits::default(),
            &mut |member: &Member, image| match image {
                Ok(image) => images.push(Image {
                    name: keep(image.name()),
                    member: keep(member.names().join("!")),
                    target: keep(image.target.to_string()),
                    version_major: image.version.0.into(),
                    version_minor: image.version.1.into(),
                    compression: image.compression.text().into(),
                    offset: image.offset,
                    text: keep(image.text().into_owned()),
                }),
                Err(error) if member.names().is_empty() => errors.push(keep(error.to_string())),
                Err(error) => errors.push(keep(format!("{member}: {error}"))),
            },
        );
        Images { images: Shared(images), errors: Shared(errors), _texts: texts }
    }

    pub(crate) fn images(&self) -> &[Image] {
        &self.images.0
    }

    pub(crate) fn errors(&self) -> &[Str] {
        &self.errors.0
    }
}
