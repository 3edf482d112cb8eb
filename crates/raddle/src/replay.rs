//! Replays of failure files.

use std::panic::Location;
use std::path::PathBuf;
use std::sync::OnceLock;

use raddle_engine::execution::Backend;
use raddle_engine::platform::debugger::Shared;
use raddle_engine::strategy::Scripted;
use raddle_engine::trace::{Namer, NoObserver, Observer, Trace};
use raddle_engine::{Config, Judge, Outcome, Schedule, Search};
use raddle_options::{list, paths};
use raddle_reflect::Program;
use raddle_report::{Failure, Kind, render};

use crate::alternatives;
use crate::build;
use crate::explain::{self, explain};
use crate::options::{Allocation, Also, Memory, is_on};
use crate::output::style;
use crate::search::attempt::{TRACE_LIMIT, record};
use crate::search::classifier::classifier;
use crate::search::reproduce::{self, Identity, around, reproduces, steps};
use crate::search::snapshots::Snapshots;
use crate::suppress::Suppressed;
use crate::suppressions::suppress;

/// Exit codes of a replay, as `cargo raddle replay` documents them.
pub(crate) const PASSED: i32 = 0;
const REPRODUCED: i32 = 1;
pub(crate) const REFUSED: i32 = 2;
pub(crate) const DIVERGED: i32 = 3;

/// A failure that is to be replayed.
pub(crate) struct Request {
    pub(crate) path: PathBuf,
    pub(crate) failure: Failure,
    force: bool,
}

impl Request {
    /// The memory model under which the failure was found.
    pub(crate) fn memory(&self) -> Memory {
        self.parse(self.failure.found_by.memory.as_deref(), Memory::Sc, "a memory model")
    }

    /// The treatment of freed memory with which the failure was found.
    pub(crate) fn allocation(&self) -> Allocation {
        self.parse(
            self.failure.found_by.allocation.as_deref(),
            Allocation::Quarantine,
            "a way to allocate memory",
        )
    }

    /// The extra behaviours with which the failure was found.
    pub(crate) fn also(&self) -> Vec<Also> {
        self.failure.found_by.also.as_deref().and_then(|also| list(also).ok()).unwrap_or_default()
    }

    /// The code that was declared to count references when the failure was found.
    pub(crate) fn reference_counts(&self) -> Vec<String> {
        self.failure.found_by.reference_counts.iter().flat_map(|counts| paths(counts)).collect()
    }

    fn parse<T: std::str::FromStr>(&self, text: Option<&str>, default: T, what: &str) -> T {
        match text.map_or(Ok(default), str::parse) {
            Ok(value) => value,
            Err(_) => end(
                REFUSED,
                &format!("error: {} names {what} that this Raddle does not have", self.path.display()),
            ),
        }
    }
}

/// The failure that `RADDLE_REPLAY` names. A file that cannot be used ends the process with one sentence.
pub(crate) fn requested() -> Option<&'static Request> {
    static REQUEST: OnceLock<Option<Request>> = OnceLock::new();
    let request = REQUEST.get_or_init(|| {
        let path = PathBuf::from(std::env::var_os("RADDLE_REPLAY")?);
        let failure = Failure::read(&path).unwrap_or_else(|error| end(REFUSED, &format!("error: {error}")));
        Some(Request { path, failure, force: is_on("RADDLE_FORCE") })
    });
    request.as_ref()
}

