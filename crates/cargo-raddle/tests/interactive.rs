//! `cargo raddle show --interactive` in a real terminal: tmux types keys and reads the screen.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../raddle-report/tests/example.json");

/// A terminal with the command in it.
struct Session {
    socket: String,
}

impl Session {
    /// None, with a message, where tmux is not installed.
    fn start(width: u32, height: u32) -> Option<Session> {
        let session = Session { socket: format!("raddle-{}-{width}x{height}", std::process::id()) };
        let command = format!("{} show {EXAMPLE} --interactive", env!("CARGO_BIN_EXE_cargo-raddle"));
        let (width, height) = (width.to_string(), height.to_string());
        let size = ["-x", &width, "-y", &height];
        let started =
            session.tmux(&[&["-f", "/dev/null", "new-session", "-d"], &size[..], &[&command]].concat());
        if started.is_none() {
            eprintln!("skipped: tmux is not installed (`apt-get install tmux`)");
        }
        started.map(|_| session)
    }

    fn tmux(&self, args: &[&str]) -> Option<String> {
        let output = Command::new("tmux").args(["-L", &self.socket]).args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    fn expect(&self, text: &str) {
        let begin = Instant::now();
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]).unwrap_or_default();
            if screen.contains(text) {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "no `{text}` on the screen:\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the command has ended.
    #[track_caller]
    fn expect_end(&self) {
        let begin = Instant::now();
        while self.tmux(&["list-sessions"]).is_some_and(|sessions| !sessions.is_empty()) {
            assert!(begin.elapsed() < Duration::from_secs(30), "the command does not end");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_failure_is_stepped_through_in_both_directions() {
    assert!(Path::new(EXAMPLE).exists());
    let Some(session) = Session::start(130, 34) else { return };
    session.expect("event 0 of 15");
    session.press(&["Right", "Right", "Right"]);
    session.expect("event 3 of 15");
    session.press(&["Left"]);
    session.expect("event 2 of 15");
    session.press(&["G"]);
    session.expect("event 14 of 15");
    session.press(&["Left", "w"]);
    session.expect("event 9 of 15");
    session.press(&["y"]);
    session.expect("where 1 comes from");
    session.press(&["Escape"]);
    session.press(&["q"]);
    session.expect_end();
}

#[test]
fn a_small_terminal_will_do() {
    let Some(session) = Session::start(40, 10) else { return };
    session.expect("event 0 of 15");
    session.press(&["?"]);
    session.expect("keys");
    session.press(&["q"]);
    session.expect_end();
}

#[test]
fn without_a_terminal_a_sentence_says_so() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-raddle"));
    let output = command.args(["show", EXAMPLE, "--interactive"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("`--interactive` needs a terminal"), "{error}");
}
