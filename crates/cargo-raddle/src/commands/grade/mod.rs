//! `cargo raddle grade`: submissions of a course, built and tested in isolation.
//!
//! | file | idea |
//! |---|---|
//! | `prepare` | the shared build, and what the grader needs of it |
//! | `crew` | workers that grade, a bar that shows how far they are |

mod crew;
mod prepare;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use raddle_grade::course::Course;
use raddle_grade::gradebook::{Gradebook, Status};
use raddle_grade::interrupt;
use raddle_grade::submission::{self, Submission};
use raddle_grade::writers::{self, Folder, Writer};

use self::crew::Crew;
use self::prepare::Prepared;
use crate::error::{Error, Result, exit};
use crate::terminal::{Style, Terminal};

/// `cargo raddle grade`
#[derive(Args, Debug)]
pub(crate) struct GradeArgs {
    /// The description of the assignment: course.toml
    pub(crate) course: PathBuf,
    /// The directory of submissions, a folder or file for each
    pub(crate) submissions: PathBuf,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "grades")]
    pub(crate) out: PathBuf,
    /// How many submissions are graded at once
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) jobs: Option<u32>,
    /// Grade only submissions of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Write only these formats: markdown, html, gradescope, junit, csv, jsonl, summary
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) format: Vec<String>,
    /// Refuse to grade where the isolation is not complete
    #[arg(long)]
    pub(crate) strict: bool,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) target_dir: Option<PathBuf>,
    /// Run without accessing the network
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) output: crate::cargo::options::Output,
}

/// The part of `grade --help` that explains the exit codes.
pub(crate) const HELP: &str = "\
Exit codes:
  0    every submission was graded, whatever its points
  1    some submission could not be graded for a reason that is not its own
  2    usage error, a mistake in course.toml, a reference solution that does not pass, or isolation that
       --strict asks for and the machine does not have
  101  the course's package does not build
  130  interrupted; the same command goes on where this one ended";

/// What a command that Ctrl-C ended returns.
const INTERRUPTED: u8 = 130;
/// The name of the reference solution among the results that are kept.
const REFERENCE: &str = "the reference solution";

/// Grades submissions.
pub(crate) fn grade(args: GradeArgs) -> Result<u8> {
    let terminal = Terminal::new(&args.output);
    let course = Course::read(&args.course).map_err(Error::usage)?;
    let writers = selected(&args.format)?;
    let found = submission::find(&args.submissions).map_err(Error::file("read", &args.submissions))?;
    let chosen = choose(found, &args)?;
    let stop = interrupt::catch();
    let out = absolute(&args.out)?;
    let state = out.join(".raddle");
    fs::create_dir_all(&state).map_err(Error::file("create", &state))?;
    let _lock = lock(&state)?;

    let prepared = prepare::prepare(course, &args, &state, stop)?;
    let not_isolated = state_isolation(&prepared, &args, &terminal)?;
    check_reference(&prepared)?;

    let began = Instant::now();
    let crew = Crew {
        grader: &prepared.grader,
        terminal: &terminal,
        jobs: jobs(args.jobs),
        quiet: args.output.quiet,
    };
    let result = crew.grade(&chosen)?;
    let grader = &prepared.grader;
    let work = grader.work.clone();
    fs::remove_dir_all(&work).or_else(ignore_missing).map_err(Error::file("remove", &work))?;
    if result.interrupted {
        let (done, all) = (result.grades.len(), chosen.len());
        eprintln!("interrupted: {done} of {all} submissions are graded; run the same command again to go on");
        return Ok(INTERRUPTED);
    }

    let book = Gradebook {
        title: grader.course.title.clone(),
        seed: grader.course.seed,
        grades: result.grades,
        not_isolated,
    };
    let folder = Folder::new(out.clone());
    for writer in &writers {
        writer.write(&book, &folder).map_err(Error::file("write", &out))?;
    }
    let failed = book.grades.iter().filter(|grade| matches!(grade.status, Status::GraderFailed(_))).count();
    let text = format!(
        "{} submissions in {:.1} s, {} of them unchanged since the last time: {}",
        book.grades.len(),
        began.elapsed().as_secs_f64(),
        result.unchanged,
        out.join("index.html").display()
    );
    println!("{}", terminal.status("Graded", &text));
    if failed > 0 {
        let error = terminal.paint(Style::Error, "error");
        eprintln!(
            "{error}: {failed} submissions could not be graded, for no fault of theirs: run the command again"
        );
        return Ok(exit::FAILED);
    }
    Ok(exit::PASSED)
}

