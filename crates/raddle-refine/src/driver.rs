//! What a generated driver does: it reads a schema, has it run, and prints the verdict as a line of JSON.
//!
//! A driver is a test binary with a `main` of its own. Its argument `schema_7` tries the schema on line 7 of a file beside its manifest, and
//! `violation_7` fails with the first execution of it that has an unexpected outcome. Lines are only ever added to the file, so that these
//! names, which failure files contain, keep their meaning.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::backend::BackEnd;
use crate::schema::Schema;
use crate::shown::Shown;
use crate::subject::Subject;
use crate::verdict::{Judge, Verdict, validate};

/// The file of schemas.
pub const SCHEMAS: &str = "schemas.txt";
/// What a line with a verdict begins with.
pub const PREFIX: &str = "raddle-refine: ";
/// A call that takes longer than this in a sequential run is taken to wait for ever.
const SEQUENTIAL_LIMIT: Duration = Duration::from_secs(5);

/// Does what the argument of the program says.
pub fn main(observe: impl FnOnce(usize), violation: impl FnOnce(usize), expected: impl FnOnce(usize)) {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.split_once('_').map(|(what, line)| (what, line.parse())) {
        Some(("schema", Ok(line))) => observe(line),
        Some(("violation", Ok(line))) => violation(line),
        Some(("expected", Ok(line))) => expected(line),
        _ => println!(
            "this is a driver of `cargo raddle validate`, which tells it what to do: schema_0, violation_0"
        ),
    }
}

/// Tries the schema of a line and prints what came of it.
pub fn observe<T: Send + Sync + 'static>(
    directory: &str,
    line: usize,
    subject: Subject<T>,
    back_end: &mut dyn BackEnd<T>,
) {
    quiet_panics();
    let schema = schema(directory, line);
    let (subject, watch) = watched(subject, &schema);
    let mut judged = Watched { back_end, watch: Some(watch) };
    let validated = catch_unwind(AssertUnwindSafe(|| validate(&subject, &schema, &mut judged)));
    // The panic of a call is a result. Another one is a back end that cannot go on, and its message is the only one that says so.
    let verdict = validated.unwrap_or_else(|payload| {
        let message = Shown::panicked(&*payload);
        Verdict::problem(&schema.to_string(), message.as_str().trim_start_matches("panic: "))
    });
    // What comes after the executions is sequential, too, but all of it has been run before or is as harmless.
    print(&verdict);
}

/// Prints what is expected of the schema of a line, without running it.
pub fn print_expected<T: Send + Sync + 'static>(directory: &str, line: usize, subject: Subject<T>) {
    quiet_panics();
    let text = schema(directory, line);
    let (subject, _watch) = watched(subject, &text);
    let verdict = match Judge::new(&subject, &text) {
        Ok(judge) => Verdict { expected: judge.expected(), schema: text.to_string(), ..Verdict::default() },
        Err(problem) => Verdict::problem(&text.to_string(), problem),
    };
    print(&verdict);
}

/// The schema of a line, and whether it expects an outcome: what a test needs that fails at the first one that is not expected.
pub fn expect<T: Send + Sync + 'static, R>(
    directory: &str,
    line: usize,
    subject: Subject<T>,
    explore: impl FnOnce(&Arc<Subject<T>>, &Judge<'_, T>) -> R,
) -> R {
    let schema = schema(directory, line);
    let (subject, watch) = watched(subject, &schema);
    match Judge::new(&subject, &schema) {
        Ok(judge) => {
            drop(watch);
            explore(&subject, &judge)
        }
        Err(problem) => panic!("{problem}"),
    }
}

/// Prints a verdict for the command to read.
pub fn print(verdict: &Verdict) {
    let json = serde_json::to_string(verdict).expect("texts and numbers can be written as JSON");
    println!("{PREFIX}{json}");
}

/// The verdict in a driver's output.
pub fn parse(output: &str) -> Option<Verdict> {
    parse_all(output).into_iter().next()
}

/// All verdicts in an output.
pub fn parse_all(output: &str) -> Vec<Verdict> {
    let lines = output.lines().filter_map(|line| Some(line.split_once(PREFIX)?.1));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn schema(directory: &str, line: usize) -> Schema {
    let path = Path::new(directory).join(SCHEMAS);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    match text.lines().nth(line).map(str::parse) {
        Some(Ok(schema)) => schema,
        Some(Err(error)) => panic!("line {line} of {}: {error}", path.display()),
        None => panic!("{} has no line {line}", path.display()),
    }
}

/// A panic is a result like others: nothing is printed about it.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| ()));
}

/// A back end that is called once the sequential runs are over.
struct Watched<'a, T> {
    back_end: &'a mut dyn BackEnd<T>,
    watch: Option<Watch>,
}

impl<T> BackEnd<T> for Watched<'_, T> {
    fn observe(
        &mut self,
        subject: &Arc<Subject<T>>,
        schema: &crate::Numbered,
    ) -> Result<crate::Observed, String> {
        // The thread must be gone: explorations own their process.
        drop(self.watch.take());
        self.back_end.observe(subject, schema)
    }
}

/// A subject whose calls are noted while it is watched.
fn watched<T: Send + Sync + 'static>(subject: Subject<T>, schema: &Schema) -> (Arc<Subject<T>>, Watch) {
    let note = Note::default();
    let subject = subject.noting(note.clone());
    (Arc::new(subject), Watch::start(note, schema.to_string()))
}

/// Ends the process with a verdict if a sequential run hangs.
struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How many constructors and calls of sequential runs have begun, and which one runs: nothing between runs, no text for a constructor.
pub(crate) type Note = Arc<Mutex<(u64, Option<String>)>>;

impl Watch {
    fn start(note: Note, schema: String) -> Watch {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut last = 0;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(SEQUENTIAL_LIMIT) {
                let (number, running) = note.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let (Some(call), true) = (running, number == last) {
                    let what = match call.is_empty() {
                        true => "the constructor did not return".to_owned(),
                        false => format!("`{call}` did not return in a sequential run"),
                    };
                    let limit = SEQUENTIAL_LIMIT.as_secs();
                    let problem = format!("{what} within {limit} s: leave out calls that wait for others");
                    print(&Verdict::problem(&schema, problem));
                    std::process::exit(0);
                }
                last = number;
            }
        });
        Watch { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How long each schema is tried: `REFINEMENT_MILLISECONDS`, or a second.
pub fn time_per_test() -> Duration {
    let value = std::env::var("REFINEMENT_MILLISECONDS").ok().and_then(|value| value.parse().ok());
    Duration::from_millis(value.unwrap_or(1000))
}

/// The seed of random choices: `REFINEMENT_SEED`, or 0.
pub fn seed() -> u64 {
    std::env::var("REFINEMENT_SEED").ok().and_then(|value| value.parse().ok()).unwrap_or(0)
}
