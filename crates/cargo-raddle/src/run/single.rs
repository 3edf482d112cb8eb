//! One test in its process: start it, listen to it, say what came of it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::child::{self, Running};
use super::progress::Progress;
use super::watchdog::Watchdog;
use super::{Contract, Finished, Settings, Verdict};
use crate::binary::TestBinary;
use crate::libtest::{HarnessOptions, ListedTest, strip_harness};
use crate::page;

/// Processes that a test left behind may keep its output open; it is not waited for longer than this.
const LEFTOVERS: Duration = Duration::from_millis(200);
/// How often the progress line of a silent test is brought up to date.
const TICK: Duration = Duration::from_millis(250);

/// Runs one test to its end.
pub(crate) fn run_one(
    binary: &TestBinary,
    test: &ListedTest,
    settings: &Settings,
    contract: &Contract,
    progress: &Progress,
) -> Finished {
    let began = Instant::now();
    if test.ignored {
        return Finished {
            verdict: Verdict::Ignored,
            output: String::new(),
            pages: Vec::new(),
            explored: Vec::new(),
            coverage: Vec::new(),
            time: began..began,
        };
    }
    let command = command_of(binary, test, settings, contract);
    let (mut failures, mut explored, mut coverage) = (Vec::new(), Vec::new(), Vec::new());
    let (verdict, output) = match child::start(command, !settings.nocapture) {
        Ok(running) => {
            let Listened { status, output, hung, failures: files, passed, covered, expected } =
                listen(running, &test.name, progress);
            (failures, explored, coverage) = (files, passed, covered);
            let output = String::from_utf8_lossy(&output).into_owned();
            match status {
                Some(status) if hung.is_some() && !status.success() => (Verdict::Failed(hung), output),
                Some(status) => (unless_missed(judge(status, binary.own_main), &expected), output),
                None => (Verdict::Failed(Some("the test's process was lost".into())), output),
            }
        }
        Err(error) => {
            let message = format!("cannot run `{}`: {error}", binary.executable.display());
            (Verdict::Failed(Some(message)), String::new())
        }
    };
    let mut output = if binary.own_main { output } else { strip_harness(&output, &test.name).to_owned() };
    let mut pages = Vec::new();
    if matches!(verdict, Verdict::Failed(_)) {
        for failure in &failures {
            output = match page::write_beside(failure, &settings.roots) {
                Ok(page) => {
                    let named = name_page(&output, failure, &page.display().to_string());
                    pages.push(page);
                    named
                }
                Err(error) => name_page(&output, failure, &format!("none: {error}")),
            };
        }
    }
    Finished { verdict, output, pages, explored, coverage, time: began..Instant::now() }
}

/// The command that runs one test.
pub(crate) fn command_of(
    binary: &TestBinary,
    test: &ListedTest,
    settings: &Settings,
    contract: &Contract,
) -> Command {
    let mut command = binary.command();
    if binary.own_main {
        contract.apply_to(&mut command, binary);
        command.args(&settings.own_main_args);
    } else {
        contract.apply_to_test(&mut command, binary, &test.name);
        command.args(HarnessOptions::run_args(&test.name));
    }
    command
}

/// The output of a test with a line on the page of a failure, below the line that says how to replay it.
fn name_page(output: &str, failure: &Path, page: &str) -> String {
    let file = failure.display().to_string();
    let mut named = String::new();
    let mut is_named = false;
    for line in output.split_inclusive('\n') {
        named.push_str(line);
        let plain = console::strip_ansi_codes(line);
        if !is_named && plain.starts_with("replay: ") && plain.contains(&file) {
            is_named = true;
            let label = if plain == line { "page:     " } else { "\x1b[1mpage:     \x1b[0m" };
            named.push_str(&format!("{label}{page}\n"));
        }
    }
    if !is_named {
        named.push_str(&format!("page:     {page}\n"));
    }
    named
}

/// Runs a command for one test and returns its output without the harness's lines.
pub(crate) fn run_quietly(command: Command, test: &str) -> io::Result<(ExitStatus, String)> {
    let running = child::start(command, true)?;
    let Listened { status, output, hung, .. } = listen(running, test, &Progress::new(false));
    let mut output = strip_harness(&String::from_utf8_lossy(&output), test).to_owned();
    output.extend(hung.map(|hung| format!("error: {hung}\n")));
    let status = status.ok_or_else(|| io::Error::other("its process was lost"))?;
    Ok((status, output))
}

/// How a process ended, in words.
pub(crate) fn describe_status(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let dumped = if status.core_dumped() { ", core dumped" } else { "" };
            format!("was killed by {}{dumped}", signal_name(signal))
        }
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// What the standard harness exits with when a test failed.
const HARNESS_FAILED: i32 = 101;

fn judge(status: ExitStatus, own_main: bool) -> Verdict {
    if status.success() {
        return Verdict::Passed;
    }
    let expected = status.code() == Some(HARNESS_FAILED) && !own_main;
    Verdict::Failed((!expected).then(|| format!("the test's process {}", describe_status(status))))
}

/// A test that passed fails if none of its explorations came by a condition that it expects to hold in some execution.
fn unless_missed(verdict: Verdict, expected: &BTreeMap<String, bool>) -> Verdict {
    let missed: Vec<&str> = expected.iter().filter(|(_, met)| !**met).map(|(what, _)| &**what).collect();
    match verdict {
        Verdict::Passed if !missed.is_empty() => {
            Verdict::Failed(Some(format!("never reached: {}", missed.join("; "))))
        }
        verdict => verdict,
    }
}

enum Heard {
    Output(Vec<u8>),
    OutputEnded,
    Progress(String),
    ProgressEnded,
    Exited(Option<ExitStatus>),
}

