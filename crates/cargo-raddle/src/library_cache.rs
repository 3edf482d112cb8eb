//! Compiled libraries of Raddle, shared by all projects of a user.
//!
//! Every project that uses Raddle compiles the same libraries: Raddle's own and those that they are made of. They are optimised,
//! so that takes minutes. The wrapper of the compiler keeps what it made of them, and copies that where another project asks for the
//! same.
//!
//! "The same" is decided as compiler caches do: the key of an entry is the command line, in which the files of other
//! crates count by their contents and the directories of the project do not count. An entry lists the source files and environment variables that
//! the compiler used, with their hashes (the compiler's own list of dependencies has both). All must be unchanged, and so
//! must be the files of the entry itself. Whatever is not understood is compiled as if there were no cache.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::SystemTime;

use raddle_report::file;
use serde::{Deserialize, Serialize};

/// Names the directory of the cache; `off` switches it off.
pub(crate) const VARIABLE: &str = "CARGO_RADDLE_CACHE";

/// The layout of the cache. Another one gets a directory of its own.
const LAYOUT: &str = "v1";

/// When entries take more than this, those that were not used for longest are deleted.
const MOST_BYTES: u64 = 2 << 30;

/// Directories of a project, and what stands for them in what is kept.
struct Directories([(&'static str, String); 2]);

/// The variable that names the directory of a build script. It differs from project to project. The libraries that Raddle is made of ask for
/// it to include files, whose contents count.
const BUILD_SCRIPT: &str = "OUT_DIR";

impl Directories {
    fn of(compilation: &Compilation) -> Directories {
        let output = compilation.out_dir.to_string_lossy().into_owned();
        // Nothing has such a name if there is no build script.
        let generated = compilation.generated.clone().unwrap_or_else(|| "@no-build-script@".to_owned());
        Directories([("@output@", output), ("@generated@", generated)])
    }

    fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (sign, directory)| text.replace(directory, sign))
    }

    fn show(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (sign, directory)| text.replace(sign, directory))
    }
}

/// The directory of the cache: what [`VARIABLE`] says, or one beside the caches of other programs.
pub(crate) fn directory() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = match named(VARIABLE) {
        Some(directory) if directory == Path::new("off") => return None,
        Some(directory) => directory,
        None => named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?.join("raddle"),
    };
    directory.is_absolute().then(|| directory.join(LAYOUT))
}

/// The compilation of a library, as far as the cache is concerned.
#[derive(Debug)]
pub(crate) struct Compilation {
    entries: PathBuf,
    out_dir: PathBuf,
    /// Where the build script has put source files.
    generated: Option<String>,
    /// What the names of its files end in, before their extensions: `name-hash`.
    stem: String,
}

impl Compilation {
    /// `args` is the command line without the compiler, as cargo wrote it; `flags` is what is added to it. Returns none if the cache
    /// must not be used.
    pub(crate) fn new(
        cache: &Path,
        compiler: &str,
        args: &[String],
        flags: &[String],
        directory: &Path,
    ) -> Option<Compilation> {
        // A wrapper for workspaces has the compiler as its first argument, and may do anything.
        args.first().filter(|first| first.starts_with('-'))?;
        let (mut key, mut out_dir, mut name, mut suffix, mut is_library) =
            (Hasher128::new(), None, None, "", false);
        (compiler, directory, flags).hash(&mut key);
        let mut rest = args.iter().map(String::as_str);
        while let Some(arg) = rest.next() {
            let (option, value) = match arg {
                "--out-dir" | "-C" | "-L" | "--extern" | "--crate-name" | "--crate-type" | "-l" | "--cfg" => {
                    (arg, rest.next()?)
                }
                _ => match arg.split_once('=') {
                    Some((option, value)) if option.starts_with("--") => (option, value),
                    _ => (arg, ""),
                },
            };
            match (option, value) {
                ("--out-dir", value) => out_dir = Some(PathBuf::from(value)),
                // It decides into how many parts the library is compiled.
                ("-C", value) if value.starts_with("incremental=") => "incremental".hash(&mut key),
                ("-L", value) if value.starts_with("dependency=") => {}
                // Files that no list of dependencies names: native libraries, tests and programs.
                ("-l" | "-L" | "--test", _) => return None,
                ("--diagnostic-width", _) => {}
                ("--extern", value) => {
                    let (name, path) = value.split_once('=')?;
                    (name, hash_of_file(Path::new(path)).ok()?).hash(&mut key);
                }
                ("--emit", value) if value != "dep-info,metadata,link" => return None,
                ("--crate-type", value) => {
                    is_library = matches!(value, "lib" | "rlib");
                    if !is_library {
                        return None;
                    }
                }
                _ => {
                    if option == "--crate-name" {
                        name = Some(value);
                    }
                    if let Some(extra) = value.strip_prefix("extra-filename=") {
                        suffix = extra;
                    }
                    (option, value).hash(&mut key);
                }
            }
        }
        let out_dir = out_dir.filter(|directory| is_plain(directory) && is_library)?;
        let generated = env::var(BUILD_SCRIPT).ok();
        let stem = format!("{}{suffix}", name?);
        Some(Compilation { entries: cache.join(key.name()), out_dir, generated, stem })
    }

