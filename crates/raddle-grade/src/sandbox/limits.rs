//! What the kernel enforces for each process: `setrlimit`.

use std::io;

use super::spec::Limits;

/// Open files: enough for a compiler.
const FILES: u64 = 512;

/// Sets the limits of this process and of all that it starts. Makes system calls only, so that it can be called between `fork` and
/// `exec`.
///
/// Processes are counted by user, so that limit is set only if the program has a user of its own. Memory has no limit here: Raddle
/// reserves far more addresses than it uses.
pub(super) fn apply(limits: &Limits, own_user: bool) -> io::Result<()> {
    // The signal of the soft limit says why; who ignores it is killed a second later.
    let seconds = limits.cpu.as_secs() + 1;
    set(libc::RLIMIT_CPU, seconds, seconds + 1)?;
    set(libc::RLIMIT_FSIZE, limits.file_size, limits.file_size)?;
    set(libc::RLIMIT_CORE, 0, 0)?;
    set(libc::RLIMIT_NOFILE, FILES, FILES)?;
    if own_user {
        set(libc::RLIMIT_NPROC, limits.processes, limits.processes)?;
    }
    Ok(())
}

fn set(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> io::Result<()> {
    let mut current = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a whole `rlimit` that outlives them.
    unsafe {
        if libc::getrlimit(resource, &mut current) == -1 {
            return Err(io::Error::last_os_error());
        }
        // What somebody else has already forbidden stays so.
        let hard = hard.min(current.rlim_max);
        let wanted = libc::rlimit { rlim_cur: soft.min(hard), rlim_max: hard };
        if libc::setrlimit(resource, &wanted) == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
