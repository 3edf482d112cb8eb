//! The shared build: cargo builds the course's package once, and the calls of the compiler are noted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use raddle_grade::course::{Course, Mistake, Mistakes};
use raddle_grade::grader::Grader;
use raddle_grade::recipe::{self, Recipe};
use raddle_grade::sandbox::{Isolation, Sandbox};
use raddle_grade::store::{self, Store};

use super::GradeArgs;
use crate::binary::{TestBinary, build_tests};
use crate::cargo::CargoOptions;
use crate::cargo::metadata::Package;
use crate::error::{Error, Result};
use crate::session::Session;

/// What a grading run works with.
pub(super) struct Prepared {
    pub(super) grader: Grader,
    /// The reference solution: its root file, or the folder that looks like a submission.
    pub(super) reference: PathBuf,
}

/// Builds the course and makes a grader of it.
pub(super) fn prepare(
    course: Course,
    args: &GradeArgs,
    state: &Path,
    stop: &'static AtomicBool,
) -> Result<Prepared> {
    let session = open(&course, args)?;
    let package = package(&session, &course)?;
    let (name, directory) = (package.name.clone(), package.directory().to_owned());
    let library = package.library().map(|library| library.src_path.clone());
    let library = library.ok_or_else(|| {
        Error::usage(format_args!("give the package `{name}` a library: the reference solution"))
    })?;
    let raddle = session.metadata.packages.iter().filter(|package| package.name == "raddle");
    let engine: Vec<String> =
        session.metadata.reachable(raddle).iter().map(|package| package.name.replace('-', "_")).collect();
    let slim = session.directory.join("grade").join("slim");
    let (recipe, binaries) = build(session, &course, &name)?;
    check_tests(&course, args, &binaries)?;
    check_imports(&recipe)?;

    let executable = std::env::current_exe().map_err(Error::file("find", "cargo-raddle"))?;
    let files = store::course_files(&directory).map_err(Error::file("read", &directory))?;
    let tool = tool(&executable, &recipe);
    let mut files: Vec<PathBuf> = files;
    files.push(args.course.clone());
    let course_key = store::course_key(&files, &tool).map_err(Error::file("read", &directory))?;

    let sysroot = sysroot(&recipe)?;
    let root = state.join("root");
    let work = state.join("work");
    for directory in [&root, &work] {
        fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    }
    let sandbox = Sandbox::new(executable, root, wanted_isolation());
    let store = Store::open(state.join("results")).map_err(Error::file("create", state))?;
    // A solution at `solution/src/lib.rs` is a submission itself if submissions have `src/lib.rs`.
    let reference = if library.ends_with(&course.files[0]) {
        library.ancestors().nth(course.files[0].components().count()).unwrap_or(&library).to_owned()
    } else {
        library
    };
    let grader =
        Grader::new(course, course_key, recipe, sysroot, sandbox, store, work, (&engine, &slim), stop)
            .map_err(Error::file("read", &reference))?;
    Ok(Prepared { grader, reference })
}

/// A variable by which less isolation can be asked for: to see what a machine would do that allows less.
const ISOLATION: &str = "CARGO_RADDLE_ISOLATION";

fn wanted_isolation() -> Isolation {
    match std::env::var(ISOLATION).as_deref() {
        Ok("none") => Isolation::NONE,
        _ => Isolation::FULL,
    }
}

fn open(course: &Course, args: &GradeArgs) -> Result<Session> {
    let mut options = CargoOptions { output: args.output.clone(), ..CargoOptions::default() };
    options.manifest.manifest_path = Some(course.manifest.clone());
    options.manifest.offline = args.offline;
    options.compilation.target_dir.clone_from(&args.target_dir);
    options.compilation.profile.clone_from(&course.profile);
    options.targets.test = course.targets().into_iter().map(str::to_owned).collect();
    Session::open(options)
}

fn package<'a>(session: &'a Session, course: &Course) -> Result<&'a Package> {
    let manifest = course.manifest.canonicalize().map_err(Error::file("find", &course.manifest))?;
    let is_it = |package: &&Package| package.manifest_path.canonicalize().is_ok_and(|path| path == manifest);
    session.metadata.packages.iter().find(is_it).ok_or_else(|| {
        Error::usage(format_args!("`{}` is no package: give it a [package]", manifest.display()))
    })
}

