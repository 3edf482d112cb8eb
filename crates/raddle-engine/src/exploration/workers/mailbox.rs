//! Messages of worker processes to the first one: schedules that make executions of each outcome class again, with
//! their numbers.

use crate::exploration::outcomes::{OutcomeCounts, RemoteOutcome};
use crate::platform::sys;
use crate::schedule::Schedule;

/// A file in memory that processes append to, each once, and the first one reads when all others have ended.
#[derive(Debug)]
pub(crate) struct Mailbox {
    descriptor: i64,
}

impl Mailbox {
    pub(crate) fn new() -> Mailbox {
        // SAFETY: the name is a string; nothing else is passed.
        let descriptor = unsafe {
            sys::raw_syscall(libc::SYS_memfd_create, [c"raddle".as_ptr().addr() as i64, 1, 0, 0, 0, 0])
        };
        assert!(descriptor >= 0, "raddle: no memory to share with worker processes");
        // SAFETY: a descriptor of ours. Each message is appended by one call, which is atomic.
        unsafe {
            sys::raw_syscall(
                libc::SYS_fcntl,
                [descriptor, libc::F_SETFL.into(), libc::O_APPEND.into(), 0, 0, 0],
            )
        };
        Mailbox { descriptor }
    }

    /// Appends the outcomes of this process.
    pub(crate) fn send(&self, outcomes: &OutcomeCounts) {
        outcomes.remote().for_each(|(count, schedule)| self.append(count, schedule));
    }

    /// Appends a schedule.
    pub(crate) fn append(&self, count: u64, schedule: &Schedule) {
        let parts = [&schedule.threads, &schedule.mo_offsets, &schedule.counts];
        let mut bytes = count.to_le_bytes().to_vec();
        // `u64::MAX` stands for none: no event has the number, and a seed of that value is replayed as none.
        [schedule.fair_since, schedule.random]
            .iter()
            .for_each(|number| bytes.extend(number.unwrap_or(u64::MAX).to_le_bytes()));
        parts.iter().for_each(|part| bytes.extend((part.len() as u64).to_le_bytes()));
        parts.iter().for_each(|part| bytes.extend(part.iter().flat_map(|choice| choice.to_le_bytes())));
        let args = [self.descriptor, bytes.as_ptr().addr() as i64, bytes.len() as i64, 0, 0, 0];
        // SAFETY: the bytes are ours.
        let written = unsafe { sys::raw_syscall(libc::SYS_write, args) };
        assert!(written == bytes.len() as i64, "raddle: no memory to share with worker processes");
    }

    /// All appended messages.
    pub(crate) fn open(self) -> Vec<RemoteOutcome> {
        let mut bytes = Vec::new();
        loop {
            let len = bytes.len();
            bytes.resize(len + (1 << 16), 0u8);
            let room = &mut bytes[len..];
            let args =
                [self.descriptor, room.as_mut_ptr().addr() as i64, room.len() as i64, len as i64, 0, 0];
            // SAFETY: the room is ours.
            let read = unsafe { sys::raw_syscall(libc::SYS_pread64, args) }.max(0) as usize;
            bytes.truncate(len + read);
            if read == 0 {
                break;
            }
        }
        let mut told = Vec::new();
        let mut rest = &bytes[..];
        while let Some(schedule) = take_told(&mut rest) {
            told.push(schedule);
        }
        told
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // SAFETY: opened by `new`.
        unsafe { sys::raw_syscall(libc::SYS_close, [self.descriptor, 0, 0, 0, 0, 0]) };
    }
}

fn take_told(rest: &mut &[u8]) -> Option<RemoteOutcome> {
    let mut number = || {
        let (number, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(u64::from_le_bytes(*number))
    };
    let count = number()?;
    let known = |number: u64| Some(number).filter(|&number| number != u64::MAX);
    let (fair_since, random) = (known(number()?), known(number()?));
    let lens = [number()?, number()?, number()?];
    let mut part = |len: u64| {
        let (part, after) = rest.split_at_checked(len as usize * 2)?;
        *rest = after;
        Some(part.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect())
    };
    let (threads, mo_offsets, counts) = (part(lens[0])?, part(lens[1])?, part(lens[2])?);
    let schedule = Schedule { threads, mo_offsets, counts, fair_since, random };
    Some(RemoteOutcome { count, schedule })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read() {
        let schedule = |thread| Schedule {
            threads: vec![thread; 3],
            mo_offsets: vec![7],
            fair_since: Some(9).filter(|_| thread == 0),
            random: Some(8).filter(|_| thread != 0),
            ..Schedule::default()
        };
        let mut outcomes = OutcomeCounts::new(true);
        for class in [4, 0, 4] {
            outcomes.add(class, 1, || schedule(class as u16));
        }
        let mail = Mailbox::new();
        mail.send(&outcomes);
        outcomes.forget_counts();
        mail.send(&outcomes);
        outcomes.add(4, 9, || unreachable!("it is known"));
        mail.send(&outcomes);
        let told = [(1, 0), (2, 4), (9, 4)]
            .map(|(count, thread)| RemoteOutcome { count, schedule: schedule(thread) });
        assert_eq!(mail.open(), told);
        assert_eq!(outcomes.counts(), [0, 0, 0, 0, 9]);
    }
}
