//! The page in a real browser: its tests, and the pictures of the gallery in the book.
//!
//! Both need Chromium, Node and npm. The one package from npm is installed below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::{cargo, run};

/// Where the tests and their package list are.
const TESTS: &str = "crates/raddle-report/tests/browser";
/// The programs that are Chromium, in the order of preference.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The failures of the gallery: the file, named after the test, and the package and test binary that find the failure.
const GALLERY: [Exhibit; 10] = [
    Exhibit::new("racy_counter_test", "examples", "counter"),
    Exhibit::new("tail_first_queue_test", "examples", "michael_scott"),
    Exhibit::new("deadlock-of_three_philosophers", "broken", "deadlocks"),
    Exhibit::new("wake_one_test", "examples", "bounded_buffer"),
    Exhibit::new("aba_on_a_stack_of_indices", "broken", "algorithms"),
    Exhibit::new("memory-used_by_an_atomic_access_after_free", "broken", "memory"),
    Exhibit::new("data_race-of_a_flag_that_is_relaxed", "broken", "races"),
    Exhibit::new("store_buffering_with_acquire_and_release", "broken", "weak"),
    Exhibit::new("progress_of_an_object_that-spins", "declarative", "progress"),
    Exhibit::new("forgetful_semaphore_test", "examples", "semaphore"),
];

struct Exhibit {
    file: &'static str,
    package: &'static str,
    test: &'static str,
}

impl Exhibit {
    const fn new(file: &'static str, package: &'static str, test: &'static str) -> Exhibit {
        Exhibit { file, package, test }
    }
}

/// Writes the sample pages and clicks through them.
pub(crate) fn test() -> bool {
    let pages = Path::new("target/tmp/pages");
    let mut samples = cargo();
    samples.args([
        "test",
        "--quiet",
        "--package",
        "raddle-report",
        "--features",
        "html,query",
        "--test",
        "pages",
    ]);
    run(&mut samples)
        && with_browser(|node| node.arg("--test").arg("page.test.mjs").env("PAGES", absolute(pages)))
}

/// Finds the failures of the gallery, and takes a picture of each page.
pub(crate) fn gallery() -> bool {
    let failures = Path::new("target/raddle/gallery");
    // Files of older runs would be taken for the failures.
    let _ = fs::remove_dir_all(failures);
    let mut found = true;
    for package in ["examples", "broken", "declarative"] {
        let mut tests = cargo();
        tests.args([
            "run",
            "--quiet",
            "--package",
            "cargo-raddle",
            "--",
            "test",
            "--no-fail-fast",
            "--package",
            package,
        ]);
        let exhibits = || GALLERY.iter().filter(|exhibit| exhibit.package == package);
        for exhibit in exhibits() {
            tests.args(["--test", exhibit.test]);
        }
        // The other tests of these files would take minutes.
        tests.arg("--").args(exhibits().map(|exhibit| exhibit.file.replace('-', "::")));
        found &= run(tests.env("RADDLE_FAILURES", absolute(failures)));
    }
    for exhibit in &GALLERY {
        let file = failures.join(exhibit.file).with_extension("json");
        let page = file.with_extension("html");
        let _ = fs::remove_file(&page);
        let mut show = cargo();
        show.args(["run", "--quiet", "--package", "cargo-raddle", "--", "show", "--html", "-o"])
            .arg(&page)
            .arg(&file);
        found &= run(&mut show);
    }
    let names = GALLERY.map(|exhibit| exhibit.file).join(" ");
    found
        && with_browser(|node| {
            node.arg("gallery.mjs")
                .env("PAGES", absolute(failures))
                .env("PICTURES", absolute(Path::new("book/src/gallery")))
                .env("NAMES", &names)
        })
}

/// Runs Node with the browser and the package that drives it; says what is missing.
fn with_browser(arguments: impl FnOnce(&mut Command) -> &mut Command) -> bool {
    let browser =
        env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| BROWSERS.iter().find_map(|name| find(name)));
    let Some(browser) = browser else {
        eprintln!(
            "no Chromium: install it (on Debian, `apt-get install chromium`), or set CHROMIUM to the program"
        );
        return false;
    };
    if find("node").is_none() || find("npm").is_none() {
        eprintln!("no Node: install it with npm (on Debian, `apt-get install nodejs npm`)");
        return false;
    }
    let installed = Path::new("target/tmp/browser");
    let module = installed.join("node_modules/playwright-core/index.js");
    if !module.exists() {
        let copied = fs::create_dir_all(installed)
            .and_then(|()| fs::copy(Path::new(TESTS).join("package.json"), installed.join("package.json")));
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(installed);
        if copied.is_err() || !run(&mut npm) {
            eprintln!("cannot install playwright-core: npm needs a registry");
            return false;
        }
    }
    let mut node = Command::new("node");
    node.current_dir(TESTS).env("CHROMIUM", browser).env("PLAYWRIGHT", absolute(&module));
    run(arguments(&mut node))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).expect("there is a working directory")
}