/// What was heard of a process.
struct Listened {
    status: Option<ExitStatus>,
    output: Vec<u8>,
    /// Set if it hung and was ended.
    hung: Option<String>,
    /// The files of the failures that it printed.
    failures: Vec<PathBuf>,
    /// What its explorations without failure have done.
    passed: Vec<String>,
    /// The code that they reached, as JSON.
    covered: Vec<String>,
    /// The conditions that the test expects to hold, and whether one of its explorations has seen that.
    expected: BTreeMap<String, bool>,
}

/// Collects output and follows progress until the process has ended.
fn listen(running: Running, name: &str, progress: &Progress) -> Listened {
    let Running { mut child, output, progress: progress_pipe } = running;
    let mut watchdog = Watchdog::of(child.id());
    let mut looked = Instant::now();
    let (sender, receiver) = mpsc::channel();
    let (mut open, mut reports) = (false, true);
    if let Some(pipe) = output {
        open = true;
        let sender = sender.clone();
        thread::spawn(move || read_output(pipe, &sender));
    }
    let progress_sender = sender.clone();
    thread::spawn(move || {
        // Read to the end even if nobody looks: a full pipe would stop the test.
        for line in BufReader::new(progress_pipe).lines().map_while(Result::ok) {
            let _ = progress_sender.send(Heard::Progress(line));
        }
        let _ = progress_sender.send(Heard::ProgressEnded);
    });
    thread::spawn(move || {
        let _ = sender.send(Heard::Exited(child.wait().ok()));
    });

    let mut line = progress.follow(name);
    let mut collected = Vec::new();
    let (mut failures, mut passed, mut covered) = (Vec::new(), Vec::new(), Vec::new());
    let mut expected = BTreeMap::new();
    let mut status = None;
    let mut exited = None;
    loop {
        let wait = exited.map_or(TICK, |at: Instant| LEFTOVERS.saturating_sub(at.elapsed()));
        match receiver.recv_timeout(wait) {
            Ok(Heard::Output(bytes)) => collected.extend(bytes),
            Ok(Heard::OutputEnded) => open = false,
            Ok(Heard::ProgressEnded) => reports = false,
            Ok(Heard::Progress(text)) => {
                if let Some(file) = text.strip_prefix("failure\t") {
                    failures.push(PathBuf::from(file));
                }
                passed.extend(text.strip_prefix("passed\t").map(str::to_owned));
                if let Some((met, what)) =
                    text.strip_prefix("expected\t").and_then(|rest| rest.split_once('\t'))
                {
                    *expected.entry(what.to_owned()).or_default() |= met == "1";
                }
                covered.extend(text.strip_prefix("coverage\t").map(str::to_owned));
                if watchdog.hear(&text) {
                    line.report(&text);
                }
            }
            Ok(Heard::Exited(how)) => {
                status = how;
                exited = Some(Instant::now());
            }
            Err(RecvTimeoutError::Timeout) if exited.is_some() => break,
            Err(RecvTimeoutError::Timeout) => line.tick(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // Also if it says the same again and again.
        if exited.is_none() && looked.elapsed() >= TICK {
            looked = Instant::now();
            watchdog.look();
        }
        if exited.is_some() && !open && !reports {
            break;
        }
    }
    Listened { status, output: collected, hung: watchdog.verdict(), failures, passed, covered, expected }
}

fn read_output(mut pipe: impl Read, sender: &Sender<Heard>) {
    let mut buffer = [0; 8192];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                if sender.send(Heard::Output(buffer[..length].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = sender.send(Heard::OutputEnded);
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT (abort)",
        libc::SIGBUS => "SIGBUS (bus error)",
        libc::SIGFPE => "SIGFPE (arithmetic error)",
        libc::SIGHUP => "SIGHUP (hangup)",
        libc::SIGILL => "SIGILL (illegal instruction)",
        libc::SIGINT => "SIGINT (interrupt)",
        libc::SIGKILL => "SIGKILL (kill)",
        libc::SIGPIPE => "SIGPIPE (broken pipe)",
        libc::SIGQUIT => "SIGQUIT (quit)",
        libc::SIGSEGV => "SIGSEGV (segmentation fault)",
        libc::SIGSYS => "SIGSYS (bad system call)",
        libc::SIGTERM => "SIGTERM (termination)",
        libc::SIGTRAP => "SIGTRAP (trap)",
        libc::SIGXCPU => "SIGXCPU (CPU time limit)",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_below_the_command_that_replays() {
        let file = Path::new("f/x.json");
        let output = "error: x\nreplay:   cargo raddle replay f/x.json\n\nmore\n";
        let expected = "error: x\nreplay:   cargo raddle replay f/x.json\npage:     f/x.html\n\nmore\n";
        assert_eq!(name_page(output, file, "f/x.html"), expected);
        let bold = "\x1b[1mreplay:   \x1b[0mcargo raddle replay f/x.json\n";
        assert!(name_page(bold, file, "p").ends_with("\n\x1b[1mpage:     \x1b[0mp\n"));
        assert_eq!(name_page("", file, "f/x.html"), "page:     f/x.html\n");
    }

    #[test]
    fn verdicts() {
        assert_eq!(judge(ExitStatus::from_raw(0), false), Verdict::Passed);
        assert_eq!(judge(ExitStatus::from_raw(101 << 8), false), Verdict::Failed(None));
        let Verdict::Failed(Some(message)) = judge(ExitStatus::from_raw(libc::SIGSEGV), false) else {
            panic!()
        };
        assert_eq!(message, "the test's process was killed by SIGSEGV (segmentation fault)");
        let Verdict::Failed(Some(message)) = judge(ExitStatus::from_raw(7 << 8), false) else { panic!() };
        assert!(message.contains("exit code 7"), "{message}");
    }
}
