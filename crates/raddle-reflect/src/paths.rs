//! Source paths, shortened for readers.

use std::path::Path;

/// A shortened source path, and whether it belongs to the standard library.
///
/// The directories of the standard library and of the registry are the same for everybody and go; paths in the
/// workspace (where the unit was compiled, if the process runs inside it) become relative to it.
pub(crate) fn shorten(path: &str, compiled_in: Option<&str>, running_in: Option<&Path>) -> (String, bool) {
    // Precompiled: `/rustc/<commit>/library/`. With the sources installed: `…/lib/rustlib/src/rust/library/`.
    if let Some(rest) = path.strip_prefix("/rustc/")
        && let Some((_, rest)) = rest.split_once('/')
    {
        return (rest.strip_prefix("library/").unwrap_or(rest).to_owned(), true);
    }
    if let Some((_, rest)) = path.split_once("/rustlib/src/rust/library/") {
        return (rest.to_owned(), true);
    }
    // The standard library's own dependencies are vendored under names without a directory.
    if let Some(rest) = path.strip_prefix("/rust/deps/") {
        return (rest.to_owned(), true);
    }
    for (cache, levels) in FETCHED {
        if let Some((_, rest)) = path.split_once(cache) {
            let short = rest.splitn(levels + 1, '/').last().unwrap_or(rest);
            return (short.to_owned(), false);
        }
    }
    if let (Some(root), Some(here)) = (compiled_in, running_in)
        && here.starts_with(root)
        && let Ok(rest) = Path::new(path).strip_prefix(root)
    {
        return (rest.to_string_lossy().into_owned(), false);
    }
    if let Some(here) = running_in
        && let Ok(rest) = Path::new(path).strip_prefix(here)
    {
        return (rest.to_string_lossy().into_owned(), false);
    }
    (path.to_owned(), false)
}

/// Whether a path lies in one of the directories to which cargo fetches dependencies.
pub(crate) fn is_fetched(path: &str) -> bool {
    FETCHED.iter().any(|(cache, _)| path.contains(cache))
}

/// The directories to which cargo fetches dependencies, and the number of directories in them that are the same for everybody.
const FETCHED: [(&str, usize); 2] = [("/registry/src/", 1), ("/git/checkouts/", 0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str, internal: bool) {
        let short = shorten(path, Some("/home/me/work"), Some(Path::new("/home/me/work/crates/one")));
        assert_eq!(short, (expected.to_owned(), internal));
    }

    #[test]
    fn paths_lose_what_everybody_knows() {
        check("/rustc/59807616e1fa/library/core/src/sync/atomic.rs", "core/src/sync/atomic.rs", true);
        check(
            "/opt/toolchain/lib/rustlib/src/rust/library/std/src/thread/mod.rs",
            "std/src/thread/mod.rs",
            true,
        );
        check("/rust/deps/hashbrown-0.15.2/src/raw/mod.rs", "hashbrown-0.15.2/src/raw/mod.rs", true);
        check(
            "/home/me/.cargo/registry/src/index.example-1949cf8c6b5b557f/crossbeam-queue-0.3.12/src/seg_queue.rs",
            "crossbeam-queue-0.3.12/src/seg_queue.rs",
            false,
        );
        check("/home/me/work/crates/one/src/lib.rs", "crates/one/src/lib.rs", false);
        check("/home/me/elsewhere/src/lib.rs", "/home/me/elsewhere/src/lib.rs", false);
    }
}
