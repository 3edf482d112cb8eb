//! Measurements of the own process, and the line in which they are handed to the driver.

use std::fmt::Display;

/// Seconds of CPU time that the process has used.
///
/// A system call by hand: during an exploration, the C library's clocks are virtual.
pub(crate) fn cpu_seconds() -> f64 {
    const CLOCK_GETTIME: i64 = 228;
    const CLOCK_PROCESS_CPUTIME_ID: i64 = 2;
    let mut time = [0i64; 2];
    // SAFETY: writes seconds and nanoseconds.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") CLOCK_GETTIME => _,
            in("rdi") CLOCK_PROCESS_CPUTIME_ID,
            in("rsi") &raw mut time,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    time[0] as f64 + time[1] as f64 * 1e-9
}

/// The most memory that the process has used, in KiB.
pub(crate) fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Prints one value.
pub(crate) fn print(name: &str, value: impl Display) {
    println!("{name}\t{value}");
}

/// Calls `work`, which does `units` of something, again and again for so many seconds; prints nanoseconds per unit.
pub(crate) fn time(seconds: f64, units: u64, mut work: impl FnMut()) {
    work();
    let begin = cpu_seconds();
    let mut done = 0;
    let spent = loop {
        work();
        done += units;
        let spent = cpu_seconds() - begin;
        if spent >= seconds {
            break spent;
        }
    };
    print("ns", spent * 1e9 / done as f64);
}
