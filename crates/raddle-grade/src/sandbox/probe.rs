//! What of the isolation works on this machine: tried out, not guessed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cgroup::{self, Groups};
use super::client::run;
use super::spec::{Ending, Limits, Mount, Spec};
use super::supervisor::{ARGUMENT, NOTHING};

/// The parts of isolation that are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// An unprivileged user of its own (if the grader is root), or a user namespace.
    pub user: bool,
    /// A file system with nothing but what the program needs.
    pub files: bool,
    /// A process namespace: no other process is visible, and none outlives the test.
    pub processes: bool,
    /// A network namespace without a network.
    pub network: bool,
    /// Control groups, which limit memory and processes exactly.
    pub groups: bool,
}

/// A part of isolation, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name: `files`.
    pub name: &'static str,
    /// What a submission can do without it.
    pub without: &'static str,
}

impl Isolation {
    /// All parts.
    pub const FULL: Isolation =
        Isolation { user: true, files: true, processes: true, network: true, groups: true };
    /// No part.
    pub const NONE: Isolation =
        Isolation { user: false, files: false, processes: false, network: false, groups: false };

    /// The parts that are in both.
    pub fn and(self, other: Isolation) -> Isolation {
        Isolation {
            user: self.user && other.user,
            files: self.files && other.files,
            processes: self.processes && other.processes,
            network: self.network && other.network,
            groups: self.groups && other.groups,
        }
    }

    /// The parts that are in use.
    pub fn present(&self) -> Vec<Part> {
        self.parts().into_iter().filter(|(present, _)| *present).map(|(_, part)| part).collect()
    }

    /// The parts that are missing, with what that means.
    pub fn missing(&self) -> Vec<Part> {
        self.parts().into_iter().filter(|(present, _)| !present).map(|(_, part)| part).collect()
    }

    fn parts(&self) -> [(bool, Part); 5] {
        let part = |name, without| Part { name, without };
        [
            (
                self.user,
                part("user", "runs as the user who grades, whose processes are counted by looking at them"),
            ),
            (
                self.files,
                part(
                    "files",
                    "can read and write what the user who grades can: hidden tests, other submissions, results",
                ),
            ),
            (self.processes, part("processes", "can see and signal processes of the user who grades")),
            (self.network, part("network", "can use the network")),
            (
                self.groups,
                part(
                    "control groups",
                    "has its memory and processes counted every few milliseconds, not by the kernel",
                ),
            ),
        ]
    }
}

/// Tries all parts at once, and otherwise one after the other, each with those that worked.
pub(super) fn probe(executable: &Path, root: &Path) -> Isolation {
    for most in [Isolation::FULL, Isolation { groups: false, ..Isolation::FULL }] {
        if works(executable, root, most) {
            return most;
        }
    }
    let mut found = Isolation::NONE;
    let parts: [fn(&mut Isolation); 5] = [
        |isolation| isolation.user = true,
        |isolation| isolation.files = true,
        |isolation| isolation.processes = true,
        |isolation| isolation.network = true,
        |isolation| isolation.groups = true,
    ];
    for part in parts {
        let mut candidate = found;
        part(&mut candidate);
        if works(executable, root, candidate) {
            found = candidate;
        }
    }
    found
}

fn works(executable: &Path, root: &Path, isolation: Isolation) -> bool {
    if isolation.groups && !cgroup::available() {
        return false;
    }
    let spec = Spec {
        program: executable.to_owned(),
        args: vec![ARGUMENT.to_owned(), NOTHING.to_owned()],
        env: BTreeMap::new(),
        directory: PathBuf::from("/"),
        mounts: vec![Mount::read(executable)],
        system_programs: false,
        results: None,
        limits: Limits {
            cpu: Duration::from_secs(5),
            wall: Duration::from_secs(5),
            memory: 1 << 30,
            processes: 32,
            file_size: 1 << 20,
            output: 1 << 16,
        },
        user: 64_999,
        isolation,
        channels: Vec::new(),
        root: root.to_owned(),
        groups: Vec::new(),
    };
    let groups = if isolation.groups { Groups::create(&spec.limits).ok() } else { None };
    let spec = Spec { groups: groups.as_ref().map(Groups::entrances).unwrap_or_default(), ..spec };
    let outcome = run(executable, &spec, &AtomicBool::new(false));
    outcome.is_ok_and(|outcome| outcome.ending == Ending::Exited(0))
}
