//! The supervisor and the init process of a sandbox: A and B of the picture in the module above.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::limits;
use super::namespace;
use super::spec::{Ending, Limit, Outcome, Spec};
use super::watch::{self, Usage};

/// The argument that makes an executable a supervisor.
pub const ARGUMENT: &str = "__raddle-sandbox";
/// The second argument of a program that is only started to see whether it can be.
pub(super) const NOTHING: &str = "nothing";

/// How often the usage of a program is looked at.
const TICK: Duration = Duration::from_millis(15);
/// Bytes of a channel that are kept. What is longer was not written by Raddle.
const CHANNEL: usize = 1 << 20;
/// Files of results that are read.
const FILES: usize = 64;

/// Whether this process was started to be a supervisor.
pub fn is_supervisor(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|arg| arg == ARGUMENT)
}

/// Is a supervisor: reads a specification from standard input, writes the outcome to standard output.
pub fn supervise() -> ExitCode {
    if std::env::args().nth(2).as_deref() == Some(NOTHING) {
        return ExitCode::SUCCESS;
    }
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A: enters the namespaces and waits for B.
fn start() -> io::Result<()> {
    die_with_parent();
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    let spec: Spec = serde_json::from_slice(&text).map_err(io::Error::other)?;
    for group in &spec.groups {
        // This process enters, too; it is small, and the groups are for one program only.
        fs::write(group, "0")?;
    }
    namespace::enter(&spec).map_err(|error| io::Error::other(format!("no namespaces: {error}")))?;
    // SAFETY: this process has one thread, so the child may go on as if it were this process.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            die_with_parent();
            let code = match init(&spec).and_then(|outcome| answer(&outcome)) {
                Ok(()) => 0,
                Err(error) => {
                    eprintln!("{error}");
                    1
                }
            };
            std::process::exit(code)
        }
        init => {
            let mut status = 0;
            // SAFETY: waits for the child made above; the pointer is to a local number.
            while unsafe { libc::waitpid(init, &mut status, 0) } == -1 {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            let status = ExitStatus::from_raw(status);
            if status.success() { Ok(()) } else { Err(io::Error::other(format!("init: {status}"))) }
        }
    }
}

fn answer(outcome: &Outcome) -> io::Result<()> {
    let text = serde_json::to_vec(outcome).map_err(io::Error::other)?;
    let mut stdout = io::stdout();
    stdout.write_all(&text)?;
    stdout.flush()
}

/// B: runs the program and watches it.
fn init(spec: &Spec) -> io::Result<Outcome> {
    // Processes whose parents have ended become children of this one also where it is not process 1.
    // SAFETY: takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    if spec.isolation.files {
        namespace::build(spec).map_err(|error| io::Error::other(format!("no file system: {error}")))?;
    }
    let (output, writer) = io::pipe()?;
    let mut channels = Vec::new();
    for name in &spec.channels {
        channels.push((name.clone(), io::pipe()?));
    }
    let mut command = command(spec, &writer, &channels)?;
    let began = Instant::now();
    let child = command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot run `{}`: {error}", spec.program.display()))
    })?;
    drop((command, writer));
    let mut streams = vec![Stream::new(output, usize::try_from(spec.limits.output).unwrap_or(usize::MAX))?];
    for (_, (reader, writer)) in channels {
        drop(writer);
        streams.push(Stream::new(reader, CHANNEL)?);
    }
    let (ending, usage) = watch_over(child.id() as i32, spec, &mut streams, began);
    let wall = began.elapsed();
    end_descendants();
    for stream in &mut streams {
        stream.read();
    }
    let mut texts = streams.into_iter().map(|stream| String::from_utf8_lossy(&stream.kept).into_owned());
    Ok(Outcome {
        ending,
        wall,
        cpu: usage.cpu.max(watch::of_children()),
        memory: usage.memory,
        processes: usage.processes,
        output: texts.next().unwrap_or_default(),
        channels: spec.channels.iter().cloned().zip(texts).collect(),
        results: match &spec.results {
            Some(directory) => read_results(directory),
            None => BTreeMap::new(),
        },
    })
}

fn command(
    spec: &Spec,
    output: &PipeWriter,
    channels: &[(String, (PipeReader, PipeWriter))],
) -> io::Result<Command> {
    let descriptors: Vec<RawFd> = channels.iter().map(|(_, (_, writer))| writer.as_raw_fd()).collect();
    let fill = |text: &str| {
        let names = channels.iter().zip(&descriptors);
        names.fold(text.to_owned(), |text, ((name, _), fd)| {
            text.replace(&format!("{{{name}}}"), &fd.to_string())
        })
    };
    let mut command = Command::new(&spec.program);
    command.args(spec.args.iter().map(|arg| fill(arg))).current_dir(&spec.directory);
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, fill(value))));
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let limits = spec.limits.clone();
    let user = (spec.isolation.user && namespace::is_root()).then_some(spec.user);
    if let Some(user) = user {
        for (_, (_, writer)) in channels {
            // The program may open its end again, by its name in `/proc`.
            std::os::unix::fs::fchown(writer, Some(user), Some(user))?;
        }
    }
    let own_user = spec.isolation.user;
    // SAFETY: the closure makes system calls only.
    unsafe {
        command.pre_exec(move || {
            die_with_parent();
            libc::setsid();
            be_ended_first();
            for descriptor in &descriptors {
                check(libc::fcntl(*descriptor, libc::F_SETFD, 0))?;
            }
            // Raddle compares addresses between executions of one program; containers may forbid this, which is no error.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            if let Some(user) = user {
                check(libc::setgroups(0, std::ptr::null()))?;
                check(libc::setresgid(user, user, user))?;
                check(libc::setresuid(user, user, user))?;
            }
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            limits::apply(&limits, own_user)
        });
    }
    Ok(command)
}

