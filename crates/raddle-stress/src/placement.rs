//! On which processors actors run.
//!
//! How threads see each other's writes depends on what lies between them: the two hardware threads of a core share its first cache,
//! cores of a socket share the last, sockets share memory. Each distance that the machine has is a placement, and a run divides its
//! time among them. Within a placement, actors are dealt to its processors at random.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use crate::system;

/// The distance between the processors of actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// Cores are filled one after the other: actors share a core, as far as its hardware threads go.
    SameCore,
    /// Each actor has a core of its own, all in one socket.
    OtherCore,
    /// Each actor has a core of its own, and the sockets take turns.
    OtherSocket,
    /// The operating system places the threads: there are fewer processors than actors, or nothing is known about them.
    Unpinned,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::SameCore => "same core",
            Placement::OtherCore => "other core",
            Placement::OtherSocket => "other socket",
            Placement::Unpinned => "unpinned",
        })
    }
}

/// A logical processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its number for the operating system.
    pub id: usize,
    /// The socket that it is in.
    pub socket: usize,
    /// The core within the socket.
    pub core: usize,
}

/// The processors on which this process may run, from the description that Linux has of them.
pub fn processors() -> Vec<Processor> {
    described(Path::new("/sys/devices/system/cpu"), &system::allowed_processors())
}

/// The placements that these processors have for so many actors, with the processors of each. At least one.
pub fn placements(processors: &[Processor], actors: usize) -> Vec<(Placement, Vec<usize>)> {
    let mut sockets: BTreeMap<usize, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for processor in processors {
        sockets.entry(processor.socket).or_default().entry(processor.core).or_default().push(processor.id);
    }
    let mut found = Vec::new();
    if actors > 1 {
        let threads = |cores: &BTreeMap<usize, Vec<usize>>| cores.values().map(Vec::len).sum::<usize>();
        let shares = |cores: &&BTreeMap<usize, Vec<usize>>| cores.values().any(|core| core.len() > 1);
        // The cores with most hardware threads first, so that actors do share.
        if let Some(cores) = sockets.values().filter(shares).find(|cores| threads(cores) >= actors) {
            let mut cores: Vec<&Vec<usize>> = cores.values().collect();
            cores.sort_by_key(|core| std::cmp::Reverse(core.len()));
            found.push((Placement::SameCore, cores.into_iter().flatten().copied().take(actors).collect()));
        }
        if let Some(cores) = sockets.values().find(|cores| cores.len() >= actors) {
            found.push((Placement::OtherCore, cores.values().map(|core| core[0]).take(actors).collect()));
        }
        if sockets.len() > 1 && sockets.values().map(BTreeMap::len).sum::<usize>() >= actors {
            found.push((Placement::OtherSocket, in_turns(&sockets).take(actors).collect()));
        }
    }
    if found.is_empty() {
        found.push((Placement::Unpinned, Vec::new()));
    }
    found
}

/// The first hardware thread of each core: the first core of each socket, then the second of each.
fn in_turns(sockets: &BTreeMap<usize, BTreeMap<usize, Vec<usize>>>) -> impl Iterator<Item = usize> {
    let most = sockets.values().map(BTreeMap::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|n| sockets.values().filter_map(move |cores| cores.values().nth(n).map(|core| core[0])))
}

/// Reads the description in this folder. A processor without a description counts as a core of its own in the first socket.
fn described(folder: &Path, allowed: &[usize]) -> Vec<Processor> {
    let number = |id: usize, what: &str| -> Option<usize> {
        fs::read_to_string(folder.join(format!("cpu{id}/topology/{what}"))).ok()?.trim().parse().ok()
    };
    let processor = |&id: &usize| Processor {
        id,
        socket: number(id, "physical_package_id").unwrap_or(0),
        core: number(id, "core_id").unwrap_or(id),
    };
    allowed.iter().map(processor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these numbers of sockets, cores in each, and hardware threads in each of those, numbered as Linux does.
    fn machine(sockets: usize, cores: usize, threads: usize) -> Vec<Processor> {
        let mut processors = Vec::new();
        for thread in 0..threads {
            for socket in 0..sockets {
                for core in 0..cores {
                    let id = thread * sockets * cores + socket * cores + core;
                    processors.push(Processor { id, socket, core });
                }
            }
        }
        processors
    }

    #[track_caller]
    fn check(machine: &[Processor], actors: usize, expected: &[(Placement, &[usize])]) {
        let found = placements(machine, actors);
        let found: Vec<_> = found.iter().map(|(placement, ids)| (*placement, ids.as_slice())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn two_actors_have_the_distances_that_the_machine_has() {
        use Placement::*;
        check(&machine(1, 1, 1), 2, &[(Unpinned, &[])]);
        check(&machine(1, 2, 1), 2, &[(OtherCore, &[0, 1])]);
        check(&machine(1, 1, 2), 2, &[(SameCore, &[0, 1])]);
        check(&machine(1, 4, 2), 2, &[(SameCore, &[0, 4]), (OtherCore, &[0, 1])]);
        check(&machine(2, 4, 2), 2, &[(SameCore, &[0, 8]), (OtherCore, &[0, 1]), (OtherSocket, &[0, 4])]);
        check(&machine(2, 1, 1), 2, &[(OtherSocket, &[0, 1])]);
    }

    #[test]
    fn many_actors_fill_what_there_is() {
        use Placement::*;
        check(&machine(1, 2, 2), 4, &[(SameCore, &[0, 2, 1, 3])]);
        check(&machine(1, 2, 1), 4, &[(Unpinned, &[])]);
        check(&machine(2, 2, 1), 4, &[(OtherSocket, &[0, 2, 1, 3])]);
        check(&machine(1, 4, 2), 3, &[(SameCore, &[0, 4, 1]), (OtherCore, &[0, 1, 2])]);
        check(&machine(1, 4, 2), 1, &[(Unpinned, &[])]);
    }

    #[test]
    fn a_processor_without_description_is_a_core_of_its_own() {
        let found = described(Path::new("/nowhere"), &[3, 5]);
        assert_eq!(
            found.iter().map(|p| (p.id, p.core, p.socket)).collect::<Vec<_>>(),
            [(3, 3, 0), (5, 5, 0)]
        );
    }

    #[test]
    fn this_machine_has_processors_and_a_placement() {
        let here = processors();
        assert!(!here.is_empty());
        for actors in 1..=8 {
            for (placement, ids) in placements(&here, actors) {
                let pinned = placement != Placement::Unpinned;
                assert_eq!(ids.len(), if pinned { actors } else { 0 });
            }
        }
    }
}
