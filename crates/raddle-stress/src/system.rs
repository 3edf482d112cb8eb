//! Calls of the operating system: affinity, priority and memory of threads.

use std::mem::{size_of, zeroed};

/// The processors on which this process may run.
pub(crate) fn allowed_processors() -> Vec<usize> {
    // SAFETY: a set of processors is plain bits, and the call fills one of the size that it is told.
    let (set, result) = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        let result = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (set, result)
    };
    if result != 0 {
        return (0..std::thread::available_parallelism().map_or(1, |n| n.get())).collect();
    }
    // SAFETY: the numbers are within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Binds the calling thread to these processors. Where that is refused, the thread stays where it is.
pub(crate) fn bind(processors: &[usize]) {
    set_affinity(0, processors);
}

/// The number of the calling thread for the kernel.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::gettid() }
}

/// Lets a thread of this process run only where no other wants the processor, on any of these. Such a thread cannot be ended.
pub(crate) fn demote(thread: i32, processors: &[usize]) {
    set_affinity(thread, processors);
    // SAFETY: the priority of this policy is always 0. A thread that has ended meanwhile is an error that does no harm.
    unsafe {
        let parameter: libc::sched_param = zeroed();
        libc::sched_setscheduler(thread, libc::SCHED_IDLE, &raw const parameter);
    }
}

/// Bytes of memory that the process occupies; 0 if unknown.
pub(crate) fn resident_bytes() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    // SAFETY: asks for a constant of the system.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

fn set_affinity(thread: i32, processors: &[usize]) {
    // SAFETY: a set of processors is plain bits, and the numbers came from such a set.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        for &cpu in processors.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}
