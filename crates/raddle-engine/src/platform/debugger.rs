//! What the program shares with a debugger that goes through one of its executions: a file that both map, and the function at
//! which the debugger has a breakpoint.
//!
//! The file is a table of 64-bit words, so that everybody can read and write the table while the program stands still:
//! `cargo raddle debug`, which decides where to stop, and the debugger's plug-in, which shows paused coroutines as threads.
//!
//! ```text
//!   word 0   the version of this layout
//!   word 1   the thread to stop at, or u64::MAX            ─┐
//!   word 2   the number of the event of that thread         ├ written by the debugger
//!   word 3   1: leave this execution and begin it again    ─┘
//!   word 4   the number of executions that were begun
//!   word 5   the events of this execution so far
//!   word 6   where the program stands: see `Standing`
//!   word 7   the address of the running thread's number (16 bits)
//!   word 8   the number of threads
//!   word 9   the OS thread that runs them, by its number in the kernel
//!   word 16  the first thread; each has 16 words:
//!            the address of its context (see `coroutine`), its events so far, whether it has ended,
//!            the length of its name in bytes, the name
//! ```

use std::ffi::CString;
use std::ptr;

use super::sys;

/// The version of the layout.
const VERSION: u64 = 1;

/// The size of the file in bytes.
const SIZE: usize = 1 << 16;

const HEADER: usize = 16;
const PER_THREAD: usize = 16;
const NAME: usize = 4;
const MOST_THREADS: usize = (SIZE / 8 - HEADER) / PER_THREAD;

/// Where the program stands when it calls `raddle_stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Standing {
    /// Nowhere: it runs, or the debugger has stopped it elsewhere.
    Elsewhere = 0,
    /// At the wanted event. A write has not been made; of any other event, the result has not been returned.
    Event = 1,
    /// At the end of an execution, before memory is rolled back.
    End = 2,
}

/// The mapped file. It stays mapped as long as the process lives.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    words: *mut u64,
}

/// A thread as a debugger sees it.
pub(crate) struct ThreadEntry<'a> {
    pub(crate) context: *const usize,
    pub(crate) has_ended: bool,
    pub(crate) name: &'a str,
}

impl Shared {
    /// Maps the file. None if there is no such file, or if it is too short.
    pub fn open(path: &str) -> Option<Shared> {
        let path = CString::new(path).ok()?;
        // SAFETY: a new mapping of a file, whose descriptor is not used elsewhere.
        let words = unsafe {
            let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if file < 0 || libc::lseek(file, 0, libc::SEEK_END) < SIZE as i64 {
                return None;
            }
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let words = libc::mmap(ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file, 0);
            libc::close(file);
            words
        };
        if words == libc::MAP_FAILED {
            return None;
        }
        let shared = Shared { words: words.cast() };
        shared.set(0, VERSION);
        Some(shared)
    }

    /// Begins an execution: no thread has made an event.
    pub(crate) fn begin(self, current: *const u16) {
        for thread in 0..MOST_THREADS.min(self.get(8) as usize) {
            self.set(HEADER + thread * PER_THREAD + 1, 0);
        }
        self.set(4, self.get(4) + 1);
        self.set(5, 0);
        self.set(7, current.addr() as u64);
        self.set(8, 0);
        // SAFETY: takes and returns numbers.
        self.set(9, unsafe { sys::raw_syscall(libc::SYS_gettid, [0; 6]) } as u64);
    }

    /// Notes an event of a thread. Whether it is the one to stop at.
    pub(crate) fn count(self, thread: usize) -> bool {
        self.set(5, self.get(5) + 1);
        if thread >= MOST_THREADS {
            return false;
        }
        let events = HEADER + thread * PER_THREAD + 1;
        let number = self.get(events);
        self.set(events, number + 1);
        self.get(1) == thread as u64 && self.get(2) == number
    }

    /// Whether the debugger wants to leave this execution.
    pub(crate) fn wants_again(self) -> bool {
        self.get(3) != 0
    }

    /// The execution is left.
    pub(crate) fn begins_again(self) {
        self.set(3, 0);
    }

    /// Lists the threads.
    pub(crate) fn list<'a>(self, threads: impl Iterator<Item = ThreadEntry<'a>>) {
        let mut number = 0;
        for thread in threads.take(MOST_THREADS) {
            let at = HEADER + number * PER_THREAD;
            self.set(at, thread.context.addr() as u64);
            self.set(at + 2, thread.has_ended.into());
            let most = (PER_THREAD - NAME) * 8;
            let length = thread.name.len().min(most);
            self.set(at + 3, length as u64);
            // SAFETY: within the mapping: the name has its words of the entry.
            unsafe {
                ptr::copy_nonoverlapping(thread.name.as_ptr(), self.words.add(at + NAME).cast(), length);
            }
            number += 1;
        }
        self.set(8, number as u64);
    }

    /// Lets the debugger stop here.
    pub(crate) fn stop(self, standing: Standing) {
        self.set(6, standing as u64);
        raddle_stop();
        self.set(6, Standing::Elsewhere as u64);
    }

    fn get(self, word: usize) -> u64 {
        // SAFETY: all words that are asked for lie in the mapping; the debugger writes only while the program stands still.
        unsafe { self.words.add(word).read_volatile() }
    }

    fn set(self, word: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.words.add(word).write_volatile(value) }
    }
}

/// The debugger has a breakpoint here.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn raddle_stop() {
    // A function that does nothing could be left out.
    std::hint::black_box(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_where_to_stop_and_who_is_there() {
        let path = std::env::temp_dir().join(format!("raddle-debugger-{}", std::process::id()));
        let path = path.to_str().unwrap();
        assert!(Shared::open(path).is_none());
        std::fs::write(path, vec![0; SIZE]).unwrap();
        let shared = Shared::open(path).unwrap();
        shared.set(1, 1);
        shared.set(2, 1);
        let current = 1;
        shared.begin(&current);
        assert_eq!([0, 1, 0, 1, 1].map(|thread| shared.count(thread)), [false, false, false, true, false]);
        let context = 7;
        let entry = |name| ThreadEntry { context: &context, has_ended: false, name };
        let long = "x".repeat(200);
        shared.list([entry("main"), entry(&long)].into_iter());
        shared.begin(&current);
        assert!(!shared.count(1));

        let bytes = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        let word = |index: usize| u64::from_le_bytes(bytes[index * 8..][..8].try_into().unwrap());
        assert_eq!([word(0), word(4), word(5), word(8)], [VERSION, 2, 1, 0]);
        assert_eq!([word(HEADER), word(HEADER + 3)], [(&raw const context).addr() as u64, 4]);
        assert_eq!(&bytes[(HEADER + NAME) * 8..][..4], b"main");
        assert_eq!(word(HEADER + PER_THREAD + 3), 96);
    }
}
