//! Results as text, without an allocation where they are short: they are made in the innermost loop of a stress test.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt::{self, Debug, Write};
use std::hash::{Hash, Hasher};

/// The text of a result.
#[derive(Clone)]
pub struct Shown(Repr);

const INLINE: usize = 22;

#[derive(Clone)]
enum Repr {
    Inline { length: u8, bytes: [u8; INLINE] },
    Heap(Box<str>),
}

impl Shown {
    /// What `Debug` writes.
    pub fn debug(value: &(impl Debug + ?Sized)) -> Shown {
        let mut shown = Shown::empty();
        // Writing to memory does not fail, and a `Debug` that says it does has written what it could.
        let _ = write!(shown, "{value:?}");
        shown
    }

    /// A result that is ignored.
    pub fn ignored() -> Shown {
        Shown::from("_")
    }

    /// A panic, by its message.
    pub fn panicked(payload: &(dyn Any + Send)) -> Shown {
        let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(message), _) => message,
            (_, Some(message)) => message.as_str(),
            _ => "no message",
        };
        Shown::from(format!("panic: {message}").as_str())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Inline { length, bytes } => {
                std::str::from_utf8(&bytes[..usize::from(*length)]).unwrap_or_default()
            }
            Repr::Heap(text) => text,
        }
    }

    fn empty() -> Shown {
        Shown(Repr::Inline { length: 0, bytes: [0; INLINE] })
    }
}

impl From<&str> for Shown {
    fn from(text: &str) -> Shown {
        let mut shown = Shown::empty();
        let _ = shown.write_str(text);
        shown
    }
}

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match &mut self.0 {
            Repr::Inline { length, bytes } => {
                let old = usize::from(*length);
                match bytes.get_mut(old..old + text.len()) {
                    Some(place) => {
                        place.copy_from_slice(text.as_bytes());
                        *length += u8::try_from(text.len()).unwrap_or_default();
                    }
                    None => {
                        let whole = format!("{}{text}", self.as_str());
                        self.0 = Repr::Heap(whole.into());
                    }
                }
            }
            Repr::Heap(old) => *old = format!("{old}{text}").into(),
        }
        Ok(())
    }
}

impl AsRef<str> for Shown {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Shown {
    fn eq(&self, other: &Shown) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Shown {}

impl PartialOrd for Shown {
    fn partial_cmp(&self, other: &Shown) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Shown {
    fn cmp(&self, other: &Shown) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Shown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_are_what_debug_writes() {
        assert_eq!(Shown::debug(&Some(1)).as_str(), "Some(1)");
        let long: Vec<u32> = (0..20).collect();
        assert_eq!(Shown::debug(&long).as_str(), format!("{long:?}"));
        assert_eq!(Shown::debug("größer als zweiundzwanzig").as_str(), "\"größer als zweiundzwanzig\"");
        assert!(Shown::debug(&1) < Shown::debug(&2));
        assert_eq!(size_of::<Shown>(), 24);
    }
}
