//! The test's promise to `cargo raddle` that the next progress line comes within a given time.
//!
//! A search ends when its budget is spent, and an execution when its time limit is reached. But the process may hang where neither is
//! checked, for example in a lock of the C library that an execution left locked. So the test writes to the progress pipe how long
//! `cargo raddle` may have to wait for the next line; each line restarts that time. If no line comes, `cargo raddle` asks the process
//! for its call stack ([`print_stack`]) and ends it.

use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::time::Duration;

use raddle_engine::Config;
use raddle_engine::platform::global::GLOBAL;
use raddle_reflect::Program;

use super::progress::write_line;

/// The time beyond the time limit of an execution.
const SLACK: Duration = Duration::from_secs(60);
/// The time for a report: the execution is recorded, and its addresses are looked up.
const REPORTING: Duration = Duration::from_secs(600);

/// A promise. Dropping it ends it.
#[must_use = "the promise ends when this is dropped"]
pub(crate) struct Promise;

impl Promise {
    /// The promise while a search runs. An execution may take two and a half times its time limit: it goes on fairly after the first.
    pub(crate) fn to_search(config: &Config) -> Promise {
        GLOBAL.tell_stack.set(Some(print_stack));
        say(config.time_limit.saturating_mul(3).saturating_add(SLACK));
        Promise
    }

    /// The promise while a report is made.
    pub(crate) fn extend(&self) {
        say(REPORTING);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        say(Duration::ZERO);
    }
}

fn say(time: Duration) {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    write_line(&format!("promise\t{milliseconds}"));
}

/// Prints the call stack of the exploring thread. The addresses come first, because looking them up may hang, too.
fn print_stack(stack: &[usize]) {
    let own = stack.iter().map(|&at| at.wrapping_sub(GLOBAL.text_start.get()));
    let addresses: Vec<String> = own.map(|offset| format!("{offset:x}")).collect();
    print(&format!("raddle: the process hangs; it stands at text+ {}\n", addresses.join(" ")));
    let Ok(program) = Program::current() else { return };
    for frame in stack.iter().flat_map(|&at| program.frames(at as u64)) {
        let line = frame.line.map_or_else(String::new, |line| format!(":{line}"));
        let file = frame.file.as_deref().unwrap_or("?");
        print(&format!("  {} at {file}{line}\n", frame.function));
    }
}

/// Prints without taking a lock.
fn print(text: &str) {
    // SAFETY: standard error is not closed here.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    let _ = stderr.write_all(text.as_bytes());
}
