//! Loops that the compiler turns into vectors, as wide as the machine has them.

/// A kind of machine that a loop is compiled for.
pub(crate) trait Vectors: Copy {
    /// Runs a loop. What it uses it has to own, or the compiler takes it for
    /// something that writes may change.
    fn run(self, code: impl FnOnce());
}

/// Whatever machine there is: the loop is compiled twice with the feature `simd`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Any;

impl Vectors for Any {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one loop for each use")]
    fn run(self, code: impl FnOnce()) {
        match Wide::new() {
            Some(wide) => wide.run(code),
            None => code(),
        }
    }
}

/// A machine with AVX2, on which vectors are wider than they are everywhere, and
/// can be shifted by any amount as fast as by a constant one.
#[derive(Clone, Copy, Debug)]
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
pub(crate) struct Wide(fearless_simd::x86::Avx2);

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
impl Wide {
    pub(crate) fn new() -> Option<Wide> {
        fearless_simd::Level::new().as_avx2().map(Wide)
    }
}

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
impl Vectors for Wide {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one loop for each use")]
    fn run(self, code: impl FnOnce()) {
        fearless_simd::Simd::vectorize(self.0, code);
    }
}

/// There is none.
#[derive(Clone, Copy, Debug)]
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
pub(crate) enum Wide {}

#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
impl Wide {
    pub(crate) fn new() -> Option<Wide> {
        None
    }
}

#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
impl Vectors for Wide {
    fn run(self, _: impl FnOnce()) {
        match self {}
    }
}