/// Builds the package and returns the compiler's calls. Cargo makes them only for what has changed; so they are kept, and where they
/// are not all known, cargo is made to forget the package.
fn build(mut session: Session, course: &Course, package: &str) -> Result<(Recipe, Vec<TestBinary>)> {
    let directory = session.directory.join("grade").join(package);
    let notes = directory.join("notes");
    let kept = directory.join("recipe.json");
    let script = directory.join("record.sh");
    fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
    recipe::write_recorder(&script, &notes).map_err(Error::file("write", &script))?;
    session.next_wrapper = Some(script.into());
    let targets = course.targets();

    let binaries = record(&session, &notes)?;
    let silent = fs::read_dir(&notes).is_ok_and(|mut notes| notes.next().is_none());
    let known = fs::read_to_string(&kept).ok().and_then(|text| serde_json::from_str::<Recipe>(&text).ok());
    if let Some(recipe) = known
        && silent
        && targets
            .iter()
            .all(|target| recipe.test_file(target, Path::new("")).is_some_and(|file| is_of(&binaries, &file)))
    {
        return Ok((recipe, binaries));
    }
    let (recipe, binaries) = match Recipe::find(&notes, package, &targets) {
        Ok(recipe) => (recipe, binaries),
        Err(_) => {
            forget(&session, package)?;
            let binaries = record(&session, &notes)?;
            (Recipe::find(&notes, package, &targets).map_err(Error::usage)?, binaries)
        }
    };
    let text = serde_json::to_string(&recipe).map_err(Error::usage)?;
    raddle_report::file::replace(&kept, text).map_err(Error::file("write", &kept))?;
    Ok((recipe, binaries))
}

fn is_of(binaries: &[TestBinary], file: &Path) -> bool {
    binaries.iter().any(|binary| binary.executable.file_name() == file.file_name())
}

fn record(session: &Session, notes: &Path) -> Result<Vec<TestBinary>> {
    if notes.exists() {
        fs::remove_dir_all(notes).map_err(Error::file("remove", notes))?;
    }
    fs::create_dir_all(notes).map_err(Error::file("create", notes))?;
    build_tests(session)
}

/// Removes cargo's notes on a package, in Raddle's own target directory, so that cargo builds it again.
fn forget(session: &Session, package: &str) -> Result<()> {
    let mut directories = vec![session.build_directory.clone()];
    while let Some(directory) = directories.pop() {
        let depth = directory.components().count() - session.build_directory.components().count();
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let of_package = name.rsplit_once('-').is_some_and(|(start, _)| start == package);
            if directory.ends_with(".fingerprint") {
                if of_package {
                    fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
                }
            } else if path.is_dir() && (name == ".fingerprint" || depth < 2) {
                directories.push(path);
            }
        }
    }
    Ok(())
}

/// Tests that the course lists must exist.
fn check_tests(course: &Course, args: &GradeArgs, binaries: &[TestBinary]) -> Result<()> {
    let mut list = Vec::new();
    for target in course.targets() {
        let Some(binary) = binaries.iter().find(|binary| binary.kind == "test" && binary.name == target)
        else {
            continue;
        };
        let output = binary
            .command()
            .args(["--list", "--format", "terse"])
            .stdin(Stdio::null())
            .output()
            .map_err(Error::start(&binary.executable))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix(": test")).collect();
        for test in course.tests.iter().filter(|test| test.target == target) {
            if !names.contains(&test.name.as_str()) {
                let message =
                    format!("there is no test `{}` in `{target}`; it has {}", test.name, names.join(", "));
                list.push(Mistake { position: Some(test.position), message });
            }
        }
        for name in names
            .iter()
            .filter(|name| !course.tests.iter().any(|test| test.target == target && test.name == **name))
        {
            eprintln!(
                "warning: the test `{name}` of `{target}` gives no points, because {} does not list it",
                args.course.display()
            );
        }
    }
    if list.is_empty() { Ok(()) } else { Err(Error::usage(Mistakes { path: args.course.clone(), list })) }
}

/// Tests must name what they import of a submission: `use list::*` would import a macro `assert_eq` or a module `raddle`, too.
fn check_imports(recipe: &Recipe) -> Result<()> {
    let glob = format!("use {}::*", recipe.crate_name);
    for call in recipe.tests.values() {
        let source = call.args.iter().find(|arg| arg.ends_with(".rs") && !arg.starts_with('-'));
        let Some(source) = source.map(|source| call.directory.join(source)) else { continue };
        let text = fs::read_to_string(&source).map_err(Error::file("read", &source))?;
        if let Some(line) = text.lines().position(|line| line.contains(&glob)) {
            let place = format!("{}:{}", source.display(), line + 1);
            let message = format!(
                "{place}: name what is imported instead of `{glob}`, by which a submission could replace `assert_eq!`"
            );
            return Err(Error::usage(message));
        }
    }
    Ok(())
}

/// The identity of the tool: this program, and the libraries that every submission is linked with.
fn tool(executable: &Path, recipe: &Recipe) -> String {
    let mut text = format!("{} {}", env!("CARGO_PKG_VERSION"), stamp(executable));
    for file in recipe.inputs() {
        // The package's own library is part of the course.
        if !file.file_name().is_some_and(|name| name.to_string_lossy().contains(&recipe.crate_name)) {
            text.push_str(&stamp(&file));
        }
    }
    text
}

fn stamp(file: &Path) -> String {
    let metadata = fs::metadata(file).ok();
    let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
    format!("{}:{:?}:{:?};", file.display(), metadata.map(|metadata| metadata.len()), modified)
}

fn sysroot(recipe: &Recipe) -> Result<PathBuf> {
    let program = &recipe.library.program;
    let output = Command::new(program)
        .args(["--print", "sysroot"])
        .current_dir(&recipe.library.directory)
        .stdin(Stdio::null())
        .output()
        .map_err(Error::start(program))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}
