//! Loops that the compiler turns into vector code, as wide as the machine allows.

/// A kind of machine that a loop is compiled for.
pub(crate) trait Vectors: Copy {
    /// Runs a loop. The loop must own the values that it uses: otherwise the compiler assumes that
    /// the loop's writes may change them.
    fn run(self, code: impl FnOnce());
}

/// Any machine. With the feature `simd` on x86-64, each loop is compiled twice: with AVX2 and
/// without.
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

/// A machine with AVX2. Its vectors are wider than the vectors that every x86-64 has, and it shifts
/// by variable amounts as fast as by constants.
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

/// Never exists: this build has no loops for wider vectors.
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
