//! One test in its process: start it, listen to it, say what came of it.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
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
        return Finished { verdict: Verdict::Ignored, output: String::new(), time: began..began };
    }
    let mut command = binary.command();
    if binary.own_main {
        contract.apply_to(&mut command, binary);
        command.args(&settings.own_main_args);
    } else {
        contract.apply_to_test(&mut command, binary, &test.name);
        command.args(HarnessOptions::run_args(&test.name));
    }
    let (verdict, output) = match child::start(command, !settings.nocapture) {
        Ok(running) => {
            let Listened { status, output, hung } = listen(running, &test.name, progress);
            let output = String::from_utf8_lossy(&output).into_owned();
            match status {
                Some(status) if hung.is_some() && !status.success() => (Verdict::Failed(hung), output),
                Some(status) => (judge(status, binary.own_main), output),
                None => (Verdict::Failed(Some("the test's process was lost".into())), output),
            }
        }
        Err(error) => {
            let message = format!("cannot run `{}`: {error}", binary.executable.display());
            (Verdict::Failed(Some(message)), String::new())
        }
    };
    let output = if binary.own_main { output } else { strip_harness(&output, &test.name).to_owned() };
    Finished { verdict, output, time: began..Instant::now() }
}

/// Runs a command for one test and returns its output without the harness's lines.
pub(crate) fn run_quietly(command: Command, test: &str) -> io::Result<(ExitStatus, String)> {
    let running = child::start(command, true)?;
    let Listened { status, output, hung } = listen(running, test, &Progress::new(false));
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

enum Heard {
    Output(Vec<u8>),
    OutputEnded,
    Progress(String),
    Exited(Option<ExitStatus>),
}

/// What was heard of a process.
struct Listened {
    status: Option<ExitStatus>,
    output: Vec<u8>,
    /// Set if it hung and was ended.
    hung: Option<String>,
}

/// Collects output and follows progress until the process has ended.
fn listen(running: Running, name: &str, progress: &Progress) -> Listened {
    let Running { mut child, output, progress: progress_pipe } = running;
    let mut watchdog = Watchdog::of(child.id());
    let mut looked = Instant::now();
    let (sender, receiver) = mpsc::channel();
    let mut open = false;
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
    });
    thread::spawn(move || {
        let _ = sender.send(Heard::Exited(child.wait().ok()));
    });

    let mut line = progress.follow(name);
    let mut collected = Vec::new();
    let mut status = None;
    let mut exited = None;
    loop {
        let wait = exited.map_or(TICK, |at: Instant| LEFTOVERS.saturating_sub(at.elapsed()));
        match receiver.recv_timeout(wait) {
            Ok(Heard::Output(bytes)) => collected.extend(bytes),
            Ok(Heard::OutputEnded) => open = false,
            Ok(Heard::Progress(text)) => {
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
        if exited.is_some() && !open {
            break;
        }
    }
    Listened { status, output: collected, hung: watchdog.verdict() }
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
