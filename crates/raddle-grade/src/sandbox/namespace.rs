//! The view of the machine: namespaces, and a file system of read-only mounts.
//!
//! The new root is an empty file system in memory. The libraries of the system, some devices and what the [`Spec`] lists are mounted
//! into it, under their own names; everything else does not exist there. The old root is taken away (`pivot_root`), so that no path
//! leads back.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::spec::{Mount, Spec};

/// What every program needs that is not linked statically.
const LIBRARIES: [&str; 7] =
    ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/etc/ld.so.cache"];
/// What a compiler needs to call a linker.
const PROGRAMS: [&str; 6] = ["/bin", "/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache"];
const ALTERNATIVES: &str = "/etc/alternatives";
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Enters the namespaces that the isolation asks for. The next process that is started is the first of its process namespace.
pub(super) fn enter(spec: &Spec) -> io::Result<()> {
    let isolation = spec.isolation;
    if isolation.user && !is_root() {
        // SAFETY: these calls take no pointer.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        unshare(libc::CLONE_NEWUSER)?;
        // The same user inside: there is no other that could be mapped.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    let mut flags = 0;
    for (part, flag) in [
        (isolation.files, libc::CLONE_NEWNS),
        (isolation.processes, libc::CLONE_NEWPID | libc::CLONE_NEWIPC),
        (isolation.network, libc::CLONE_NEWNET | libc::CLONE_NEWUTS),
    ] {
        flags |= if part { flag } else { 0 };
    }
    if flags == 0 { Ok(()) } else { unshare(flags) }
}

/// Builds the file system and moves into it.
pub(super) fn build(spec: &Spec) -> io::Result<()> {
    let root = &spec.root;
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE, "")?;
    let quiet = libc::MS_NOSUID | libc::MS_NODEV;
    mount(Some("tmpfs"), root, Some("tmpfs"), quiet, "size=16m,mode=755")?;
    let system: &[&str] = if spec.system_programs { &PROGRAMS } else { &LIBRARIES };
    for path in system {
        show_system(root, Path::new(path))?;
    }
    if spec.system_programs {
        show_system(root, Path::new(ALTERNATIVES))?;
    }
    for device in DEVICES.map(Path::new) {
        if device.exists() {
            bind(root, device, device, true)?;
        }
    }
    let size = spec.limits.file_size.saturating_mul(4);
    memory(&inside(root, Path::new("/tmp")), size)?;
    // Directories before what lies in them, which they would hide otherwise.
    let mut mounts: Vec<&Mount> = spec.mounts.iter().collect();
    mounts.sort_by_key(|mount| mount.path.components().count());
    for mount in mounts {
        bind(root, mount.instead.as_ref().unwrap_or(&mount.path), &mount.path, mount.writable)?;
    }
    if let Some(results) = &spec.results {
        memory(&inside(root, results), size)?;
    }
    let proc = inside(root, Path::new("/proc"));
    directory(&proc)?;
    if spec.isolation.processes {
        mount(Some("proc"), &proc, Some("proc"), quiet | libc::MS_NOEXEC, "")?;
    } else {
        mount(Some("/proc"), &proc, None, libc::MS_BIND | libc::MS_REC, "")?;
    }
    mount(None, root, None, libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | quiet, "")?;
    std::env::set_current_dir(root)?;
    let here = c".".as_ptr();
    // SAFETY: the paths are constants that end in a zero byte.
    unsafe {
        // The old root lands on top of the new one, from where it is taken away.
        check(libc::syscall(libc::SYS_pivot_root, here, here))?;
        check(libc::umount2(here, libc::MNT_DETACH).into())?;
    }
    std::env::set_current_dir("/")
}

/// Whether this process is the machine's root, and so needs no namespace of users.
pub(super) fn is_root() -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::geteuid() == 0 }
}

/// Shows a directory of the system, which may be a symbolic link to another one, or not exist.
fn show_system(root: &Path, path: &Path) -> io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    let target = inside(root, path);
    if metadata.is_symlink() {
        if let Some(parent) = target.parent() {
            directory(parent)?;
        }
        return symlink(fs::read_link(path)?, target);
    }
    bind(root, path, path, false)
}

/// Shows `source` under the name `path`.
fn bind(root: &Path, source: &Path, path: &Path, writable: bool) -> io::Result<()> {
    let target = inside(root, path);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if source.metadata().map_err(named)?.is_dir() {
        directory(&target)?;
    } else {
        target.parent().map_or(Ok(()), directory)?;
        if !target.exists() {
            fs::write(&target, "")?;
        }
    }
    mount(source.to_str(), &target, None, libc::MS_BIND | libc::MS_REC, "").map_err(named)?;
    if writable { Ok(()) } else { make_readonly(&target).map_err(named) }
}

/// An empty file system in memory that anybody may write to.
fn memory(target: &Path, size: u64) -> io::Result<()> {
    directory(target)?;
    let options = format!("size={size},mode=1777");
    mount(Some("tmpfs"), target, Some("tmpfs"), libc::MS_NOSUID | libc::MS_NODEV, &options)
}

fn directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer. This process has one thread.
    check(unsafe { libc::unshare(flags) }.into())
}

fn mount(
    source: Option<&str>,
    target: &Path,
    kind: Option<&str>,
    flags: libc::c_ulong,
    data: &str,
) -> io::Result<()> {
    let source = source.map(CString::new).transpose()?;
    let target = CString::new(target.as_os_str().as_bytes())?;
    let kind = kind.map(CString::new).transpose()?;
    let data = CString::new(data)?;
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: every pointer is null or a string that ends in a zero byte and outlives the call.
    check(
        unsafe {
            libc::mount(pointer(&source), target.as_ptr(), pointer(&kind), flags, data.as_ptr().cast())
        }
        .into(),
    )
}

/// Makes a mount and all below it read-only.
fn make_readonly(target: &Path) -> io::Result<()> {
    const ATTRIBUTES: u64 = 0x1 | 0x2; // MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID
    let attributes = [ATTRIBUTES, 0, 0, 0];
    let target = CString::new(target.as_os_str().as_bytes())?;
    let recursive = 0x8000_u32; // AT_RECURSIVE
    // SAFETY: the path ends in a zero byte; `attributes` is laid out as `struct mount_attr`, of the size that is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            recursive,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    check(result)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
