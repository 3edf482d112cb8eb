//! Files that other commands may be reading.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

/// Writes a file in one step: whoever reads it meanwhile sees the old or the new one.
pub(crate) fn write_whole(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut scratch = OsString::from(path);
    scratch.push(format!(".{}", std::process::id()));
    fs::write(&scratch, contents)?;
    fs::rename(&scratch, path).inspect_err(|_| _ = fs::remove_file(&scratch))
}
