//! Files that appear whole or not at all: written under a temporary name in the same directory, then renamed.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, process};

/// Writes a new file. An existing one is not overwritten, but an error ([`io::ErrorKind::AlreadyExists`]).
pub fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let temporary = Temporary::beside(path, text.as_bytes())?;
    match fs::hard_link(&temporary.path, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // No links on this file system: take the name, then move the file over it.
            fs::OpenOptions::new().write(true).create_new(true).open(path)?;
            fs::rename(&temporary.path, path)
        }
        result => result,
    }
}

/// Writes a file in place of the one that is there, if any. Whoever reads it meanwhile sees the old or the new one.
pub fn replace(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let temporary = Temporary::beside(path, contents.as_ref())?;
    fs::rename(&temporary.path, path)
}

/// A file under a temporary name, which is removed at the end unless it was renamed.
pub(super) struct Temporary {
    pub(super) path: PathBuf,
}

impl Temporary {
    /// Writes a file with a name of its own. Other processes and other threads may be writing in the directory as well.
    pub(super) fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<Temporary> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".{name}.{}.{number}.tmp", process::id()));
        let mut file = fs::File::create(&path)?;
        let temporary = Temporary { path };
        file.write_all(bytes)?;
        Ok(temporary)
    }

    fn beside(path: &Path, bytes: &[u8]) -> io::Result<Temporary> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Temporary::write(dir, &name, bytes)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // An error means that the file has been renamed.
        let _ = fs::remove_file(&self.path);
    }
}
