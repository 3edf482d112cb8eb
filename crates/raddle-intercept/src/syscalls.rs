//! `syscall`: where std and parking_lot wait (futex) and where some code asks for random bytes or its thread id.

use std::ffi::{c_int, c_long};

use raddle_engine::Engine;
use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface;
use raddle_engine::isolate::unmanaged_threads::stand_still;
use raddle_engine::platform::sys::raw_syscall;
use raddle_engine::thread::Wake;

use crate::clocks::nanoseconds;

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the contract of the system call that the caller chose.
    unsafe {
        if let Some(engine) = engine_of_virtual_thread()
            && let Some(result) = virtual_syscall(engine, number, [a, b, c, d, e, f])
        {
            return answer(result);
        }
        let result = raw_syscall(number, [a, b, c, d, e, f]);
        if number == libc::SYS_futex {
            stand_still();
        }
        answer(result)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, len: usize, flags: u32) -> isize {
    // SAFETY: the contract of `getrandom`.
    unsafe { syscall(libc::SYS_getrandom, buffer as i64, len as i64, flags.into(), 0, 0, 0) as isize }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> libc::pid_t {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_gettid, 0, 0, 0, 0, 0, 0) as libc::pid_t }
}

/// The C library's error reporting, from the kernel's.
fn answer(result: c_long) -> c_long {
    if (-4095..0).contains(&result) {
        // SAFETY: every thread has an `errno`.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}

/// The result of a system call that concerns virtual threads; none for all others.
unsafe fn virtual_syscall(engine: *mut Engine, number: c_long, args: [c_long; 6]) -> Option<c_long> {
    // SAFETY: the caller's.
    unsafe {
        match number {
            libc::SYS_futex => Some(futex(engine, args)),
            libc::SYS_getrandom => {
                let buffer = std::slice::from_raw_parts_mut(args[0] as *mut u8, args[1] as usize);
                interface::fill_random(engine, buffer);
                Some(args[1])
            }
            libc::SYS_membarrier => {
                interface::membarrier(engine);
                None
            }
            libc::SYS_gettid => Some(FIRST_TID + c_long::from(interface::current_stack(engine).0)),
            libc::SYS_sched_yield => {
                interface::yield_now(engine, 0);
                Some(0)
            }
            _ => None,
        }
    }
}

/// The kernel thread id of virtual thread 0.
const FIRST_TID: c_long = 1_000_000;

unsafe fn futex(engine: *mut Engine, [address, op, value, timeout, second, mask]: [c_long; 6]) -> c_long {
    let place = address as *const u32;
    let real_time = op as c_int & libc::FUTEX_CLOCK_REALTIME != 0;
    let timeout = timeout as *const libc::timespec;
    // SAFETY: the contract of the futex call.
    unsafe {
        match op as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
            libc::FUTEX_WAIT => {
                let deadline =
                    timeout.as_ref().map(|time| interface::monotonic_time(engine, 0) + nanoseconds(time));
                waited(interface::futex_wait(engine, place, value as u32, !0, deadline))
            }
            libc::FUTEX_WAIT_BITSET => {
                let deadline = timeout.as_ref().map(|time| match real_time {
                    true => interface::from_real_time(nanoseconds(time)),
                    false => nanoseconds(time),
                });
                waited(interface::futex_wait(engine, place, value as u32, mask as u32, deadline))
            }
            libc::FUTEX_WAKE => interface::futex_wake(engine, place.addr(), value as u32, !0).into(),
            libc::FUTEX_WAKE_BITSET => {
                interface::futex_wake(engine, place.addr(), value as u32, mask as u32).into()
            }
            libc::FUTEX_CMP_REQUEUE if place.read_volatile() != mask as u32 => -c_long::from(libc::EAGAIN),
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
                let (woken, moved) = interface::futex_requeue(
                    engine,
                    place.addr(),
                    second as usize,
                    value as u32,
                    timeout as usize as u32,
                );
                (woken + moved).into()
            }
            // Priority-inheriting futexes and the like: nothing in the Rust world uses them.
            _ => -c_long::from(libc::ENOSYS),
        }
    }
}

fn waited(wake: Option<Wake>) -> c_long {
    match wake {
        None => -c_long::from(libc::EAGAIN),
        Some(Wake::Woken) => 0,
        Some(Wake::TimedOut) => -c_long::from(libc::ETIMEDOUT),
    }
}