    /// Compiles by `command`, or copies what an equal compilation made before.
    pub(crate) fn run(&self, mut command: Command) -> io::Result<ExitStatus> {
        if self.copy().unwrap_or(false) {
            return Ok(ExitStatus::default());
        }
        let mut compiler = command.stderr(Stdio::piped()).spawn()?;
        let mut messages = String::new();
        if let Some(stderr) = compiler.stderr.take() {
            // Line by line: cargo begins with what depends on this crate as soon as a message says that it can.
            for line in BufReader::new(stderr).lines() {
                let line = line?;
                writeln!(io::stderr(), "{line}")?;
                messages.push_str(&line);
                messages.push('\n');
            }
        }
        let status = compiler.wait()?;
        if status.success() {
            // A library that is not kept is compiled again, nothing else.
            self.keep(&messages).ok();
        }
        Ok(status)
    }

    /// Copies the files of an entry that fits. Returns whether there is one.
    fn copy(&self) -> io::Result<bool> {
        let directories = Directories::of(self);
        for entry in fs::read_dir(&self.entries)? {
            let entry = entry?.path();
            let Ok(text) = fs::read_to_string(entry.join(Manifest::FILE)) else { continue };
            let Ok(manifest) = serde_json::from_str::<Manifest>(&text) else { continue };
            if !manifest.is_fresh(&directories) {
                continue;
            }
            let mut contents = Vec::new();
            for (name, hash) in &manifest.outputs {
                let bytes = fs::read(entry.join(name))?;
                if hash_of(&bytes) != *hash {
                    fs::remove_dir_all(&entry)?;
                    return Ok(false);
                }
                contents.push((name, bytes));
            }
            for (name, bytes) in contents {
                file::replace(&self.out_dir.join(name), &bytes)?;
            }
            let list = directories.show(&manifest.dependencies);
            file::replace(&self.out_dir.join(format!("{}.d", self.stem)), list.as_bytes())?;
            // It was used now: the oldest are deleted first.
            File::options().append(true).open(entry.join(Manifest::FILE))?.set_modified(SystemTime::now())?;
            io::stderr().write_all(directories.show(&manifest.messages).as_bytes())?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Makes an entry of what the compiler made.
    fn keep(&self, messages: &str) -> io::Result<()> {
        let directories = Directories::of(self);
        let dependencies = fs::read_to_string(self.out_dir.join(format!("{}.d", self.stem)))?;
        let mut manifest = Manifest {
            messages: directories.hide(messages),
            dependencies: directories.hide(&dependencies),
            ..Manifest::default()
        };
        manifest.list_dependencies(&dependencies, &directories)?;
        let scratch = self.entries.join(format!("new-{}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        for extension in ["rlib", "rmeta"] {
            let name = format!("lib{}.{extension}", self.stem);
            let bytes = fs::read(self.out_dir.join(&name))?;
            fs::write(scratch.join(&name), &bytes)?;
            manifest.outputs.push((name, hash_of(&bytes)));
        }
        let text = serde_json::to_string(&manifest)?;
        fs::write(scratch.join(Manifest::FILE), &text)?;
        // In one step: others may be looking. Two that made the same entry need only one of them.
        let mut name = Hasher128::new();
        (&manifest.files, &manifest.variables).hash(&mut name);
        if fs::rename(&scratch, self.entries.join(name.name())).is_err() {
            fs::remove_dir_all(&scratch)?;
        }
        Ok(())
    }
}

/// What an entry holds, and what that depends on.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    /// The source files, with their hashes.
    files: Vec<(String, String)>,
    /// The environment variables that the source asks for.
    variables: Vec<(String, Option<String>)>,
    /// The files that were made, with their hashes.
    outputs: Vec<(String, String)>,
    /// The compiler's list of dependencies, which cargo reads.
    dependencies: String,
    /// What the compiler said.
    messages: String,
}

impl Manifest {
    const FILE: &str = "manifest.json";

    /// Reads the compiler's list of dependencies, in the format of make. Paths in it have no escapes, or the entry is not kept.
    fn list_dependencies(&mut self, list: &str, directories: &Directories) -> io::Result<()> {
        for line in list.lines() {
            if let Some(variable) = line.strip_prefix("# env-dep:") {
                let (name, value) = match variable.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (variable, None),
                };
                if name == BUILD_SCRIPT {
                    continue;
                }
                if env::var(name).ok() != value {
                    return Err(io::Error::other("the compiler writes the value otherwise"));
                }
                self.variables.push((name.to_owned(), value));
            } else if let Some(file) = line.strip_suffix(':') {
                if file.contains(['\\', ' ']) {
                    return Err(io::Error::other("the path has escapes"));
                }
                self.files.push((directories.hide(file), hash_of_file(Path::new(file))?));
            }
        }
        if self.files.is_empty() {
            return Err(io::Error::other("there are no source files"));
        }
        Ok(())
    }

    /// Whether everything is as it was.
    fn is_fresh(&self, directories: &Directories) -> bool {
        let is_same = |file: &str, hash: &str| {
            hash_of_file(Path::new(&directories.show(file))).is_ok_and(|now| now == hash)
        };
        self.variables.iter().all(|(name, value)| env::var(name).ok() == *value)
            && self.files.iter().all(|(file, hash)| is_same(file, hash))
    }
}

/// Deletes the entries that were not used for longest, as far as the cache is too large.
pub(crate) fn prune(cache: &Path) {
    let mut entries = Vec::new();
    for entry in children(cache).iter().flat_map(|key| children(key)) {
        let used = fs::metadata(entry.join(Manifest::FILE)).and_then(|file| file.modified());
        let bytes: u64 =
            children(&entry).iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum();
        entries.push((used.unwrap_or(SystemTime::UNIX_EPOCH), bytes, entry));
    }
    entries.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    let mut total = 0;
    for (_, bytes, entry) in entries {
        total += bytes;
        if total > MOST_BYTES {
            fs::remove_dir_all(&entry).ok();
            // Succeeds for the last entry of a key.
            entry.parent().map(fs::remove_dir);
        }
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Whether the path looks the same in JSON and in a list of dependencies.
fn is_plain(path: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    path.is_absolute() && path.to_str().is_some_and(|path| path.chars().all(plain))
}

fn hash_of_file(path: &Path) -> io::Result<String> {
    Ok(hash_of(&fs::read(path)?))
}

fn hash_of(bytes: &[u8]) -> String {
    let mut hasher = Hasher128::new();
    hasher.write(bytes);
    hasher.name()
}

/// Two hashes of 64 bits, of which nobody will see a pair twice by accident.
struct Hasher128(DefaultHasher, DefaultHasher);

impl Hasher128 {
    fn new() -> Hasher128 {
        let mut other = DefaultHasher::new();
        other.write_u8(1);
        Hasher128(DefaultHasher::new(), other)
    }

    fn name(&self) -> String {
        format!("{:016x}{:016x}", self.0.finish(), self.1.finish())
    }
}

impl Hasher for Hasher128 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        self.1.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project of one library, and a compiler that notes how often it was called.
    struct Project {
        directory: tempfile::TempDir,
    }

    const SOURCE: &str = "pub fn answer() -> &'static str { include_str!(\"text\") }";

    impl Project {
        fn new() -> Project {
            let project = Project { directory: tempfile::tempdir().unwrap() };
            project.write("lib.rs", SOURCE);
            project.write("text", "42");
            project
        }

        fn path(&self) -> &Path {
            self.directory.path()
        }

        fn write(&self, file: &str, text: &str) {
            fs::write(self.path().join(file), text).unwrap();
        }

        fn args(&self, out_dir: &str) -> Vec<String> {
            let line = format!(
                "--crate-name small {} --crate-type lib --emit=dep-info,metadata,link --error-format=json \
                 --json=artifacts -C extra-filename=-1 --out-dir {} -L dependency=/nowhere",
                self.path().join("lib.rs").display(),
                self.path().join(out_dir).display(),
            );
            line.split_ascii_whitespace().map(str::to_owned).collect()
        }

        /// Compiles the library into `out_dir`. Returns whether the compiler was called.
        fn compile(&self, out_dir: &str, flags: &[&str]) -> bool {
            self.compile_generated(out_dir, flags, None)
        }

        /// The same with a directory of a build script.
        fn compile_generated(&self, out_dir: &str, flags: &[&str], generated: Option<&str>) -> bool {
            let (args, flags) =
                (self.args(out_dir), flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>());
            let mut compilation =
                Compilation::new(&self.path().join("cache"), "rustc 1", &args, &flags, self.path()).unwrap();
            compilation.generated =
                generated.map(|name| self.path().join(name).to_string_lossy().into_owned());
            let noted = self.path().join("called");
            fs::remove_file(&noted).ok();
            fs::create_dir_all(self.path().join(out_dir)).unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", "touch \"$0\" && exec rustc \"$@\""]).arg(&noted).args(&args).args(&flags);
            if let Some(generated) = &compilation.generated {
                command.env(BUILD_SCRIPT, generated);
            }
            assert!(compilation.run(command).unwrap().success());
            for file in ["libsmall-1.rlib", "libsmall-1.rmeta", "small-1.d"] {
                assert!(self.path().join(out_dir).join(file).exists(), "{file}");
            }
            noted.exists()
        }
    }

