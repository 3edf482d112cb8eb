//! Time: virtual threads read the engine's clock and sleep by it, and never wait.

use std::ffi::c_int;

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface;
use raddle_engine::platform::sys::raw_syscall;

/// A point or span of time in nanoseconds.
pub(crate) fn nanoseconds(time: &libc::timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.max(0) as u64)
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

fn is_real_time(clock: libc::clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: the contract of `clock_gettime`.
    unsafe {
        let Some(engine) = engine_of_virtual_thread() else {
            return real_clock_gettime(clock, time);
        };
        let mut now = interface::monotonic_time(engine, clock_gettime as *const () as usize);
        if is_real_time(clock) {
            now = interface::real_time(now);
        }
        time.write(timespec(now));
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, _zone: *mut libc::c_void) -> c_int {
    let mut now = timespec(0);
    // SAFETY: the contract of `gettimeofday`.
    unsafe {
        clock_gettime(libc::CLOCK_REALTIME, &mut now);
        time.write(libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 });
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(span: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the contract of `nanosleep`.
    unsafe { -c_int::from(clock_nanosleep(libc::CLOCK_MONOTONIC, 0, span, left) != 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(us: u32) -> c_int {
    // SAFETY: a valid span.
    unsafe { nanosleep(&timespec(u64::from(us) * 1000), std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    // SAFETY: the contract of `clock_nanosleep`.
    unsafe {
        let Some(engine) = engine_of_virtual_thread() else {
            let args = [clock.into(), flags.into(), time as i64, left as i64, 0, 0];
            let error = -raw_syscall(libc::SYS_clock_nanosleep, args) as c_int;
            if error != 0 {
                *libc::__errno_location() = error;
            }
            return error;
        };
        let time = nanoseconds(&*time);
        let deadline = match (flags & libc::TIMER_ABSTIME != 0, is_real_time(clock)) {
            (false, _) => interface::monotonic_time(engine, 0) + time,
            (true, false) => time,
            (true, true) => interface::from_real_time(time),
        };
        interface::sleep_until(engine, deadline);
        0
    }
}

/// The C library's function, which reads the kernel's shared page rather than calling the kernel.
unsafe fn real_clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    type Real = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    static REAL: std::sync::atomic::AtomicPtr<libc::c_void> =
        std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
    let mut real = REAL.load(std::sync::atomic::Ordering::Relaxed);
    if real.is_null() {
        real = raddle_engine::platform::sys::real_symbol(c"clock_gettime");
        REAL.store(real, std::sync::atomic::Ordering::Relaxed);
    }
    // SAFETY: the symbol has this type; the rest is the caller's.
    unsafe { std::mem::transmute::<*mut libc::c_void, Real>(real)(clock, time) }
}
