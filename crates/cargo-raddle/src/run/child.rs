//! Starting a test's process.
//!
//! Three things must be done in the new process, between `fork` and `exec`, where only a few calls are allowed:
//!
//! - **Addresses.** The kernel places programs, stacks and libraries at random addresses. A replay compares addresses,
//!   so randomisation is switched off (`personality`). Some containers forbid that; the test then runs with random
//!   addresses, and its replays are matched less strictly by the engine.
//! - **Progress.** The test writes its progress to a pipe. Rust closes every file on `exec`; the write end is kept open.
//! - **Death.** If this process goes away for whatever reason, the test must not run on (`PR_SET_PDEATHSIG`). Ctrl-C in
//!   a terminal reaches the tests by itself: they are in the same process group.
#![allow(unsafe_code)]

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A running test and the pipes from it.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// Its standard output and standard error in one, if they were asked for.
    pub(crate) output: Option<PipeReader>,
    /// Its progress lines.
    pub(crate) progress: PipeReader,
}

/// Starts a test. With `capture`, its output goes into a pipe; otherwise it is this process's.
pub(crate) fn start(mut command: Command, capture: bool) -> io::Result<Running> {
    let output = if capture {
        let (reader, writer) = io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        Some(reader)
    } else {
        None
    };
    let (progress, writer) = io::pipe()?;
    command.stdin(Stdio::null()).env("RADDLE_PROGRESS", writer.as_raw_fd().to_string());
    prepare(&mut command, Some(&writer));
    let child = command.spawn()?;
    // The command holds the write ends of the output pipe; they must go, or reading would never end.
    drop(command);
    Ok(Running { child, output, progress })
}

/// Arranges for what is done in the new process.
pub(crate) fn prepare(command: &mut Command, progress: Option<&PipeWriter>) {
    let progress = progress.map(AsRawFd::as_raw_fd);
    // SAFETY: `in_child` makes system calls only: no allocation, no lock, nothing that another thread of this process
    // could have left half done when it was forked.
    unsafe {
        command.pre_exec(move || in_child(progress));
    }
}

fn in_child(progress: Option<RawFd>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `personality` takes no pointer; 0xffffffff asks for the current value.
        let current = unsafe { libc::personality(0xffff_ffff) };
        if current != -1 {
            // SAFETY: as above. A refusal is no error, see above.
            unsafe { libc::personality((current | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) };
        }
        // SAFETY: this option takes a signal number and no pointer.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    }
    if let Some(descriptor) = progress {
        // SAFETY: the descriptor is open: the parent keeps its end until the process has been started.
        if unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
