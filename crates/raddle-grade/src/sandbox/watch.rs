//! What the processes of a program use together, read from `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use super::spec::{Limit, Limits};

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Processor time.
    pub(super) cpu: Duration,
    /// Resident bytes, without pages of files.
    pub(super) memory: u64,
    /// Processes and threads.
    pub(super) processes: u64,
}

impl Usage {
    /// The limit that is exceeded.
    pub(super) fn exceeds(&self, limits: &Limits) -> Option<Limit> {
        if self.memory > limits.memory {
            Some(Limit::Memory)
        } else if self.processes > limits.processes {
            Some(Limit::Processes)
        } else if self.cpu > limits.cpu {
            Some(Limit::Cpu)
        } else {
            None
        }
    }

    /// The maximum of both, one by one.
    pub(super) fn max(self, other: Usage) -> Usage {
        Usage {
            cpu: self.cpu.max(other.cpu),
            memory: self.memory.max(other.memory),
            processes: self.processes.max(other.processes),
        }
    }
}

/// What the descendants of this process use. Processor time of those that have ended is part of it once they were waited for.
pub(super) fn look() -> Usage {
    let mut usage = Usage { cpu: of_children(), ..Usage::default() };
    for pid in descendants() {
        let Some(process) = Process::read(pid) else { continue };
        usage.memory += process.memory;
        usage.processes += process.threads;
        usage.cpu += cpu_of(pid).unwrap_or_default();
    }
    usage
}

/// The processes that this one has started, and those that they have.
pub(super) fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(process) = Process::read(pid) {
            children.entry(process.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut queue = vec![std::process::id() as i32];
    while let Some(parent) = queue.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            queue.push(child);
        }
    }
    found
}

struct Process {
    parent: i32,
    threads: u64,
    memory: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Process> {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        // A process that has ended and was not waited for has no memory any more.
        let memory = number("RssAnon:").unwrap_or(0) + number("RssShmem:").unwrap_or(0);
        Some(Process {
            parent: i32::try_from(number("PPid:")?).ok()?,
            threads: number("Threads:").unwrap_or(1),
            memory: memory * 1024,
        })
    }
}

fn cpu_of(pid: i32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes second, in parentheses, and may contain anything.
    let rest = &text[text.rfind(')')? + 1..];
    let ticks: Vec<u64> =
        rest.split_whitespace().skip(11).take(2).filter_map(|word| word.parse().ok()).collect();
    // SAFETY: asks for a number of the system.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?.max(1);
    Some(Duration::from_millis(ticks.iter().sum::<u64>() * 1000 / per_second))
}

/// Processor time of the children that were waited for.
pub(super) fn of_children() -> Duration {
    // SAFETY: a structure of numbers, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}
