//! The texts of both sides, and which of them belong together.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use memchr::memmem;
use tempfile::SpooledTempFile;

use crate::cli::error::CommandError;
use crate::diff::without_hashes;
use crate::extract::{Image, Limits, Member, walk};
use crate::report::visible_path;
use crate::syntax::lexer::word_end;
use crate::workspace::binary::{self, Content, path_of};
use crate::workspace::bug::guarded;
use crate::workspace::error::FileError;
use crate::workspace::input::Input;

/// The most memory, in bytes, for the texts in the binaries of one side. Further texts go to a
/// file.
const IN_MEMORY: usize = 64 << 20;

/// The texts of one side.
pub(super) struct Texts {
    pub(super) all: Vec<Text>,
    /// The texts of binaries, one after the other. Texts of other files are read again.
    unpacked: Mutex<SpooledTempFile>,
    /// Why texts cannot be read.
    pub(super) troubles: Vec<CommandError>,
}

/// A PTX text.
pub(super) struct Text {
    /// `FILE!MEMBER!3.sm_90.ptx`
    pub(super) label: String,
    /// The path of the text within its side, and its target if it is in a binary.
    key: (String, String),
    place: Place,
    hash: u64,
    /// Hashes of the names of its functions, sorted; only for texts of binaries.
    functions: Vec<u64>,
}

enum Place {
    File(Input),
    Unpacked { offset: u64, length: usize },
}

impl Texts {
    /// Finds the texts of files and binaries. Paths are relative to `folder`, if it is given.
    pub(super) fn new(inputs: Vec<Input>, folder: Option<&Path>, limit: u64) -> Texts {
        let mut texts = Texts {
            all: Vec::new(),
            unpacked: Mutex::new(SpooledTempFile::new(IN_MEMORY)),
            troubles: Vec::new(),
        };
        for input in inputs {
            let inner = folder
                .and_then(|folder| input.path()?.strip_prefix(folder).ok())
                .map_or_else(String::new, visible_path);
            let name = input.name();
            let added: Result<(), CommandError> =
                guarded(&name, || texts.add(input, &inner, limit)).flatten();
            texts.troubles.extend(added.err());
        }
        texts
    }

    fn add(&mut self, input: Input, inner: &str, limit: u64) -> Result<(), CommandError> {
        let cannot = |why| CommandError::Content { name: input.name(), why };
        let mut file = match Content::open(&input, limit).map_err(cannot)? {
            Content::Binary(file) => file,
            Content::Ptx(text) => {
                let (label, hash) = (input.name(), hash_of(&text));
                let is_file = input.path().is_some_and(Path::is_file);
                let place = if is_file { Place::File(input) } else { self.keep(&text)? };
                let key = (inner.to_string(), String::new());
                self.all.push(Text { label, key, place, hash, functions: Vec::new() });
                return Ok(());
            }
        };
        let limits = Limits::default().with_image(limit);
        walk(&mut file, limits, &mut |member: &Member, image| match image {
            Ok(image) => {
                if let Err(error) = self.image(&input, inner, member, &image) {
                    self.troubles.push(error.into());
                }
            }
            Err(error) => {
                let name = path_of(input.shown(), member, None);
                self.troubles.push(CommandError::Member { name, why: error });
            }
        });
        Ok(())
    }

    fn image(
        &mut self,
        input: &Input,
        inner: &str,
        member: &Member,
        image: &Image,
    ) -> Result<(), FileError> {
        let names = [inner.to_string(), binary::inner_name(member, None)];
        let place = self.keep(&image.bytes)?;
        self.all.push(Text {
            label: path_of(input.shown(), member, Some(image)),
            key: (names.join("!"), image.target.to_string()),
            place,
            hash: hash_of(&image.bytes),
            functions: functions(&image.bytes),
        });
        Ok(())
    }

    /// Keeps a text that cannot be read again.
    fn keep(&mut self, text: &[u8]) -> Result<Place, FileError> {
        let file = self.unpacked.get_mut().unwrap_or_else(PoisonError::into_inner);
        let kept = file.seek(SeekFrom::End(0)).and_then(|offset| {
            file.write_all(text)?;
            Ok(Place::Unpacked { offset, length: text.len() })
        });
        kept.map_err(|error| FileError::unnamed("write a temporary file", &error))
    }

    /// The bytes of a text.
    pub(super) fn bytes(&self, text: &Text) -> Result<Vec<u8>, FileError> {
        match &text.place {
            Place::File(input) => input.bytes().map(|bytes| bytes.to_vec()),
            Place::Unpacked { offset, length } => {
                let mut file = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
                let mut bytes = vec![0; *length];
                file.seek(SeekFrom::Start(*offset))
                    .and_then(|_| file.read_exact(&mut bytes))
                    .map_err(|error| FileError::unnamed("read a temporary file", &error))?;
                Ok(bytes)
            }
        }
    }
}

/// The hash does not withstand hostile input. This does no harm: it only decides which texts are
/// paired, and paired texts are compared byte by byte.
fn hash_of(value: impl Hash) -> u64 {
    foldhash::fast::FixedState::default().hash_one(value)
}

/// The hashes of the names after `.entry`; if there are none, the hashes of the names after
/// `.func`.
fn functions(text: &[u8]) -> Vec<u64> {
    for word in [".entry", ".func"] {
        let after = memmem::find_iter(text, word).map(|at| at + word.len());
        let names = after.map(|at| {
            let blanks = text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            &text[at + blanks..word_end(text, at + blanks)]
        });
        let names = names.filter(|name| !name.is_empty()).map(String::from_utf8_lossy);
        let mut hashes: Vec<u64> = names.map(|name| hash_of(without_hashes(&name))).collect();
        if !hashes.is_empty() {
            hashes.sort_unstable();
            hashes.dedup();
            return hashes;
        }
    }
    Vec::new()
}