fn selected(names: &[String]) -> Result<Vec<Box<dyn Writer>>> {
    let all = writers::all();
    let known: Vec<&str> = all.iter().map(|writer| writer.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::usage(format_args!(
            "unknown format `{unknown}`: choose among {}",
            known.join(", ")
        )));
    }
    Ok(all
        .into_iter()
        .filter(|writer| names.is_empty() || names.iter().any(|name| name == writer.name()))
        .collect())
}

fn choose(found: Vec<Submission>, args: &GradeArgs) -> Result<Vec<Submission>> {
    if let Some(missing) = args.only.iter().find(|name| !found.iter().any(|one| one.name == **name)) {
        let directory = args.submissions.display();
        return Err(Error::usage(format_args!("there is no submission `{missing}` in `{directory}`")));
    }
    let chosen: Vec<Submission> =
        found.into_iter().filter(|one| args.only.is_empty() || args.only.contains(&one.name)).collect();
    if chosen.is_empty() {
        let directory = args.submissions.display();
        let message = format!(
            "there is no submission in `{directory}`: it should have a folder or a `.rs` file for each"
        );
        return Err(Error::usage(message));
    }
    Ok(chosen)
}

/// Says what is not isolated, and returns it.
fn state_isolation(prepared: &Prepared, args: &GradeArgs, terminal: &Terminal) -> Result<Vec<String>> {
    let missing = prepared.grader.sandbox.isolation().missing();
    let sentences: Vec<String> =
        missing.iter().map(|part| format!("without {}, a submission {}", part.name, part.without)).collect();
    if args.strict && !sentences.is_empty() {
        return Err(Error::usage(format_args!(
            "--strict: this machine does not isolate: {}",
            sentences.join("; ")
        )));
    }
    for sentence in &sentences {
        eprintln!("{}: not isolated: {sentence}", terminal.paint(Style::Warn, "warning"));
    }
    let present = prepared.grader.sandbox.isolation().present();
    if !present.is_empty() && !args.output.quiet {
        let names: Vec<&str> = present.iter().map(|part| part.name).collect();
        eprintln!("{}", terminal.status("Isolated", &format!("by {}", names.join(", "))));
    }
    Ok(sentences)
}

/// A course whose own solution fails would fail everybody.
fn check_reference(prepared: &Prepared) -> Result<()> {
    let reference = Submission { name: REFERENCE.to_owned(), path: prepared.reference.clone() };
    let grader = &prepared.grader;
    let grade = match grader.known(&reference) {
        Some(grade) => Some(grade),
        None => grader.grade(&reference, 0).map_err(Error::file("write", &prepared.reference))?,
    };
    let Some(grade) = grade else { return Ok(()) };
    if let Some(remark) = grade.remark() {
        let more = if let Status::DoesNotCompile(messages) = &grade.status { messages.as_str() } else { "" };
        return Err(Error::usage(format_args!(
            "{REFERENCE} is not accepted, so no other can be: {remark} {more}"
        )));
    }
    let failed: Vec<String> = grade
        .tests
        .iter()
        .filter(|test| test.kind().is_some())
        .map(|test| format!("`{}`: {}", test.name, test.sentence()))
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::usage(format_args!("{REFERENCE} does not pass, so no other can: {}", failed.join("; "))))
}

/// Keeps two graders from working in one directory.
fn lock(state: &Path) -> Result<File> {
    let path = state.join("lock");
    let file = File::create(&path).map_err(Error::file("create", &path))?;
    file.try_lock().map_err(|_| {
        let directory = state.parent().unwrap_or(state).display();
        Error::usage(format_args!(
            "somebody else is grading into `{directory}`: wait, or choose another --out"
        ))
    })?;
    Ok(file)
}

fn jobs(asked: Option<u32>) -> u32 {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::file("find", path))
}

fn ignore_missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
