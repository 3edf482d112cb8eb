//! How a submission is built: the compiler's calls of one ordinary build, repeated with other paths.
//!
//! Cargo builds the course's package once, with the reference solution. A wrapper around the compiler notes each call. To build a
//! submission, the calls for the library and for the test targets are made again: the library from the submission's sources,
//! the tests with the submission's library. Everything else, Raddle itself included, is taken from the first build.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One call of the compiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The working directory.
    pub directory: PathBuf,
    /// The compiler.
    pub program: PathBuf,
    /// The arguments.
    pub args: Vec<String>,
    /// The environment.
    pub env: BTreeMap<String, String>,
}

/// The calls that build a package's library and tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// The name of the library's crate.
    pub crate_name: String,
    /// The call that builds the library.
    pub library: Call,
    /// The calls that build the test targets, by name.
    pub tests: BTreeMap<String, Call>,
}

/// The script that notes the calls of the compiler in a directory, and then makes them.
///
/// # Errors
///
/// When the script cannot be written.
pub fn write_recorder(script: &Path, notes: &Path) -> io::Result<()> {
    let quoted = notes.display().to_string().replace('\'', r"'\''");
    // Names begin with a dot until the note is complete.
    let text = format!(
        "#!/bin/sh\n\
         # Notes a call of the compiler, then makes it.\n\
         d='{quoted}'\n\
         {{ printf '%s\\0' \"$PWD\" \"$#\" \"$@\"; env -0; }} > \"$d/.$$\" && mv \"$d/.$$\" \"$d/$$\"\n\
         exec \"$@\"\n"
    );
    fs::write(script, text)?;
    fs::set_permissions(script, fs::Permissions::from_mode(0o755))
}

impl Recipe {
    /// Finds the calls for a package among those that were noted.
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing.
    pub fn find(notes: &Path, package: &str, targets: &[&str]) -> Result<Recipe, String> {
        let unreadable = |error: io::Error| format!("cannot read `{}`: {error}", notes.display());
        let mut library = None;
        let mut tests = BTreeMap::new();
        for entry in fs::read_dir(notes).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let Some(call) = fs::read(&path).ok().and_then(|note| Call::parse(&note)) else { continue };
            if call.env.get("CARGO_PKG_NAME").is_none_or(|name| name != package) {
                continue;
            }
            let Some(name) = call.value("--crate-name").map(str::to_owned) else { continue };
            let is_test = call.args.iter().any(|arg| arg == "--test");
            // Targets are named as in the manifest, crates without hyphens.
            let target = targets.iter().find(|target| target.replace('-', "_") == name);
            match target {
                Some(target) if is_test => {
                    tests.insert((*target).to_owned(), call);
                }
                _ if !is_test && call.value("--crate-type") == Some("lib") => library = Some((name, call)),
                _ => {}
            }
        }
        let (crate_name, library) = library.ok_or(format!("the package `{package}` has no library"))?;
        if let Some(missing) = targets.iter().find(|target| !tests.contains_key(**target)) {
            return Err(format!("the package `{package}` has no test target `{missing}`"));
        }
        Ok(Recipe { crate_name, library, tests })
    }

    /// The call that builds the library of a submission. `directory` has its files, of which `root` is the first. Unless
    /// `allow_unsafe`, the compiler rejects unsafe code, however it is written.
    pub fn library_of(&self, directory: &Path, root: &Path, out: &Path, allow_unsafe: bool) -> Call {
        let mut call = self.library.clone().into(out);
        call.directory = directory.to_owned();
        let source = call.args.iter().position(|arg| arg.ends_with(".rs") && !arg.starts_with('-'));
        if let Some(source) = source {
            call.args[source] = root.display().to_string();
        }
        // A submission cannot tell whether it is tested.
        remove_pair(&mut call.args, "--cfg", "raddle");
        if allow_unsafe {
            call.args.push("--cap-lints=allow".to_owned());
        } else {
            // A cap on lints would be one on this, too. The lints of the course's package are not the submission's.
            remove_lint_levels(&mut call.args);
            call.args.extend(["-A", "warnings", "-F", "unsafe_code"].map(str::to_owned));
        }
        call.args.push(format!("--remap-path-prefix={}=.", directory.display()));
        call.env.insert("CARGO_MANIFEST_DIR".to_owned(), directory.display().to_string());
        call
    }

    /// The call that builds a test target with the library of a submission in `out`.
    pub fn test_of(&self, target: &str, out: &Path) -> Option<Call> {
        let mut call = self.tests.get(target)?.clone().into(out);
        let prefix = format!("{}=", self.crate_name);
        let library = self.library_file(out);
        for position in 1..call.args.len() {
            if call.args[position - 1] == "--extern" && call.args[position].starts_with(&prefix) {
                call.args[position] = format!("{prefix}{}", library.display());
            }
        }
        call.args.push("--cap-lints=allow".to_owned());
        call.move_to_package();
        Some(call)
    }

    /// The file of a submission's library.
    pub fn library_file(&self, out: &Path) -> PathBuf {
        out.join(format!("lib{}{}.rlib", self.crate_name, suffix(&self.library)))
    }

    /// The file of a test target.
    pub fn test_file(&self, target: &str, out: &Path) -> Option<PathBuf> {
        let call = self.tests.get(target)?;
        Some(out.join(format!("{}{}", target.replace('-', "_"), suffix(call))))
    }

    /// The directories with libraries that the calls use.
    pub fn search_paths(&self) -> Vec<PathBuf> {
        let calls = std::iter::once(&self.library).chain(self.tests.values());
        let mut paths: Vec<PathBuf> = calls.flat_map(Call::search_paths).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The files that the calls name: libraries of crates, and what is linked.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let calls = std::iter::once(&self.library).chain(self.tests.values());
        let mut files: Vec<PathBuf> = calls.flat_map(|call| call.inputs()).collect();
        files.sort();
        files.dedup();
        files
    }
}