/// The positions of two texts to compare, or of a text that only one side has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    Both(usize, usize),
    Old(usize),
    New(usize),
}

/// Pairs the texts that belong together. Texts with the same place and target are paired first:
/// equal texts, then texts with the most functions of the same name. Then come texts with different
/// targets or places, and at last the rest of the texts with the same place, in order.
pub(super) fn pairs(old: &[Text], new: &[Text]) -> Vec<Pair> {
    if let ([_], [_]) = (old, new) {
        return vec![Pair::Both(0, 0)];
    }
    let mut finder = Finder {
        old,
        new,
        partner_of_old: vec![None; old.len()],
        partner_of_new: vec![None; new.len()],
    };
    finder.by(|text| Some((text.key.clone(), text.hash)));
    finder.by(|text| text.key.1.is_empty().then(|| (text.key.clone(), 0)));
    finder.by_functions(|text| text.key.clone());
    finder.by_order(|text| text.key.clone());
    finder.by(|text| {
        let is_unpacked = !text.key.1.is_empty();
        is_unpacked.then(|| ((String::new(), text.key.1.clone()), text.hash))
    });
    finder.by_functions(|text| (String::new(), text.key.1.clone()));
    // The targets may differ between two releases, too.
    finder.by_functions(|text| (text.key.0.clone(), String::new()));
    finder.by_functions(|_| Key::default());
    finder.by_order(|text| (text.key.0.clone(), String::new()));
    let Finder { partner_of_old, partner_of_new, .. } = finder;
    // The pairs are in the order of the new side. A text that only the old side has stands after
    // the text that it followed there.
    let mut pairs = Vec::with_capacity(new.len());
    let mut gone = (0..old.len()).filter(|at| partner_of_old[*at].is_none()).peekable();
    for (at, partner) in partner_of_new.iter().enumerate() {
        match *partner {
            Some(partner) => {
                while let Some(before) = gone.next_if(|gone| *gone < partner) {
                    pairs.push(Pair::Old(before));
                }
                pairs.push(Pair::Both(partner, at));
                let mut next = partner + 1;
                while let Some(after) = gone.next_if(|gone| *gone == next) {
                    pairs.push(Pair::Old(after));
                    next += 1;
                }
            }
            None => pairs.push(Pair::New(at)),
        }
    }
    pairs.extend(gone.map(Pair::Old));
    pairs
}

type Key = (String, String);

struct Finder<'f> {
    old: &'f [Text],
    new: &'f [Text],
    partner_of_old: Vec<Option<usize>>,
    partner_of_new: Vec<Option<usize>>,
}

impl Finder<'_> {
    fn join(&mut self, old: usize, new: usize) {
        self.partner_of_old[old] = Some(new);
        self.partner_of_new[new] = Some(old);
    }

    fn free_old(&self) -> Vec<usize> {
        (0..self.old.len()).filter(|at| self.partner_of_old[*at].is_none()).collect()
    }

    fn free_new(&self) -> Vec<usize> {
        (0..self.new.len()).filter(|at| self.partner_of_new[*at].is_none()).collect()
    }

    /// Pairs texts with the same key, in order.
    fn by(&mut self, key: impl Fn(&Text) -> Option<(Key, u64)>) {
        let mut known: HashMap<_, Vec<usize>> = HashMap::new();
        for at in self.free_old().into_iter().rev() {
            if let Some(key) = key(&self.old[at]) {
                known.entry(key).or_default().push(at);
            }
        }
        for at in self.free_new() {
            let own = key(&self.new[at]).and_then(|key| known.get_mut(&key)?.pop());
            if let Some(partner) = own {
                self.join(partner, at);
            }
        }
    }

    /// Pairs texts with the same key. Texts with the most functions of the same name are paired
    /// first.
    fn by_functions(&mut self, key: impl Fn(&Text) -> Key) {
        let mut having: HashMap<(Key, u64), Vec<usize>> = HashMap::new();
        for at in self.free_old() {
            for function in &self.old[at].functions {
                having.entry((key(&self.old[at]), *function)).or_default().push(at);
            }
        }
        let mut likely = Vec::new();
        for at in self.free_new() {
            let mut common: BTreeMap<usize, usize> = BTreeMap::new();
            for function in &self.new[at].functions {
                let owners = having.get(&(key(&self.new[at]), *function));
                // A name that very many texts have tells nothing.
                for old in owners.into_iter().flatten().take(MANY) {
                    *common.entry(*old).or_default() += 1;
                }
            }
            likely.extend(common.into_iter().map(|(old, count)| (count, old, at)));
        }
        likely.sort_by_key(|&(count, old, new)| (std::cmp::Reverse(count), new, old));
        for (_, old, new) in likely {
            if self.partner_of_old[old].is_none() && self.partner_of_new[new].is_none() {
                self.join(old, new);
            }
        }
    }

    /// Pairs the free texts of a key in order, if both sides have the same number of them.
    fn by_order(&mut self, key: impl Fn(&Text) -> Key) {
        let mut sides: BTreeMap<Key, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for at in self.free_old() {
            sides.entry(key(&self.old[at])).or_default().0.push(at);
        }
        for at in self.free_new() {
            sides.entry(key(&self.new[at])).or_default().1.push(at);
        }
        for (old, new) in sides.into_values() {
            if old.len() == new.len() {
                old.into_iter().zip(new).for_each(|(old, new)| self.join(old, new));
            }
        }
    }
}

/// Of the texts that have a function of one name, at most this many are compared.
const MANY: usize = 64;