    #[test]
    fn what_was_compiled_once_is_copied() {
        let project = Project::new();
        assert!(project.compile("a", &[]));
        assert!(!project.compile("b", &[]));
        let list =
            |out_dir: &str| fs::read_to_string(project.path().join(out_dir).join("small-1.d")).unwrap();
        assert_eq!(list("a").replace("/a/", "/b/"), list("b"));
        let library = |out_dir: &str| fs::read(project.path().join(out_dir).join("libsmall-1.rlib")).unwrap();
        assert!(library("a") == library("b"));
    }

    #[test]
    fn other_sources_files_and_flags_are_compiled() {
        let project = Project::new();
        assert!(project.compile("a", &[]));
        assert!(project.compile("b", &["-Copt-level=2"]));
        project.write("text", "43");
        assert!(project.compile("c", &[]));
        project.write("lib.rs", &format!("{SOURCE}\n// changed"));
        assert!(project.compile("d", &[]));
        // All of them are kept.
        project.write("lib.rs", SOURCE);
        assert!(!project.compile("e", &[]));
        project.write("text", "42");
        assert!(!project.compile("f", &[]) && !project.compile("g", &["-Copt-level=2"]));
    }

    #[test]
    fn generated_sources_count_by_their_contents() {
        let project = Project::new();
        project.write("lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));");
        for (generated, text) in [("x", "pub fn a() {}"), ("y", "pub fn a() {}"), ("z", "pub fn b() {}")] {
            fs::create_dir_all(project.path().join(generated)).unwrap();
            project.write(&format!("{generated}/made.rs"), text);
        }
        assert!(project.compile_generated("a", &[], Some("x")));
        assert!(!project.compile_generated("b", &[], Some("y")));
        let list = fs::read_to_string(project.path().join("b/small-1.d")).unwrap();
        assert!(list.contains("/y/made.rs") && !list.contains("/x/made.rs"), "{list}");
        assert!(project.compile_generated("c", &[], Some("z")));
    }

