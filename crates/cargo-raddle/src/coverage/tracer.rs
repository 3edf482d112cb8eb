//! The calls that a test makes, seen by a tracer.
//!
//! Each call instruction gets a breakpoint. The first thread that comes by stops, the call is noted, the original byte is put back and the
//! thread goes on: a breakpoint costs something once. Processes that the test forks have copies of the breakpoints, and are traced
//! too.
//!
//! The test runs a second time for that. In the run that decides whether it passes, the engine reads the machine code, and has to
//! see what the compiler wrote.
#![allow(unsafe_code)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::run::prepare;

/// The instruction that stops a thread: `int3`.
const BREAKPOINT: u8 = 0xcc;

/// Runs a program with breakpoints at these addresses, which are those in its file, and returns those that it came by. It is
/// ended after some time.
pub(super) fn trace(
    command: Command,
    addresses: &[u64],
    is_relocatable: bool,
    limit: Duration,
) -> io::Result<BTreeSet<u64>> {
    // A tracer is one thread: that which starts the process.
    thread::scope(|scope| {
        let traced = scope.spawn(move || Tracer::start(command, addresses, is_relocatable)?.run(limit));
        traced.join().unwrap_or_else(|_| Err(io::Error::other("the tracer panicked")))
    })
}

struct Tracer {
    child: Child,
    /// The offset of addresses of the running program from those in its file.
    bias: u64,
    /// The original bytes, by address in the running program.
    breakpoints: HashMap<u64, u8>,
    reached: BTreeSet<u64>,
    /// The threads that have stopped once; the first stop of a new one is no signal for it.
    known: HashSet<libc::pid_t>,
}

impl Tracer {
    fn start(mut command: Command, addresses: &[u64], is_relocatable: bool) -> io::Result<Tracer> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        prepare(&mut command, None);
        // SAFETY: a system call without pointers, allowed between fork and exec.
        unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0, 0)) };
        let child = command.spawn()?;
        let process = child.id() as libc::pid_t;
        let mut tracer = Tracer {
            child,
            bias: 0,
            breakpoints: HashMap::new(),
            reached: BTreeSet::new(),
            known: HashSet::from([process]),
        };
        // It stops when the program is loaded, and before its first instruction.
        let prepared = wait(process).and_then(|_| tracer.set_breakpoints(process, addresses, is_relocatable));
        if let Err(error) = prepared {
            let _ = tracer.child.kill();
            let _ = tracer.child.wait();
            return Err(error);
        }
        Ok(tracer)
    }

    fn set_breakpoints(
        &mut self,
        process: libc::pid_t,
        addresses: &[u64],
        is_relocatable: bool,
    ) -> io::Result<()> {
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC;
        ptrace(libc::PTRACE_SETOPTIONS, process, options as usize)?;
        if is_relocatable {
            self.bias = load_address(process)?;
        }
        let memory = memory(process)?;
        for address in addresses {
            let address = address + self.bias;
            let mut original = [0];
            memory.read_exact_at(&mut original, address)?;
            memory.write_all_at(&[BREAKPOINT], address)?;
            self.breakpoints.insert(address, original[0]);
        }
        ptrace(libc::PTRACE_CONT, process, 0)
    }

    fn run(mut self, limit: Duration) -> io::Result<BTreeSet<u64>> {
        let process = self.child.id() as libc::pid_t;
        let (ended, end) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                if end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                    // SAFETY: no pointer. The process is not waited for before this thread has ended, so the number is still its own,
                    // or that of a process that is no more.
                    unsafe { libc::kill(process, libc::SIGKILL) };
                }
            });
            // Until there is nothing left to wait for.
            while let Ok((thread, status)) = wait(-1) {
                if libc::WIFSTOPPED(status) {
                    // A thread that was ended meanwhile cannot go on.
                    let _ = self.go_on(thread, status);
                } else if thread == process {
                    break;
                }
            }
            drop(ended);
        });
        Ok(self.reached)
    }

    /// Lets a thread that has stopped go on.
    fn go_on(&mut self, thread: libc::pid_t, status: libc::c_int) -> io::Result<()> {
        let signal = libc::WSTOPSIG(status);
        let is_new = self.known.insert(thread);
        let is_event = status >> 16 != 0;
        let passed_on = match signal {
            libc::SIGTRAP if is_event || self.is_breakpoint(thread)? => 0,
            libc::SIGSTOP if is_new => 0,
            signal => signal,
        };
        ptrace(libc::PTRACE_CONT, thread, passed_on as usize)
    }

    /// Whether a thread has stopped at a breakpoint, which is then removed.
    fn is_breakpoint(&mut self, thread: libc::pid_t) -> io::Result<bool> {
        // SAFETY: registers are plain numbers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        ptrace(libc::PTRACE_GETREGS, thread, &raw mut registers as usize)?;
        let address = registers.rip.wrapping_sub(1);
        let Some(&original) = self.breakpoints.get(&address) else { return Ok(false) };
        memory(thread)?.write_all_at(&[original], address)?;
        self.reached.insert(address - self.bias);
        registers.rip = address;
        ptrace(libc::PTRACE_SETREGS, thread, &raw mut registers as usize)?;
        Ok(true)
    }
}

