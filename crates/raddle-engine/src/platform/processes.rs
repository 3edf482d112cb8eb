//! Forked processes and the memory that they share.

use std::ffi::c_void;

use super::sys::{self, PAGE};

/// The result of [`fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fork {
    /// The calling process, with the number of its child.
    Parent(i32),
    Child,
    /// The system allows no more processes.
    Failed,
}

/// Forks the process.
pub(crate) fn fork() -> Fork {
    // SAFETY: the calling OS thread is the only one that matters to the child: of donors of thread-locals, only memory
    // is used.
    match unsafe { libc::fork() } {
        0 => Fork::Child,
        child if child > 0 => Fork::Parent(child),
        _ => Fork::Failed,
    }
}

/// Ends a forked process, without running anything of the parent's.
pub(crate) fn exit() -> ! {
    loop {
        // SAFETY: the call takes a number and does not return.
        unsafe { sys::raw_syscall(libc::SYS_exit_group, [0; 6]) };
    }
}

/// The end of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    ByItself,
    BySignal,
}

/// Waits for a child.
pub(crate) fn wait(child: i32) {
    let mut status = 0;
    // SAFETY: a child of this process; signals of the watchdog may interrupt the wait.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
}

/// Whether a child has ended, and how.
pub(crate) fn has_ended(child: i32) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: a child of this process.
    let ended = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
    let by_signal = ended == child && libc::WIFSIGNALED(status);
    (ended != 0).then_some(if by_signal { Ended::BySignal } else { Ended::ByItself })
}

/// Maps memory that this process shares with its children, all zeros.
pub(crate) fn map_shared(len: usize) -> *mut c_void {
    // SAFETY: a fresh mapping.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert!(memory != libc::MAP_FAILED, "raddle: no memory to share with other processes");
    memory
}

/// Makes memory all zeros again, and gives its pages back.
///
/// # Safety
/// The memory must be from [`map_shared`], with this length, and nothing may use it meanwhile.
pub(crate) unsafe fn clear_shared(memory: *mut c_void, len: usize) {
    // SAFETY: the caller's; zeros are written where the kernel gives nothing back.
    unsafe {
        if libc::madvise(memory, len.next_multiple_of(PAGE), libc::MADV_REMOVE) != 0 {
            memory.write_bytes(0, len);
        }
    }
}

/// Unmaps memory.
///
/// # Safety
/// The memory must be from [`map_shared`], with this length, and not be used any more.
pub(crate) unsafe fn unmap_shared(memory: *mut c_void, len: usize) {
    // SAFETY: the caller's.
    unsafe { libc::munmap(memory, len) };
}
