//! Types that have a generator of their own.

use super::Source;
use super::source::Integer;

/// A type with a default generator.
///
/// ```
/// use raddle::generate::Source;
///
/// #[derive(Clone, Debug)]
/// enum Colour {
///     Red,
///     Mixed(u8),
/// }
///
/// impl raddle::Arbitrary for Colour {
///     fn arbitrary(source: &mut Source<'_>) -> Colour {
///         match source.bool() {
///             false => Colour::Red,
///             true => Colour::Mixed(source.int(0..=3)),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no default generator",
    label = "Raddle does not know how to make up a `{Self}`",
    note = "implement `raddle::Arbitrary` for it, or give a generator: `Operation::with_args(name, (generator,), call)`"
)]
pub trait Arbitrary: Sized {
    /// Makes a value from the numbers that it draws, and from nothing else.
    fn arbitrary(source: &mut Source<'_>) -> Self;
}

/// The number of the calling thread, as an argument: see [`thread_id`](super::thread_id).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub usize);

impl Arbitrary for ThreadId {
    fn arbitrary(source: &mut Source<'_>) -> ThreadId {
        ThreadId(source.thread())
    }
}

macro_rules! integers {
    ($($type:ident),*) => {$(
        impl Arbitrary for $type {
            fn arbitrary(source: &mut Source<'_>) -> $type {
                source.int(<$type as Integer>::MIN..=<$type as Integer>::MAX)
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// Floating-point numbers in steps of a half.
macro_rules! floats {
    ($($type:ident),*) => {$(
        impl Arbitrary for $type {
            fn arbitrary(source: &mut Source<'_>) -> $type {
                $type::from(source.int(-1000i16..=1000)) / 2.0
            }
        }
    )*};
}
floats!(f32, f64);

impl Arbitrary for bool {
    fn arbitrary(source: &mut Source<'_>) -> bool {
        source.bool()
    }
}

impl Arbitrary for char {
    fn arbitrary(source: &mut Source<'_>) -> char {
        let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ";
        letters[source.small(letters.len() as u64 - 1) as usize].into()
    }
}

/// The longest string or vector that is made up by default.
const LONGEST: usize = 15;

impl Arbitrary for String {
    fn arbitrary(source: &mut Source<'_>) -> String {
        let length = source.int(0..=LONGEST);
        (0..length).map(|_| char::arbitrary(source)).collect()
    }
}

impl<T: Arbitrary> Arbitrary for Vec<T> {
    fn arbitrary(source: &mut Source<'_>) -> Vec<T> {
        let length = source.int(0..=LONGEST);
        (0..length).map(|_| T::arbitrary(source)).collect()
    }
}

impl<T: Arbitrary> Arbitrary for Option<T> {
    fn arbitrary(source: &mut Source<'_>) -> Option<T> {
        source.bool().then(|| T::arbitrary(source))
    }
}

impl<T: Arbitrary> Arbitrary for Box<T> {
    fn arbitrary(source: &mut Source<'_>) -> Box<T> {
        Box::new(T::arbitrary(source))
    }
}