/// Replays a failure file, prints the result, and ends the process. `decorate` adds what the test knows and the engine does not.
pub(crate) fn replay(
    request: &Request,
    config: &Config,
    suppressed: &[Suppressed],
    at: &Location<'_>,
    run: &mut dyn FnMut(),
    judge: &mut Judge<'_>,
    decorate: &dyn Fn(&mut Failure),
) -> ! {
    let recorded = &request.failure;
    let program = Program::current().ok();
    let own = build::identity(program.as_ref());
    if own.id != recorded.build.id && !request.force {
        end(
            REFUSED,
            &format!(
                "error: {} was written by another build of {} (its code has changed since): run the test again, or \
                 replay it all the same with --force",
                request.path.display(),
                own.binary
            ),
        );
    }
    if is_on("RADDLE_ALTERNATIVES") {
        alternatives::find(request, config, suppressed, run, judge, decorate);
    }
    let schedule = reproduce::schedule(recorded);
    let mut search = Search::new(config, || Box::new(Scripted::new(Schedule::default())), classifier(config));
    search.suppress(|| suppress(suppressed, None));
    // The outcome decides which events are recorded. Under a debugger the execution is made only once.
    let trace = match config.backend {
        Backend::Coroutines => {
            let found = search.rerun(&schedule, run, judge);
            Trace::new(TRACE_LIMIT, found.steps).watching(&found.outcome)
        }
        Backend::OsThreads => Trace::new(TRACE_LIMIT, 0),
    };
    let limit_time = recorded.kind == Kind::TimeLimit;
    let (found, trace, snapshots) = match debugger() {
        None => record(&mut search, &schedule, run, judge, trace, limit_time),
        Some(shared) => {
            search.debug(shared, limit_time);
            // The debugger has the failure file, which has names and objects.
            let witnesses = (Box::new(|_: &_, _| None) as Namer, Box::new(NoObserver) as Box<dyn Observer>);
            let (found, trace) = search.replay(&schedule, run, judge, trace, witnesses, limit_time);
            (found, trace, Snapshots::default())
        }
    };
    drop(search);
    if found.outcome == Outcome::Passed {
        end(PASSED, "the replay passed: this build does not fail under the recorded schedule");
    }
    if explain::kind(&found.outcome).is_none() {
        let choice = match found.outcome {
            Outcome::Diverged { choice } => choice,
            _ => common_choices(&found.schedule.threads, recorded),
        };
        end(DIVERGED, &diverged(recorded, choice, &trace));
    }
    let mut failure = explain(&found, &trace, snapshots, program.as_ref(), build::test_name(at));
    decorate(&mut failure);
    failure.found_by = recorded.found_by.clone();
    failure.file = Some(request.path.clone());
    let text = render(&failure, style(), Some(&request.path));
    if reproduces(&Identity::of_failure(recorded), &Identity::of_failure(&failure)) {
        end(REPRODUCED, &text);
    }
    let choice = common_choices(&found.schedule.threads, recorded);
    end(DIVERGED, &format!("{text}\n{}", diverged(recorded, choice, &trace)))
}

/// What is shared with the debugger, by the file that `RADDLE_DEBUGGER` names, if `cargo raddle debug` goes through the execution.
fn debugger() -> Option<Shared> {
    let path = std::env::var("RADDLE_DEBUGGER").ok()?;
    let shared = Shared::open(&path);
    Some(shared.unwrap_or_else(|| end(REFUSED, &format!("error: {path} is not the file of a debugger"))))
}

/// The number of choices that a replay has in common with the recorded execution.
fn common_choices(threads: &[u16], recorded: &Failure) -> usize {
    threads.iter().zip(&recorded.schedule.0).take_while(|(now, then)| now == then).count()
}

/// The message for a replay that parted from the recorded execution.
fn diverged(recorded: &Failure, choice: usize, trace: &Trace) -> String {
    let (kept, now) = (recorded.trace.events.iter(), steps(trace));
    let kept: Vec<_> = kept.filter(|event| !event.is_plain_write()).collect();
    let parted = kept
        .iter()
        .zip(&now)
        .position(|(old, new)| old.thread != u32::from(new.thread))
        .unwrap_or(kept.len().min(now.len()));
    let from = parted.saturating_sub(3);
    let old: Vec<String> =
        kept[from..].iter().take(6).map(|event| format!("  T{} {:?}", event.thread, event.action)).collect();
    format!(
        "error: the replay parted from the recorded execution (at choice {choice}, event {parted}): the program behaves \
         differently now, or is not deterministic.\nrecorded:\n{}\nnow:\n{}",
        old.join("\n"),
        around(&now, parted)
    )
}

/// Prints a text and ends the process.
pub(crate) fn end(code: i32, text: &str) -> ! {
    eprintln!("{text}");
    std::process::exit(code)
}