impl Call {
    fn parse(note: &[u8]) -> Option<Call> {
        let mut fields =
            note.split(|&byte| byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
        let directory = PathBuf::from(fields.next()?);
        let count: usize = fields.next()?.parse().ok()?;
        let mut args: Vec<String> = fields.by_ref().take(count).collect();
        let env = fields.filter_map(|field| {
            let (name, value) = field.split_once('=')?;
            kept(name).then(|| (name.to_owned(), value.to_owned()))
        });
        let env = env.collect();
        if args.is_empty() {
            return None;
        }
        let program = PathBuf::from(args.remove(0));
        Some(Call { directory, program, args, env })
    }

    /// The value of an option.
    pub fn value(&self, option: &str) -> Option<&str> {
        let position = self.args.iter().position(|arg| arg == option)?;
        self.args.get(position + 1).map(String::as_str)
    }

    /// The same call, with results in another directory and nothing kept for a next build.
    fn into(mut self, out: &Path) -> Call {
        let mut args = Vec::new();
        let mut rest = self.args.into_iter().peekable();
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--out-dir" => {
                    rest.next();
                    args.extend([arg, out.display().to_string()]);
                }
                "-C" if rest.peek().is_some_and(|value| value.starts_with("incremental=")) => {
                    rest.next();
                }
                _ if arg.starts_with("--emit=") => args.push("--emit=link".to_owned()),
                _ if arg.starts_with("--error-format=") => args.push("--error-format=json".to_owned()),
                _ if arg.starts_with("--json=") => {}
                _ => args.push(arg),
            }
        }
        self.args = args;
        self
    }

    /// Makes the package the working directory, so that traces name `tests/public.rs` and not where the course lies.
    fn move_to_package(&mut self) {
        let Some(package) = self.env.get("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return };
        let directory = self.directory.clone();
        let source = self.args.iter_mut().find(|arg| arg.ends_with(".rs") && !arg.starts_with('-'));
        let Some(source) = source else { return };
        let path = directory.join(&*source);
        if let Ok(inside) = path.strip_prefix(&package) {
            *source = inside.display().to_string();
            self.args.push(format!("--remap-path-prefix={}=.", package.display()));
            self.directory = package;
        }
    }

    fn search_paths(&self) -> Vec<PathBuf> {
        let pairs = self.args.windows(2).filter(|pair| pair[0] == "-L");
        let path = |value: &str| PathBuf::from(value.split_once('=').map_or(value, |(_, path)| path));
        pairs.map(|pair| path(&pair[1])).filter(|path| path.is_absolute()).collect()
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let externs = self
            .args
            .windows(2)
            .filter(|pair| pair[0] == "--extern")
            .filter_map(|pair| pair[1].split_once('='));
        let linked = self.args.iter().filter_map(|arg| arg.strip_prefix("link-arg="));
        let renames =
            self.args.iter().filter_map(|arg| arg.split_once("rewrite-map-file=").map(|(_, file)| file));
        let named = externs.map(|(_, file)| file).chain(linked).chain(renames).map(PathBuf::from);
        named.filter(|path| path.is_absolute() && path.exists()).collect()
    }
}

