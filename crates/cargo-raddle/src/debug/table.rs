//! The table that the test shares with its debugger, seen from the debugger: where to stop, and where the test stands.
//!
//! `raddle-engine/src/platform/debugger.rs` has the layout. The test maps the file; here it is read and written, which comes to the
//! same while the test stands still.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const SIZE: u64 = 1 << 16;
const NOWHERE: u64 = u64::MAX;
const HEADER: u64 = 16;
const PER_THREAD: u64 = 16;

/// Where the test stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Somewhere in its code.
    Elsewhere,
    /// At the event that it was to stop at.
    Event,
    /// At the end of the execution.
    End,
}

/// The file. It is removed when this goes away.
#[derive(Debug)]
pub(crate) struct Table {
    file: File,
    path: PathBuf,
}

impl Table {
    /// Makes the file, in the directory for temporary files.
    pub(crate) fn create() -> Result<Table> {
        let path = std::env::temp_dir().join(format!("raddle-debug-{}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(Error::file("create", &path))?;
        file.set_len(SIZE).map_err(Error::file("write", &path))?;
        let table = Table { file, path };
        table.stop_nowhere();
        Ok(table)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Forgets everything, because the test is started again. The events of threads are among that: a test that begins finds none.
    pub(crate) fn clear(&self) {
        self.file.write_all_at(&[0; SIZE as usize], 0).expect("the file has its size");
        self.stop_nowhere();
    }

    /// Makes the test stop at an event: the one of this number among those of its thread.
    pub(crate) fn stop_at(&self, thread: u32, number: u64) {
        self.set(1, thread.into());
        self.set(2, number);
    }

    /// Makes the test stop at the end only.
    pub(crate) fn stop_nowhere(&self) {
        self.set(1, NOWHERE);
    }

    /// Makes the test leave its execution and begin it again.
    pub(crate) fn begin_again(&self) {
        self.set(3, 1);
    }

    /// How far the test has come: the number of executions that were begun, and of events of the last one.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.get(4), self.made())
    }

    /// The number of events of the execution so far.
    pub(crate) fn made(&self) -> u64 {
        self.get(5)
    }

    /// The number of events of a thread so far.
    pub(crate) fn made_by(&self, thread: u32) -> u64 {
        if u64::from(thread) < self.get(8) {
            self.get(HEADER + u64::from(thread) * PER_THREAD + 1)
        } else {
            0
        }
    }

    /// Whether a thread is there and has not ended.
    pub(crate) fn is_alive(&self, thread: u32) -> bool {
        let thread = u64::from(thread);
        thread < self.get(8) && self.get(HEADER + thread * PER_THREAD + 2) == 0
    }

    /// The thread that runs, from the memory of the test. None before the execution, and where that memory cannot be read.
    pub(crate) fn running(&self) -> Option<u32> {
        let (address, explorer) = (self.get(7), self.get(9));
        let memory = File::open(format!("/proc/{explorer}/mem")).ok()?;
        let mut number = [0; 2];
        memory.read_exact_at(&mut number, address).ok()?;
        let number = u16::from_le_bytes(number).into();
        self.is_alive(number).then_some(number)
    }

    pub(crate) fn standing(&self) -> Standing {
        match self.get(6) {
            1 => Standing::Event,
            2 => Standing::End,
            _ => Standing::Elsewhere,
        }
    }

    fn get(&self, word: u64) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, word * 8).expect("the file has its size");
        u64::from_le_bytes(bytes)
    }

    fn set(&self, word: u64, value: u64) {
        self.file.write_all_at(&value.to_le_bytes(), word * 8).expect("the file has its size");
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}
