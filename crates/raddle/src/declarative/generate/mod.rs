//! Generators of arguments: small and colliding at first, wider as a scenario grows.
//!
//! A generator is a function of the numbers that it draws from its [`Source`]. The numbers that made a value are kept with
//! it: the same numbers make the same value again, in a replay or from a file, and smaller numbers make a simpler one, so
//! whatever can be generated can be shrunk.
//!
//! ```
//! use raddle::generate::{self, Generator, Source};
//!
//! let pairs = (generate::int(1..=3), generate::one_of(["a", "b"]));
//! let even = generate::from_fn(|source: &mut Source<'_>| source.int(0..=50) * 2);
//! # let _ = (pairs, even);
//! ```

mod arbitrary;
mod source;

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

pub use arbitrary::{Arbitrary, ThreadId};
pub(crate) use source::Growth;
pub use source::{Integer, Source};

/// Makes values of one type.
pub trait Generator: Send + Sync + 'static {
    /// What it makes.
    type Value: 'static;

    /// Makes a value from the numbers that it draws, and from nothing else.
    fn generate(&self, source: &mut Source<'_>) -> Self::Value;
}

/// Integers of a range, those near to zero first.
///
/// # Panics
/// If the range is empty.
pub fn int<I: Integer>(range: RangeInclusive<I>) -> impl Generator<Value = I> {
    assert!(range.start() <= range.end(), "raddle: `generate::int` needs a range that is not empty");
    from_fn(move |source| source.int(range.clone()))
}

/// The type's own generator.
pub fn any<T: Arbitrary + 'static>() -> impl Generator<Value = T> {
    from_fn(T::arbitrary)
}

/// One of these values; the first is the simplest.
///
/// # Panics
/// If there are none.
pub fn one_of<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = T>,
) -> impl Generator<Value = T> {
    let values: Vec<T> = values.into_iter().collect();
    assert!(!values.is_empty(), "raddle: `generate::one_of` needs a value to choose");
    from_fn(move |source| source.choose(&values).clone())
}

/// Always this value.
pub fn just<T: Clone + Send + Sync + 'static>(value: T) -> impl Generator<Value = T> {
    from_fn(move |_| value.clone())
}

/// Strings of letters, of a length in this range.
pub fn string(length: RangeInclusive<usize>) -> impl Generator<Value = String> {
    from_fn(move |source| {
        let length = source.int(length.clone());
        (0..length).map(|_| char::arbitrary(source)).collect()
    })
}

/// Vectors of a length in this range.
pub fn vec<G: Generator>(element: G, length: RangeInclusive<usize>) -> impl Generator<Value = Vec<G::Value>> {
    from_fn(move |source| {
        let length = source.int(length.clone());
        (0..length).map(|_| element.generate(source)).collect()
    })
}

/// `None`, or `Some` value.
pub fn option<G: Generator>(value: G) -> impl Generator<Value = Option<G::Value>> {
    from_fn(move |source| source.bool().then(|| value.generate(source)))
}

/// The number of the thread that calls: 0 in the init part, from 1 in the parallel part, one more than there are in the
/// post part.
pub fn thread_id() -> impl Generator<Value = usize> {
    from_fn(|source| source.thread())
}

/// A generator that is a function.
pub fn from_fn<T: 'static, F: Fn(&mut Source<'_>) -> T + Send + Sync + 'static>(
    function: F,
) -> impl Generator<Value = T> {
    FromFn { function, value: PhantomData }
}

/// Any strategy of the `proptest` crate.
///
/// The strategy's own shrinking is used, too.
#[cfg(feature = "proptest")]
pub fn proptest<S>(strategy: S) -> impl Generator<Value = S::Value>
where
    S: proptest::strategy::Strategy + Send + Sync + 'static,
{
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    /// How often a value may be simplified.
    const STEPS: u64 = 256;

    from_fn(move |source| {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&source.any().to_le_bytes());
        // Counted backwards, because smaller numbers are to make simpler values.
        let left = source.at_first(STEPS);
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        let mut tree =
            strategy.new_tree(&mut runner).unwrap_or_else(|reason| panic!("raddle: proptest: {reason}"));
        for _ in left..STEPS {
            if !tree.simplify() {
                break;
            }
        }
        tree.current()
    })
}

struct FromFn<T, F> {
    function: F,
    value: PhantomData<fn() -> T>,
}

impl<T: 'static, F: Fn(&mut Source<'_>) -> T + Send + Sync + 'static> Generator for FromFn<T, F> {
    type Value = T;

    fn generate(&self, source: &mut Source<'_>) -> T {
        (self.function)(source)
    }
}

impl<T, F> Debug for FromFn<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FromFn")
    }
}