/// Waits for the program, and ends it when it uses too much.
fn watch_over(child: i32, spec: &Spec, streams: &mut [Stream], began: Instant) -> (Ending, Usage) {
    let mut most = Usage::default();
    let mut looked = Instant::now();
    loop {
        wait_for_output(streams);
        for stream in streams.iter_mut() {
            stream.read();
        }
        if let Some(status) = reap(child) {
            return (ending(status, most, spec), most);
        }
        let mut exceeded = None;
        if looked.elapsed() >= TICK {
            looked = Instant::now();
            let usage = watch::look();
            most = most.max(usage);
            exceeded = usage.exceeds(&spec.limits);
        }
        if streams[0].seen > spec.limits.output {
            exceeded = Some(Limit::Output);
        }
        if began.elapsed() > spec.limits.wall {
            exceeded = Some(Limit::Wall);
        }
        if let Some(limit) = exceeded {
            // Who cannot start more processes tries until the time is up.
            let crowded =
                most.processes >= spec.limits.processes && matches!(limit, Limit::Wall | Limit::Cpu);
            return (Ending::Limit(if crowded { Limit::Processes } else { limit }), most);
        }
    }
}

fn ending(status: ExitStatus, most: Usage, spec: &Spec) -> Ending {
    // Threads that could not be made end in a panic, as a rule.
    let crowded = most.processes >= spec.limits.processes;
    match (status.code(), status.signal()) {
        (_, Some(libc::SIGXCPU)) => Ending::Limit(Limit::Cpu),
        (_, Some(libc::SIGXFSZ)) => Ending::Limit(Limit::FileSize),
        (Some(0), _) => Ending::Exited(0),
        _ if crowded => Ending::Limit(Limit::Processes),
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
    }
}

/// Takes leave of all processes that have ended, and says how the program did.
fn reap(child: i32) -> Option<ExitStatus> {
    let mut found = None;
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a local number.
        let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
        if pid <= 0 {
            return found;
        }
        if pid == child {
            found = Some(ExitStatus::from_raw(status));
        }
    }
}

/// Ends what is left. In a namespace of processes the kernel would do it, too, but only after the results were read.
fn end_descendants() {
    // New ones may be born while the others are ended.
    for _ in 0..200 {
        // SAFETY: takes no pointer. In a process namespace, -1 is everybody in it but this process.
        if std::process::id() == 1 && unsafe { libc::kill(-1, libc::SIGKILL) } == -1 {
            break;
        }
        let left = watch::descendants();
        for pid in &left {
            // SAFETY: takes no pointer. The process is a descendant that was not waited for, so the number is still its own.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        reap(-1);
        if left.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A pipe from the program.
struct Stream {
    pipe: Option<PipeReader>,
    kept: Vec<u8>,
    limit: usize,
    seen: u64,
}

impl Stream {
    fn new(pipe: PipeReader, limit: usize) -> io::Result<Stream> {
        // SAFETY: takes no pointer.
        check(unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
        Ok(Stream { pipe: Some(pipe), kept: Vec::new(), limit, seen: 0 })
    }

    /// Reads what there is, a bounded amount of it, so that a program that prints without end is noticed.
    fn read(&mut self) {
        let mut buffer = [0; 1 << 16];
        for _ in 0..16 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    self.seen += count as u64;
                    let room = self.limit.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// Waits until there is something to read, but not for long.
fn wait_for_output(streams: &[Stream]) {
    let open = streams.iter().filter_map(|stream| stream.pipe.as_ref());
    let mut polled: Vec<libc::pollfd> =
        open.map(|pipe| libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
    let timeout = if polled.is_empty() { 1 } else { 5 };
    // SAFETY: pointer and length are those of the vector.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
}

/// The regular files in the directory of results.
fn read_results(directory: &Path) -> BTreeMap<String, String> {
    let mut results = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten().take(FILES) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if let Ok(text) = read_regular(&entry.path()) {
            results.insert(name, text);
        }
    }
    results
}

/// Reads a file, but neither through a symbolic link nor from a pipe or device.
fn read_regular(path: &Path) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o6000 != 0 {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    let mut text = Vec::new();
    file.take(metadata.len()).read_to_end(&mut text)?;
    String::from_utf8(text).map_err(io::Error::other)
}

/// When memory is short, the kernel ends this process and all that it starts rather than those who watch it. Makes system calls only.
fn be_ended_first() {
    // SAFETY: both strings are constants; the length is that of the text.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file != -1 {
            libc::write(file, c"1000".as_ptr().cast(), 4);
            libc::close(file);
        }
    }
}

fn die_with_parent() {
    // SAFETY: this option takes a number.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
