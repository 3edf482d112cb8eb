//! Canaries that are compiled while the tests are.
//!
//! The wrapper notes how a test is compiled before the compiler begins. Every library of the test is there by then, so the canary of this
//! way to compile can be made while the test is. Cargo does not say when that is: the notes are looked at from time to time.
//!
//! What is made here saves time and decides nothing. A canary that cannot be compiled, or whose key has changed by the end of the build, is
//! compiled again by [`check`](super::check).

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use super::{Canary, Compiled, note};
use crate::session::Session;

/// How often the notes are looked at: often, compared with the time that a test takes to compile.
const PERIOD: Duration = Duration::from_millis(20);

/// Builds tests, and compiles the canaries of those that are compiled meanwhile.
pub(crate) fn build_beside<T>(session: &Session, build: impl FnOnce() -> T) -> (T, Compiled) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let canaries = scope.spawn(|| compile_until(session, &ended));
        let end = OnDrop(&ended);
        let built = build();
        drop(end);
        (built, canaries.join().unwrap_or_default())
    })
}

/// Ends the watch also where the build panics: the scope waits for its threads.
struct OnDrop<'e>(&'e AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn compile_until(session: &Session, ended: &AtomicBool) -> Compiled {
    let mut compiled = Compiled::new();
    let (mut seen, mut tried) = (notes(session), BTreeSet::new());
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(PERIOD);
        let now = notes(session);
        for (path, _) in now.difference(&seen) {
            let Some(canary) = Canary::like(path) else { continue };
            let Ok(key) = canary.key(session) else { continue };
            if note(session, &key).exists() || !tried.insert(key.clone()) {
                continue;
            }
            if let Ok(Ok(program)) = canary.compile(session) {
                compiled.insert(key, program);
            }
        }
        seen = now;
    }
    compiled
}

/// The notes of command lines, each with the time of its last change.
fn notes(session: &Session) -> BTreeSet<(PathBuf, Option<SystemTime>)> {
    let files = fs::read_dir(&session.command_lines).into_iter().flatten().flatten();
    let changed = |file: &fs::DirEntry| file.metadata().and_then(|data| data.modified()).ok();
    files.map(|file| (file.path(), changed(&file))).collect()
}
