//! The environment of an execution: that of the process, without Raddle's own variables, and without changes by earlier
//! executions.
//!
//! The C library keeps a pointer to a list of strings, `environ`. While an execution runs, it points to a list of the
//! engine's, which is rebuilt for the next one.

use std::ffi::{CStr, c_char};
use std::ptr;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Prefixes of Raddle's own variables.
const OWN: [&[u8]; 2] = [b"RADDLE_", b"CARGO_RADDLE_"];

/// The environment of executions.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The environment of the process.
    outside: *mut *mut c_char,
    /// The initial environment of each execution.
    first: Vec<*mut c_char>,
    /// The environment of the current execution. **Invariant:** ends with null, as `first` does.
    current: Vec<*mut c_char>,
    /// The strings that the current execution made.
    made: Vec<Box<[u8]>>,
}

impl Environment {
    /// A copy of the process's environment, for executions.
    pub(crate) fn of_process() -> Environment {
        let mut first = Vec::new();
        // SAFETY: a list of C strings that ends with null, which nothing changes meanwhile.
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

    /// Begins an execution.
    pub(crate) fn enter(&mut self) {
        self.current.clone_from(&self.first);
        self.made.clear();
        // SAFETY: one OS thread runs all code that is explored.
        unsafe { environ = self.current.as_mut_ptr() };
    }

    /// Ends an execution.
    pub(crate) fn leave(&self) {
        // SAFETY: as above.
        unsafe { environ = self.outside };
    }

    /// Ends the exploration, perhaps in the middle of an execution.
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

    /// Sets or removes a variable.
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

    /// Whether a variable is set.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.current.iter().any(|&entry| is_of(entry, name))
    }

    /// Removes all variables.
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
