//! What a validator says of the results.

/// What a validator may return: `Result<(), String>`, `(bool, &str)` as in Muscat, `bool`, or nothing if it asserts by panics.
pub trait Verdict {
    /// What is wrong; none if nothing is.
    fn failure(self) -> Option<String>;
}

impl Verdict for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl Verdict for bool {
    fn failure(self) -> Option<String> {
        (!self).then(|| "the validator rejects the results".to_owned())
    }
}

impl<S: Into<String>> Verdict for (bool, S) {
    fn failure(self) -> Option<String> {
        (!self.0).then(|| self.1.into())
    }
}

impl<S: Into<String>> Verdict for Result<(), S> {
    fn failure(self) -> Option<String> {
        self.err().map(Into::into)
    }
}
