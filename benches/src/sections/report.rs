//! The report of a large failure: recorded by the engine, written, read, asked and made a page of here, and looked at in a browser.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use raddle_report::Failure;
use raddle_report::failure::Trace;
use raddle_report::html::{Sources, page};
use raddle_report::query::{Index, Question};

use crate::cell::{Bench, Side, Values, command};
use crate::table::{Table, count, none, verdict};

const EVENTS: usize = 10_000;

/// Milliseconds: of a snapshot after each event, of the report without the search, and of a question.
const GOAL_EVENT: f64 = 1.0;
const GOAL_REPORT: f64 = 1000.0;
const GOAL_QUESTION: f64 = 50.0;
/// MiB: of the failure file, of the page, and of the page without data.
const GOAL_SIZE: f64 = 5.0;
const GOAL_EMPTY: f64 = 300.0 / 1024.0;
/// Milliseconds: of a frame at 60 frames a second.
const GOAL_FRAME: f64 = 1000.0 / 60.0;

/// What drives the browser, as `cargo xtask page-test` installs it.
const PLAYWRIGHT: &str = "target/tmp/browser/node_modules/playwright-core/index.js";
const BROWSERS: [&str; 2] = ["chromium", "google-chrome"];

/// Measures and prints.
pub(crate) fn print(bench: &Bench) {
    let title = format!("the report of a failure of {EVENTS} events (times in ms, sizes in MiB)");
    let table = Table::new(&title, &[("figure", 10), ("goal", 7), ("", 6), ("part", 0)]);
    let row = |value: Option<f64>, goal: Option<f64>, part: &str| {
        let met = goal.map(|goal| verdict(value.map(|value| value <= goal)));
        let goal = goal.map_or_else(String::new, figure);
        table.row(&[value.map_or_else(none, figure), goal, met.unwrap_or_default(), part.to_owned()]);
    };
    let directory = std::env::temp_dir().join(format!("raddle-report-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be written to");
    let run = command(Side::Unoptimised, &["report", &EVENTS.to_string()], directory.display());
    let recorded = bench.medians(&[run], |values| values.get("failing"));
    let recorded = recorded.first().and_then(Option::as_ref);
    let ms = |name: &str| Some(recorded?.get(name)? * 1e3);
    let events = recorded.and_then(|values| values.get("events"));
    let recording = (|| Some(ms("failing")? - ms("passing")?))();
    row(ms("passing"), None, "the search, if nothing fails");
    row(recording, None, "the replays of the failure, with stacks, names and snapshots");
    row((|| Some(recording? / events?))(), Some(GOAL_EVENT), "the same for each event");
    let file = files(&directory).pop();
    let measured = file.as_deref().and_then(|file| measure(bench, file));
    let part = |part: fn(&Measured) -> f64| measured.as_ref().map(part);
    row(ms("writing"), None, "writing the failure file");
    row(part(|measured| measured.reading), None, "reading it");
    row(part(|measured| measured.page), None, "making the page");
    let all = || Some(ms("writing")? + measured.as_ref()?.reading + measured.as_ref()?.page);
    row(all(), Some(GOAL_REPORT), "the report: all three");
    row(recorded.and_then(|values| Some(values.get("bytes")? / MIB)), Some(GOAL_SIZE), "the failure file");
    row(part(|measured| measured.page_size), Some(GOAL_SIZE), "the page");
    row(part(|measured| measured.empty_size), Some(GOAL_EMPTY), "the page without data");
    row(
        recorded.and_then(|values| Some(values.get("rss")? / 1024.0)),
        None,
        "the memory that recording takes",
    );
    row(part(|measured| measured.index), None, "the index for questions, once");
    row(part(|measured| measured.question), Some(GOAL_QUESTION), "the slowest of the questions");
    match part(|measured| measured.page_size).and_then(|_| browse(&directory.join(PAGE))) {
        Some(browsed) => {
            row(browsed.get("opened"), None, "opening the page in a browser");
            row(browsed.get("frame"), Some(GOAL_FRAME), "a frame of it while time runs, the state in front");
            row(browsed.get("asked"), Some(GOAL_QUESTION), "the slowest of its questions");
        }
        None => println!("the page was not measured: that needs Chromium, Node and `cargo xtask page-test`"),
    }
    let objects = recorded.and_then(|values| values.get("objects"));
    println!("{} events are recorded, and {} objects", count(events), count(objects));
    std::fs::remove_dir_all(&directory).ok();
}

const MIB: f64 = 1024.0 * 1024.0;

/// The name of the page.
const PAGE: &str = "page.html";

/// Milliseconds, and the sizes of the page in MiB.
struct Measured {
    reading: f64,
    page: f64,
    page_size: f64,
    empty_size: f64,
    index: f64,
    question: f64,
}

fn measure(bench: &Bench, file: &Path) -> Option<Measured> {
    let timed = |work: &mut dyn FnMut()| {
        let mut times: Vec<f64> = (0..bench.times)
            .map(|_| {
                let begin = Instant::now();
                work();
                begin.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let failure = Failure::read(file).ok()?;
    let reading = timed(&mut || drop(Failure::read(file)));
    let sources = Sources::of(&failure, |_| None);
    let mut page_size = 0;
    let making = timed(&mut || page_size = page(&failure, &sources).len());
    std::fs::write(file.with_file_name(PAGE), page(&failure, &sources)).ok()?;
    let empty_size = page(&empty(&failure), &Sources::default()).len();
    let making_index = timed(&mut || drop(Index::of(&failure)));
    let index = Index::of(&failure);
    let last = failure.trace.events.len() as u32 - 1;
    let place = failure.trace.events.iter().find_map(|event| event.action.place()?.name.clone());
    let mut questions = vec![
        Question::Before { event: last },
        Question::Order { first: last / 2, second: last },
        Question::Why { target: String::new() },
        Question::Why { target: (last - 10).to_string() },
        Question::When { condition: "list.head.value > 1".to_owned() },
    ];
    questions.extend(place.map(|location| Question::Accesses { location }));
    let question = questions.iter().map(|question| timed(&mut || drop(index.answer(question))));
    Some(Measured {
        reading,
        page: making,
        page_size: page_size as f64 / MIB,
        empty_size: empty_size as f64 / MIB,
        index: making_index,
        question: question.fold(0.0, f64::max),
    })
}

/// The failure without what happened.
fn empty(failure: &Failure) -> Failure {
    let mut empty = failure.clone();
    empty.trace = Trace::default();
    empty.objects = None;
    empty
}

/// Opens the page in a browser and goes through it. None if there is no browser, or nothing to drive it.
fn browse(page: &Path) -> Option<Values> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let playwright = root.join(PLAYWRIGHT);
    let path = std::env::var_os("PATH")?;
    let find = |name: &&str| {
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
    };
    let browser =
        std::env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| BROWSERS.iter().find_map(find))?;
    let output = Command::new(find(&"node")?)
        .arg(root.join("crates/raddle-report/tests/browser/measure.mjs"))
        .envs([("PAGE", page), ("CHROMIUM", &browser), ("PLAYWRIGHT", &playwright)])
        .output()
        .ok()?;
    output.status.success().then(|| Values::of(&output.stdout))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).into_iter().flatten();
    files.filter_map(|file| Some(file.ok()?.path())).collect()
}

fn figure(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.0}") }
}
