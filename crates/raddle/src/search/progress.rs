//! Lines to `cargo raddle`, which shows how far each search is.

use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use raddle_engine::exploration::Progress;

use super::summary::rounded;

/// Sends how far a search is.
pub(crate) fn send_progress(progress: &Progress<'_>) {
    let Progress { config, executions, estimate, depth } = progress;
    let total = match estimate.filter(|estimate| estimate > executions) {
        Some(estimate) => format!("~{}", rounded(estimate)),
        None if config.executions == u64::MAX => "0".to_owned(),
        None => config.executions.to_string(),
    };
    write_line(&format!("{executions}\t{total}\t{depth}\t{}", config.label));
}

/// Writes a line to the pipe that `cargo raddle` reads, if there is one.
pub(crate) fn write_line(text: &str) {
    let Some(fd) = std::env::var("RADDLE_PROGRESS").ok().and_then(|fd| fd.parse().ok()) else { return };
    // SAFETY: `cargo raddle` passes a descriptor that stays open; it is never closed here.
    let mut pipe = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    // One write, so that lines of several processes do not mix. `cargo raddle` may have closed its end.
    let _ = pipe.write_all(format!("{text}\n").as_bytes());
}
