//! Control groups: the kernel counts memory and processes of a program exactly, and ends it when there are too many.
//!
//! The grader makes the groups and removes them; the init process of a sandbox only enters them. Version 2 needs a parent group that
//! hands its controllers down, version 1 a writable hierarchy for each controller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::spec::Limits;

const MOUNTED: &str = "/sys/fs/cgroup";

/// The control groups of one program. They are removed when this is dropped.
#[derive(Debug)]
pub(super) struct Groups {
    directories: Vec<PathBuf>,
}

/// Whether control groups can be made here.
pub(super) fn available() -> bool {
    let limits = Limits {
        cpu: Duration::ZERO,
        wall: Duration::ZERO,
        memory: 1 << 30,
        processes: 32,
        file_size: 0,
        output: 0,
    };
    Groups::create(&limits).is_ok()
}

impl Groups {
    /// Makes groups with limits on memory and processes.
    pub(super) fn create(limits: &Limits) -> io::Result<Groups> {
        Groups::below(Path::new(MOUNTED), &fs::read_to_string("/proc/self/cgroup")?, limits)
    }

    /// Makes groups in the hierarchies below `mounted`, for a process whose groups are in `list`.
    fn below(mounted: &Path, list: &str, limits: &Limits) -> io::Result<Groups> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("raddle-grade-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let memory = limits.memory.to_string();
        // The supervisor and the init process are in the groups, too.
        let processes = (limits.processes + 8).to_string();
        let mut groups = Groups { directories: Vec::new() };
        if let Some(parent) = unified_parent(mounted, list) {
            let directory = groups.make(parent.join(&name))?;
            fs::write(directory.join("memory.max"), &memory)?;
            // Swap would only make it slow.
            let _ = fs::write(directory.join("memory.swap.max"), "0");
            fs::write(directory.join("pids.max"), &processes)?;
            return Ok(groups);
        }
        let directory = groups.make(of_controller(mounted, list, "memory")?.join(&name))?;
        fs::write(directory.join("memory.limit_in_bytes"), &memory)?;
        let directory = groups.make(of_controller(mounted, list, "pids")?.join(&name))?;
        fs::write(directory.join("pids.max"), &processes)?;
        Ok(groups)
    }

    /// The files by which a process enters the groups.
    pub(super) fn entrances(&self) -> Vec<PathBuf> {
        self.directories.iter().map(|directory| directory.join("cgroup.procs")).collect()
    }

    /// Whether the kernel has ended a process for its memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.directories.iter().any(|directory| {
            ["memory.events", "memory.oom_control"].iter().any(|file| {
                let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
                text.lines()
                    .filter_map(|line| line.strip_prefix("oom_kill "))
                    .any(|count| count.trim() != "0")
            })
        })
    }

    fn make(&mut self, directory: PathBuf) -> io::Result<PathBuf> {
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        Ok(directory)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for directory in &self.directories {
            // Processes that were just ended may still be in it for a moment.
            for _ in 0..50 {
                match fs::remove_dir(directory) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        thread::sleep(Duration::from_millis(4));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// The group of version 2 in which siblings of this process's group can be made with limits.
fn unified_parent(mounted: &Path, list: &str) -> Option<PathBuf> {
    let own = list.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = mounted.join(own.trim_start_matches('/'));
    let parent = if own == mounted { own.as_path() } else { own.parent()? };
    let handed = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let has = |controller| handed.split_whitespace().any(|word| word == controller);
    (has("memory") && has("pids")).then(|| parent.to_owned())
}

/// The group of this process in the hierarchy of a controller of version 1.
fn of_controller(mounted: &Path, list: &str, controller: &str) -> io::Result<PathBuf> {
    let line = list.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let names = fields.next()?;
        names.split(',').any(|name| name == controller).then(|| fields.next()).flatten()
    });
    let path = line.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let hierarchy = mounted.join(controller);
    let own = hierarchy.join(path.trim_start_matches('/'));
    // In a container the path may be one of the machine outside.
    Ok(if own.exists() { own } else { hierarchy })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        cpu: Duration::ZERO,
        wall: Duration::ZERO,
        memory: 1 << 20,
        processes: 10,
        file_size: 0,
        output: 0,
    };

    /// What was written to a file of the groups, which are folders here.
    fn written(groups: &Groups, file: &str) -> Option<String> {
        groups.directories.iter().find_map(|directory| fs::read_to_string(directory.join(file)).ok())
    }

    #[test]
    fn version_2_has_one_group_beside_that_of_the_grader() {
        let mounted = tempfile::tempdir().unwrap();
        let slice = mounted.path().join("course.slice");
        fs::create_dir_all(slice.join("grader.service")).unwrap();
        let list = "0::/course.slice/grader.service\n";
        fs::write(slice.join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        assert!(Groups::below(mounted.path(), list, &LIMITS).is_err(), "processes are not handed down");

        fs::write(slice.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let groups = Groups::below(mounted.path(), list, &LIMITS).unwrap();
        assert_eq!(groups.entrances().len(), 1);
        assert_eq!(groups.entrances()[0].parent().unwrap().parent(), Some(slice.as_path()));
        assert_eq!(written(&groups, "memory.max").as_deref(), Some("1048576"));
        assert_eq!(written(&groups, "memory.swap.max").as_deref(), Some("0"));
        assert_eq!(written(&groups, "pids.max").as_deref(), Some("18"));
        assert!(!groups.ran_out_of_memory());
        fs::write(groups.directories[0].join("memory.events"), "low 0\noom 1\noom_kill 1\n").unwrap();
        assert!(groups.ran_out_of_memory());
    }

    #[test]
    fn version_1_has_a_group_for_each_controller() {
        let mounted = tempfile::tempdir().unwrap();
        for directory in ["memory/a:b", "pids"] {
            fs::create_dir_all(mounted.path().join(directory)).unwrap();
        }
        // The path of `pids` is one of the machine outside.
        let list = "9:name=systemd:/\n5:cpu,memory:/a:b\n4:pids:/outside\n0::/\n";
        let groups = Groups::below(mounted.path(), list, &LIMITS).unwrap();
        let parents: Vec<_> =
            groups.directories.iter().map(|directory| directory.parent().unwrap()).collect();
        assert_eq!(parents, [mounted.path().join("memory/a:b"), mounted.path().join("pids")]);
        assert_eq!(written(&groups, "memory.limit_in_bytes").as_deref(), Some("1048576"));
        assert!(of_controller(mounted.path(), "0::/\n", "pids").is_err());
    }
}
