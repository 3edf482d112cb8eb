//! Arguments and results without their types: printable, and comparable where that is needed.

use std::any::Any;
use std::fmt::{Debug, Write};
use std::hash::Hasher;
use std::sync::Arc;

use super::calls::Arguments;

/// The arguments of one call.
pub(crate) type Args = Arc<dyn ErasedArguments>;

/// The result of one call.
pub(crate) type Value = Box<dyn ErasedValue>;

/// Arguments of any operation.
pub(crate) trait ErasedArguments: Send + Sync {
    /// Each argument, printed.
    fn texts(&self) -> Vec<String>;
    /// Each argument as Rust code.
    fn codes(&self) -> Vec<String>;
    /// A copy that shares nothing with the original but what clones share.
    fn duplicate(&self) -> Args;
    fn as_any(&self) -> &dyn Any;
}

impl<A: Arguments> ErasedArguments for A {
    fn texts(&self) -> Vec<String> {
        Arguments::texts(self)
    }

    fn codes(&self) -> Vec<String> {
        Arguments::codes(self)
    }

    fn duplicate(&self) -> Args {
        Arc::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A result of any operation.
pub(crate) trait ErasedValue: Send {
    fn text(&self) -> String;
    /// Hashes what is printed, without printing it.
    fn hash_text(&self, hasher: &mut dyn Hasher);
    /// Whether the other is of the same type and equal.
    fn same(&self, other: &dyn ErasedValue) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<R: PartialEq + Debug + Send + 'static> ErasedValue for R {
    fn text(&self) -> String {
        format!("{self:?}")
    }

    fn hash_text(&self, hasher: &mut dyn Hasher) {
        // A `Debug` that fails has printed what it could.
        let _ = write!(HashedText(hasher), "{self:?}");
    }

    fn same(&self, other: &dyn ErasedValue) -> bool {
        other.as_any().downcast_ref::<R>().is_some_and(|other| self == other)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Text that is hashed as it is written.
struct HashedText<'a>(&'a mut dyn Hasher);

impl Write for HashedText<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// How one step of an operation ended.
pub(crate) enum Answer {
    /// It returned.
    Returned(Value),
    /// It panicked; panics are compared by the kind of their message.
    Panicked(PanicKind),
    /// It waits for another operation to let it go on.
    Suspended,
    /// It was given up while it waited.
    Cancelled,
}

impl Answer {
    /// What a call came to, panic or not.
    pub(crate) fn of(result: std::thread::Result<Value>) -> Answer {
        match result {
            Ok(value) => Answer::Returned(value),
            Err(payload) => {
                let kind = PanicKind::of(&*payload);
                // A payload may panic when it is dropped.
                std::mem::forget(payload);
                Answer::Panicked(kind)
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Answer::Returned(value) => value.text(),
            Answer::Panicked(kind) => format!("panic: {}", kind.message),
            Answer::Suspended => "suspended".to_owned(),
            Answer::Cancelled => "cancelled".to_owned(),
        }
    }
}

/// A panic as a result: the first line of what it said, with the numbers in it left out of comparisons.
#[derive(Clone, Debug)]
pub(crate) struct PanicKind {
    message: String,
    kind: String,
}

impl PanicKind {
    fn of(payload: &(dyn Any + Send)) -> PanicKind {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a payload that is no string");
        let message = text.lines().next().unwrap_or_default().to_owned();
        let mut kind = String::with_capacity(message.len());
        for c in message.chars() {
            match c.is_ascii_digit() {
                true if kind.ends_with('#') => {}
                true => kind.push('#'),
                false => kind.push(c),
            }
        }
        PanicKind { message, kind }
    }

    /// What panics of the same kind have in common.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_one_kind_differ_in_numbers_only() {
        let kind = |text: &'static str| PanicKind::of(&text).kind;
        assert_eq!(kind("the len is 3 but the index is 12"), kind("the len is 10 but the index is 4"));
        assert_ne!(kind("empty"), kind("full"));
        assert_eq!(kind("failed\n left: 1"), "failed");
    }

    #[test]
    fn values_of_different_types_are_never_the_same() {
        let one: Value = Box::new(1i32);
        assert!(one.same(&1i32));
        assert!(!one.same(&1i64));
        assert!(!one.same(&2i32));
    }
}
