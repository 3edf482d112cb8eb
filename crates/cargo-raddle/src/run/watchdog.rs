//! Ends tests that hang.
//!
//! A search keeps its own time, but a process may hang where it cannot look at the clock. So a test that explores promises, on the pipe
//! of its progress, to be heard of again within some time (`promise⇥milliseconds`, or 0 if it promises nothing); every line that says
//! something new begins that time anew. A test that breaks its promise is asked where it stands, and ended.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

/// How long a process that hangs may take to say where it stands.
const ANSWER: Duration = Duration::from_secs(5);

/// What is known of one test.
#[derive(Debug)]
pub(super) struct Watchdog {
    process: u32,
    promise: Option<Duration>,
    /// When the test was last heard of, or was asked.
    since: Instant,
    last: String,
    asked: bool,
    /// How long nothing was heard when it was asked.
    silence: Duration,
}

impl Watchdog {
    /// Watches a test that has just been started.
    pub(super) fn of(process: u32) -> Watchdog {
        let silence = Duration::ZERO;
        Watchdog { process, promise: None, since: Instant::now(), last: String::new(), asked: false, silence }
    }

    /// Takes in a line that the test wrote. False if it is a promise, which is nobody else's business.
    pub(super) fn hear(&mut self, text: &str) -> bool {
        if self.last != text {
            text.clone_into(&mut self.last);
            if !self.asked {
                self.since = Instant::now();
            }
        }
        let Some(promise) = text.strip_prefix("promise\t") else { return true };
        self.promise = promise.parse().ok().filter(|&time| time > 0).map(Duration::from_millis);
        false
    }

    /// Called now and then: asks a test that is not heard of where it stands, and then ends it.
    pub(super) fn look(&mut self) {
        let silence = self.since.elapsed();
        if self.asked && silence > ANSWER {
            self.send(libc::SIGKILL);
        } else if !self.asked && self.promise.is_some_and(|promise| silence > promise) {
            self.silence = silence;
            (self.asked, self.since) = (true, Instant::now());
            self.send(libc::SIGRTMAX() - 4);
        }
    }

    /// What to say of a test that was ended.
    pub(super) fn verdict(&self) -> Option<String> {
        let seconds = self.silence.as_secs_f64();
        self.asked.then(|| format!("the test hung and was ended: nothing was heard of it for {seconds:.1} s"))
    }

    fn send(&self, signal: libc::c_int) {
        // SAFETY: sends a signal to a process that this one started and has not taken leave of.
        unsafe { libc::kill(self.process as libc::pid_t, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this number, so nobody is asked.
    const NOBODY: u32 = i32::MAX as u32;

    #[test]
    fn without_a_promise_there_is_nothing_to_break() {
        let mut watchdog = Watchdog::of(NOBODY);
        watchdog.since -= Duration::from_secs(3600);
        watchdog.look();
        assert_eq!(watchdog.verdict(), None);
        assert!(!watchdog.hear("promise\t1000"));
        assert!(!watchdog.hear("promise\t0"));
        watchdog.since -= Duration::from_secs(3600);
        watchdog.look();
        assert_eq!(watchdog.verdict(), None);
    }

    #[test]
    fn only_what_is_new_counts() {
        let mut watchdog = Watchdog::of(NOBODY);
        watchdog.hear("promise\t1000");
        assert!(watchdog.hear("7\t0\t1\tpos"));
        watchdog.since -= Duration::from_secs(2);
        watchdog.hear("8\t0\t1\tpos");
        watchdog.look();
        assert_eq!(watchdog.verdict(), None);
        watchdog.since -= Duration::from_secs(2);
        watchdog.hear("8\t0\t1\tpos");
        watchdog.look();
        assert!(watchdog.verdict().unwrap().contains("nothing was heard of it for 2.0 s"));
    }
}