/// The variables that a compiler or its linker may look at.
fn kept(name: &str) -> bool {
    name.starts_with("CARGO_") && !name.starts_with("CARGO_RADDLE")
        || matches!(name, "PATH" | "LANG" | "LC_ALL")
}

fn suffix(call: &Call) -> &str {
    let options = call.args.windows(2).filter(|pair| pair[0] == "-C");
    options.filter_map(|pair| pair[1].strip_prefix("extra-filename=")).next().unwrap_or("")
}

fn remove_pair(args: &mut Vec<String>, option: &str, value: &str) {
    while let Some(position) = args.windows(2).position(|pair| pair[0] == option && pair[1] == value) {
        args.drain(position..position + 2);
    }
}

/// Removes what cargo says of the lints of a package: `--warn=missing_docs`.
fn remove_lint_levels(args: &mut Vec<String>) {
    const LEVELS: [&str; 5] = ["--allow=", "--warn=", "--deny=", "--forbid=", "--force-warn="];
    args.retain(|arg| !LEVELS.iter().any(|level| arg.starts_with(level)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(directory: &Path, number: u32, args: &str) {
        let args: Vec<&str> = args.split(' ').collect();
        let mut fields = vec!["/course".to_owned(), args.len().to_string()];
        fields.extend(args.iter().map(|arg| (*arg).to_owned()));
        fields.extend(
            ["CARGO_PKG_NAME=my-list", "CARGO_MANIFEST_DIR=/course/list", "HOME=/home/me"].map(str::to_owned),
        );
        fs::write(directory.join(number.to_string()), fields.join("\0") + "\0").unwrap();
    }

    #[test]
    fn noted_calls_are_made_again_with_other_paths() {
        let notes = tempfile::tempdir().unwrap();
        let shared = "--edition=2024 --emit=dep-info,link --out-dir /t/deps -C incremental=/t/inc -L dependency=/t/deps --cfg raddle --deny=missing_docs";
        note(
            notes.path(),
            1,
            &format!(
                "rustc --crate-name my_list list/solution.rs --crate-type lib -C extra-filename=-1 {shared}"
            ),
        );
        note(
            notes.path(),
            2,
            &format!(
                "rustc --crate-name public list/tests/public.rs --test --extern my_list=/t/deps/libmy_list-1.rlib -C extra-filename=-2 {shared}"
            ),
        );
        let recipe = Recipe::find(notes.path(), "my-list", &["public"]).unwrap();
        let out = Path::new("/out");

        let library = |allow_unsafe| {
            recipe.library_of(Path::new("/submission"), Path::new("src/lib.rs"), out, allow_unsafe)
        };
        let safe = library(false).args.join(" ");
        assert!(safe.contains("-A warnings -F unsafe_code") && !safe.contains("cap-lints"), "{safe}");
        assert!(!safe.contains("missing_docs"), "{safe}");
        let library = library(true);
        assert_eq!(library.directory, Path::new("/submission"));
        let args = library.args.join(" ");
        assert!(args.contains("my_list src/lib.rs --crate-type lib"), "{args}");
        assert!(
            args.contains(
                "--emit=link --out-dir /out -L dependency=/t/deps --deny=missing_docs --cap-lints=allow"
            ),
            "{args}"
        );
        assert!(!library.env.contains_key("HOME"), "what the compiler does not need is not handed on");

        let test = recipe.test_of("public", out).unwrap();
        assert_eq!(test.directory, Path::new("/course/list"));
        let args = test.args.join(" ");
        assert!(
            args.contains("public tests/public.rs --test --extern my_list=/out/libmy_list-1.rlib"),
            "{args}"
        );
        assert!(args.contains("--cfg raddle"), "tests may know: {args}");
        assert_eq!(recipe.test_file("public", out), Some(PathBuf::from("/out/public-2")));

        assert!(Recipe::find(notes.path(), "my-list", &["hidden"]).unwrap_err().contains("`hidden`"));
        assert!(Recipe::find(notes.path(), "other", &["public"]).is_err());
    }
}