/// The memory of a process.
fn memory(thread: libc::pid_t) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{thread}/mem"))
}

/// Where the program was loaded: its file is mapped first.
fn load_address(process: libc::pid_t) -> io::Result<u64> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let program = fs::read_link(format!("/proc/{process}/exe"))?;
    let program = program.to_string_lossy();
    let first = maps.lines().find(|line| line.ends_with(&*program));
    let start = first.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
    start.ok_or_else(|| io::Error::other("the program is not in its own memory"))
}

/// Waits for a thread that this one traces, or any of them.
fn wait(thread: libc::pid_t) -> io::Result<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the status is ours.
        let stopped = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if stopped != -1 {
            return Ok((stopped, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn ptrace(request: libc::c_uint, thread: libc::pid_t, data: usize) -> io::Result<()> {
    // SAFETY: those requests that take a pointer get one to registers of the caller.
    match unsafe { libc::ptrace(request, thread, 0, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::elf::Elf;
    use super::*;

    #[inline(never)]
    fn called_when_traced(number: u64) -> u64 {
        std::hint::black_box(number) + 1
    }

    #[inline(never)]
    fn idle_when_traced(number: u64) -> u64 {
        std::hint::black_box(number) + 2
    }

    /// The test that is traced. Also in threads, several of which may come by at once.
    #[test]
    fn calls_one_of_two() {
        thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || assert_eq!(called_when_traced(number), number + 1));
            }
        });
        if std::env::args().count() > 1000 {
            idle_when_traced(0);
        }
    }

    #[test]
    fn a_call_is_seen_if_it_is_made() {
        let program = std::env::current_exe().unwrap();
        let elf = Elf::parse(fs::read(&program).unwrap()).unwrap();
        let functions = elf.functions();
        let address =
            |name: &str| functions.iter().find(|function| function.symbol.contains(name)).unwrap().code.start;
        let addresses = [address("called_when_traced"), address("idle_when_traced")];
        assert_ne!(addresses[0], addresses[1]);
        let module = module_path!().split_once("::").unwrap().1;
        let mut command = Command::new(&program);
        command.args(["--exact", &format!("{module}::calls_one_of_two")]);
        let limit = Duration::from_secs(60);
        match trace(command, &addresses, elf.is_relocatable(), limit) {
            Ok(reached) => assert_eq!(reached, BTreeSet::from([addresses[0]])),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: processes cannot be traced here");
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let reached = trace(command, &[], true, Duration::from_millis(100));
        assert!(reached.is_ok_and(|reached| reached.is_empty()));
    }
}
