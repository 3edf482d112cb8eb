//! Exhaustive searches that a later process continues.
//!
//! A search that ends before it is exhausted writes its work list to a file beside the failure files. The file has a header of text
//! that identifies the search, an empty line, and 64-bit little-endian numbers: the executions and the blocked executions counted so
//! far, and the state of [`Search::save`](raddle_engine::Search::save). The file is removed when the search is exhausted
//! or has found a failure.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use raddle_engine::{Search, SearchReport};
use raddle_reflect::Program;

use super::completeness::is_exhausted;
use super::exploration::Exploration;
use crate::build;
use crate::options::Options;
use crate::output::say;

/// The file of a search.
#[derive(Debug)]
pub(crate) struct Saved {
    path: PathBuf,
    build: String,
    search: String,
    /// The counts of earlier processes.
    executions: u64,
    blocked: u64,
}

impl Saved {
    /// The file of a search that is to be resumed. Fixes the addresses of the process, because the state contains addresses.
    pub(crate) fn of(
        options: &Options,
        &Exploration { at, number, owned, .. }: &Exploration,
    ) -> Option<Saved> {
        if !options.resumes() {
            return None;
        }
        assert!(
            owned,
            "raddle: a search can only be resumed if the test has its process to itself; run it with `cargo raddle test`"
        );
        if let Err(error) = raddle_engine::platform::sys::fix_addresses() {
            panic!("raddle: a search cannot be resumed here, because addresses cannot be fixed: {error}");
        }
        raddle_engine::interface::signals::catch_interrupts();
        let test = build::test_name(at);
        let name: String =
            test.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
        let build = build::identity(Program::current().ok().as_ref()).id;
        let search = format!(
            "{test}, exploration {number}, memory {}, allocation {}, preemptions {:?}, races {}, reference counts {:?}, also {:?}",
            options.memory(),
            options.allocation,
            options.preemptions,
            options.races,
            options.reference_counts,
            options.also
        );
        let path = build::failures_directory().join(format!("{name}.{number}.search"));
        Some(Saved { path, build, search, executions: 0, blocked: 0 })
    }

    /// Continues the search of an earlier process, if there is one.
    ///
    /// # Panics
    /// If the file is not of this search.
    pub(crate) fn restore(&mut self, search: &mut Search<'_>) {
        let Ok(bytes) = fs::read(&self.path) else { return };
        let refuse = |why: &str| -> ! {
            panic!("raddle: {} {why}; remove it to search from the beginning", self.path.display())
        };
        let header = self.header();
        let Some(rest) = bytes.strip_prefix(header.as_bytes()) else {
            let build = format!("{FORMAT}\nbuild {}\n", self.build);
            match bytes {
                bytes if !bytes.starts_with(FORMAT.as_bytes()) => refuse("is no search of this version"),
                bytes if !bytes.starts_with(build.as_bytes()) => {
                    refuse("was saved by another build of the test")
                }
                _ => refuse("was saved by a search with other options"),
            }
        };
        let words: Vec<u64> = rest
            .chunks_exact(8)
            .map(|chunk| u64::from_le_bytes(chunk.try_into().expect("8 bytes")))
            .collect();
        match &words[..] {
            [executions, blocked, state @ ..] if search.restore(state) => {
                (self.executions, self.blocked) = (*executions, *blocked);
            }
            _ => refuse("is not whole"),
        }
    }

    /// Adds the counts of earlier processes, and saves the search, unless nothing is left to do.
    pub(crate) fn end(&self, search: &Search<'_>, report: &mut SearchReport) {
        if !report.restarted {
            report.executions += self.executions;
            report.blocked += self.blocked;
            report.failure.iter_mut().for_each(|found| found.execution += self.executions);
        }
        if is_exhausted(report, false) || report.failure.is_some() {
            // The file may not exist.
            let _ = fs::remove_file(&self.path);
            return;
        }
        let Some(state) = search.save() else { return };
        if let Err(error) = self.write(&[&[report.executions, report.blocked][..], &state].concat()) {
            say(&format!("raddle: {} cannot be written: {error}", self.path.display()));
        }
        if raddle_engine::interface::signals::interrupted() {
            say(&format!(
                "raddle: interrupted after {} executions; run the same command again, with `--resume on`, to go on from there",
                report.executions
            ));
            std::process::exit(130);
        }
    }

    fn header(&self) -> String {
        format!("{FORMAT}\nbuild {}\n{}\n\n", self.build, self.search)
    }

    /// Writes the file as a whole or not at all.
    fn write(&self, words: &[u64]) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(std::path::Path::new("."));
        fs::create_dir_all(directory)?;
        let temporary = self.path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(self.header().as_bytes())?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)
    }
}

/// The first line of a file.
const FORMAT: &str = "raddle search 3";
