//! The environment of an execution: that of the process, without the variables that are Raddle's own, whatever earlier executions
//! did to it.
//!
//! The C library keeps a pointer to a list of strings, `environ`. While an execution runs it points to a list of the engine's, which
//! is made anew for the next one.

use std::ffi::{CStr, c_char};
use std::ptr;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// How the names of Raddle's own variables begin.
const OWN: [&[u8]; 2] = [b"RADDLE_", b"CARGO_RADDLE_"];

/// The environment of executions.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The process's.
    outside: *mut *mut c_char,
    /// What each execution begins with.
    first: Vec<*mut c_char>,
    /// What the current one has. Ends with null, as `first` does.
    current: Vec<*mut c_char>,
    /// The strings that it made.
    made: Vec<Box<[u8]>>,
}

impl Environment {
    /// The process's environment as it is now, for executions.
    pub(crate) fn of_process() -> Environment {
        let mut first = Vec::new();
        // SAFETY: a list of C strings that ends with null, which nobody changes meanwhile.
        unsafe {
            let outside = environ;
            let mut at = outside;
            while !at.is_null() && !(*at).is_null() {
                let bytes = CStr::from_ptr(*at).to_bytes();
                if !OWN.iter().any(|own| bytes.starts_with(own)) {
                    first.push(*at);
                }
                at = at.add(1);
            }
            first.push(ptr::null_mut());
            Environment { outside, first, current: Vec::new(), made: Vec::new() }
        }
    }

    /// An execution begins.
    pub(crate) fn enter(&mut self) {
        self.current.clone_from(&self.first);
        self.made.clear();
        // SAFETY: one OS thread runs all code that is explored.
        unsafe { environ = self.current.as_mut_ptr() };
    }

    /// The execution has ended.
    pub(crate) fn leave(&self) {
        // SAFETY: as above.
        unsafe { environ = self.outside };
    }

    /// The exploration has ended, perhaps in the middle of an execution.
    pub(crate) fn end(&self) {
        // SAFETY: as above.
        if ptr::eq(unsafe { environ }, self.current.as_ptr()) {
            self.leave();
        }
    }

    /// Whether the execution has changed its environment.
    pub(crate) fn is_changed(&self) -> bool {
        self.current != self.first
    }

    /// Gives a variable a value, or none.
    pub(crate) fn set(&mut self, name: &[u8], value: Option<&[u8]>) {
        self.current.pop();
        self.current.retain(|&entry| !is_of(entry, name));
        if let Some(value) = value {
            let text = [name, b"=", value, b"\0"].concat().into_boxed_slice();
            self.current.push(text.as_ptr().cast_mut().cast());
            self.made.push(text);
        }
        self.current.push(ptr::null_mut());
        // SAFETY: as above.
        unsafe { environ = self.current.as_mut_ptr() };
    }

    /// Whether a variable has a value.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.current.iter().any(|&entry| is_of(entry, name))
    }

    /// No variable has a value any more.
    pub(crate) fn clear(&mut self) {
        self.current.clear();
        self.current.push(ptr::null_mut());
        // SAFETY: as above.
        unsafe { environ = self.current.as_mut_ptr() };
    }
}

fn is_of(entry: *mut c_char, name: &[u8]) -> bool {
    // SAFETY: entries are C strings, except for the last one, which is null.
    !entry.is_null()
        && unsafe { CStr::from_ptr(entry) }
            .to_bytes()
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(b"="))
}
