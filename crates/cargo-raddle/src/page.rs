//! Pages of failures: written beside the failure file, opened in a browser.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use raddle_report::Failure;
use raddle_report::html::{self, Sources};

use crate::error::{Error, Result};
use crate::report;

/// The directories in which source files are looked for, in order. Failure files name them relative to their workspace.
#[derive(Clone, Debug)]
pub(crate) struct Roots(Vec<PathBuf>);

impl Roots {
    /// The root of a workspace.
    pub(crate) fn of_workspace(root: &Path) -> Roots {
        Roots(vec![root.to_owned()])
    }

    /// The directory of the recorded manifest, the working directory, the directory of a failure file, and those that contain
    /// them: the failure file lies in the workspace that it is from, as a rule.
    pub(crate) fn around(file: &Path, failure: &Failure) -> Roots {
        let here = std::env::current_dir().unwrap_or_default();
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let beside = file.parent().unwrap_or(&file).to_owned();
        let args = &failure.build.cargo_args;
        let manifest = args.iter().position(|arg| arg == "--manifest-path").and_then(|at| args.get(at + 1));
        let recorded = manifest.and_then(|manifest| Path::new(manifest).parent()).map(Path::to_owned);
        Roots(
            recorded
                .into_iter()
                .chain([here, beside])
                .collect::<Vec<_>>()
                .iter()
                .flat_map(|directory| directory.ancestors())
                .map(Path::to_owned)
                .collect(),
        )
    }

    /// The source code that a failure mentions.
    pub(crate) fn sources(&self, failure: &Failure) -> Sources {
        Sources::of(failure, |file| self.read(file))
    }

    fn read(&self, file: &str) -> Option<String> {
        self.0.iter().find_map(|root| std::fs::read_to_string(root.join(file)).ok())
    }
}

/// The page of a failure from `path`.
pub(crate) fn render(mut failure: Failure, path: &Path, roots: &Roots) -> String {
    failure.file = Some(path.to_owned());
    let sources = roots.sources(&failure);
    html::page(&failure, &sources)
}

/// Writes the page of a failure file beside it, and returns where it is.
pub(crate) fn write_beside(path: &Path, roots: &Roots) -> Result<PathBuf> {
    let mut failure = report::read(path)?;
    failure.file = Some(path.to_owned());
    let sources = roots.sources(&failure);
    let page = path.with_extension("html");
    html::write(&failure, &sources, &page).map_err(Error::file("write", &page))?;
    Ok(page)
}

/// Writes the pages of failure files, and prints where they are.
pub(crate) fn announce(failures: &[PathBuf], roots: impl Fn(&Path) -> Roots) {
    for failure in failures {
        match write_beside(failure, &roots(failure)) {
            Ok(page) => eprintln!("page:     {}", page.display()),
            Err(error) => eprintln!("warning: there is no page of {}: {error}", failure.display()),
        }
    }
}

/// Opens a page with the program that `BROWSER` names, or else with the one that the desktop has for pages. The command does
/// not wait for the browser.
pub(crate) fn open(page: &Path) -> Result<()> {
    let page = std::path::absolute(page).map_err(Error::file("find", page))?;
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let program = browser.unwrap_or_else(|| OsString::from("xdg-open"));
    let started = Command::new(&program)
        .arg(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.map(drop).map_err(|error| {
        Error::usage(format_args!(
            "cannot start `{}` to open the page ({error}): set BROWSER to a browser, or open {} yourself",
            program.display(),
            page.display()
        ))
    })
}
