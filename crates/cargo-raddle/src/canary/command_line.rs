//! The command line by which a test was compiled, as that of the canary.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// How a test was compiled: the wrapper writes it down, because cargo does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommandLine {
    /// The compiler and its arguments, as cargo passed them to the wrapper.
    pub(crate) args: Vec<String>,
    /// The working directory.
    pub(crate) directory: PathBuf,
}

impl CommandLine {
    /// Reads what the wrapper wrote; none if this binary was not compiled by it.
    pub(crate) fn read(note: &Path) -> Option<CommandLine> {
        serde_json::from_str(&fs::read_to_string(note).ok()?).ok()
    }

    /// What says how code is compiled: everything that does not say what is compiled, or what is printed meanwhile.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut kept = Vec::new();
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            let (name, joined) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (&**arg, None),
            };
            let takes_value = VALUES.contains(&name);
            let value = joined.clone().or_else(|| takes_value.then(|| args.next().cloned()).flatten());
            if is_about_the_crate(name, value.as_deref()) {
                continue;
            }
            kept.push(arg.clone());
            if joined.is_none() {
                kept.extend(value);
            }
        }
        kept
    }

    /// The library of Raddle that the test was compiled with, if any.
    pub(crate) fn raddle(&self) -> Option<PathBuf> {
        let direct = self.values("--extern").find_map(|value| {
            let path = Path::new(value.split_once('=')?.1);
            is_raddle(path).then(|| path.to_owned())
        });
        direct.or_else(|| self.indirect())
    }

    /// The newest library of Raddle among those that the test's dependencies may link.
    fn indirect(&self) -> Option<PathBuf> {
        let directories = self.values("-L").filter_map(|value| value.strip_prefix("dependency="));
        let files = directories.filter_map(|directory| fs::read_dir(directory).ok()).flatten();
        let libraries = files.filter_map(|file| Some(file.ok()?.path())).filter(|path| is_raddle(path));
        libraries.max_by_key(|path| {
            fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
        })
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.args.windows(2).filter(move |pair| pair[0] == name).map(|pair| &*pair[1])
    }
}

/// Whether a file is the library of Raddle: `libraddle-0123456789abcdef.rlib`.
fn is_raddle(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("libraddle-") && name.ends_with(".rlib")
}

/// Options whose value is the next argument, unless it is joined to them.
const VALUES: [&str; 24] = [
    "-A",
    "-C",
    "-D",
    "-F",
    "-L",
    "-W",
    "-Z",
    "-l",
    "-o",
    "--allow",
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--codegen",
    "--crate-name",
    "--crate-type",
    "--deny",
    "--edition",
    "--emit",
    "--extern",
    "--forbid",
    "--out-dir",
    "--target",
    "--warn",
];

/// Whether an argument says which crate is compiled into what, or what the compiler is to say about its source.
fn is_about_the_crate(name: &str, value: Option<&str>) -> bool {
    match (name, value) {
        ("-C" | "--codegen", Some(option)) => {
            ["metadata=", "extra-filename=", "incremental="].iter().any(|begin| option.starts_with(begin))
        }
        (
            "--test" | "--extern" | "--crate-name" | "--crate-type" | "--edition" | "--emit" | "--out-dir"
            | "-o",
            _,
        ) => true,
        ("--cfg" | "--check-cfg", _) => true,
        ("-A" | "-W" | "-D" | "-F" | "--allow" | "--warn" | "--deny" | "--forbid" | "--cap-lints", _) => true,
        ("--json" | "--error-format" | "--diagnostic-width" | "--color", _) => true,
        _ if ["-A", "-W", "-D", "-F"].iter().any(|lint| name.starts_with(lint)) => true,
        _ => !name.starts_with('-') && name.ends_with(".rs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        let args = text.split_ascii_whitespace().map(str::to_owned).collect();
        CommandLine { args, directory: "/ws".into() }
    }

    #[test]
    fn what_decides_about_code_is_kept() {
        let test = line(
            "rustc --crate-name basic --edition=2024 tests/basic.rs --error-format=json --json=artifacts --emit=dep-info,link \
             -C opt-level=s --test --cfg feature=\"x\" --check-cfg cfg(docsrs) -C metadata=12 -C extra-filename=-34 --out-dir /t/deps \
             -C incremental=/t/inc --target t -L dependency=/t/deps --extern raddle=/t/deps/libraddle-56.rlib --forbid=unsafe_code \
             -Dwarnings -D missing_docs -C panic=abort -Ccodegen-units=1 -C link-arg=-Wl,-z --sysroot=/s",
        );
        let expected = "rustc -C opt-level=s --target t -L dependency=/t/deps -C panic=abort -Ccodegen-units=1 -C link-arg=-Wl,-z \
                        --sysroot=/s";
        assert_eq!(test.flags().join(" "), expected);
        assert_eq!(test.raddle(), Some("/t/deps/libraddle-56.rlib".into()));
        assert_eq!(
            line("clippy-driver rustc --crate-name a src/lib.rs --test").flags().join(" "),
            "clippy-driver rustc"
        );
    }

    #[test]
    fn raddle_is_found_where_a_dependency_brings_it() {
        let directory = tempfile::tempdir().unwrap();
        let test = line(&format!(
            "rustc -L dependency={} --extern help=/x/libhelp-1.rlib",
            directory.path().display()
        ));
        assert_eq!(test.raddle(), None);
        let library = directory.path().join("libraddle-78.rlib");
        for name in ["libraddle-78.rmeta", "libraddle_engine-1.rlib"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(test.raddle(), None);
        fs::write(&library, "").unwrap();
        assert_eq!(test.raddle(), Some(library));
    }
}