    #[test]
    fn damaged_entries_are_compiled_again() {
        let project = Project::new();
        project.compile("a", &[]);
        let key = children(&project.path().join("cache")).remove(0);
        let entry = children(&key).remove(0);
        fs::write(entry.join("libsmall-1.rlib"), "x").unwrap();
        assert!(project.compile("b", &[]));
        assert!(!project.compile("c", &[]));
    }

    #[test]
    fn programs_tests_and_native_libraries_are_not_kept() {
        let project = Project::new();
        let cacheable = |change: &dyn Fn(&mut Vec<String>)| {
            let mut args = project.args("a");
            change(&mut args);
            Compilation::new(Path::new("/cache"), "rustc 1", &args, &[], project.path()).is_some()
        };
        assert!(cacheable(&|_| {}));
        assert!(!cacheable(&|args| args.push("--test".to_owned())));
        assert!(!cacheable(&|args| args.insert(0, "/bin/rustc".to_owned())));
        assert!(!cacheable(&|args| args.extend(["-l".to_owned(), "static=z".to_owned()])));
        assert!(!cacheable(&|args| args.extend(["-L".to_owned(), "native=/z".to_owned()])));
        assert!(!cacheable(
            &|args| args.extend(["--extern".to_owned(), "gone=/nowhere/libgone.rmeta".to_owned()])
        ));
        let program =
            |args: &mut Vec<String>| *args.iter_mut().find(|arg| *arg == "lib").unwrap() = "bin".to_owned();
        assert!(!cacheable(&program));
    }

    #[test]
    fn pruning_keeps_what_is_small_and_new() {
        let project = Project::new();
        project.compile("a", &[]);
        prune(&project.path().join("cache"));
        assert!(!project.compile("b", &[]));
    }
}
