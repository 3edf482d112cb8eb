//! What a test promises to `cargo raddle`, which watches it from outside: to be heard of again.
//!
//! A search ends by itself when its time is over, and an execution when its is. But the process may hang where neither can be looked at,
//! such as in a lock of the C library that an execution left locked. So the test says, on the pipe of its progress, within which
//! time it will be heard of again; every line that it writes begins that time anew. If nothing is heard, `cargo raddle` asks where the
//! process stands ([`tell`]) and ends it.

use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::time::Duration;

use raddle_engine::Config;
use raddle_engine::platform::global::GLOBAL;
use raddle_reflect::Program;

use super::progress::write_line;

/// Beyond the time that an execution may take.
const SLACK: Duration = Duration::from_secs(60);
/// For making a report: the execution is recorded, and its addresses are looked up.
const REPORTING: Duration = Duration::from_secs(600);

/// A promise, until this is dropped.
#[must_use = "the promise ends when this is dropped"]
pub(crate) struct Promise;

impl Promise {
    /// To be heard of again while a search runs. An execution may take its time twice and a half: it goes on fairly after the first.
    pub(crate) fn to_search(config: &Config) -> Promise {
        GLOBAL.tell_stack.set(Some(tell));
        say(config.time_limit.saturating_mul(3).saturating_add(SLACK));
        Promise
    }

    /// To have made a report.
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

/// Prints where the exploring thread stands: first the addresses, because looking them up may hang, too.
fn tell(stack: &[usize]) {
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

/// Past all locks.
fn print(text: &str) {
    // SAFETY: standard error is not closed here.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    let _ = stderr.write_all(text.as_bytes());
}
