//! `course.toml` as text becomes a [`Course`], or a list of mistakes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::mistakes::{Mistake, Mistakes, position};
use super::quantity::{bytes, duration};
use super::{Course, Feedback, Test};
use crate::lint::Rule;
use crate::sandbox::Limits;

/// Reads the text of the `course.toml` at `path`.
///
/// # Errors
///
/// All mistakes, or the first one if the file is no TOML or has an unknown key.
pub fn parse(path: &Path, text: &str) -> Result<Course, Mistakes> {
    let file: File = toml::from_str(text).map_err(|error| {
        let position = error.span().map(|span| position(text, span.start));
        let message = error.message().trim().replace('\n', ", ");
        Mistakes::one(path, Mistake { position, message })
    })?;
    let mut reader = Reader { text, list: Vec::new() };
    let course = reader.course(path, file);
    if reader.list.is_empty() {
        return Ok(course);
    }
    reader.list.sort_by_key(|mistake| mistake.position);
    Err(Mistakes { path: path.to_owned(), list: reader.list })
}

/// Turns the parts of a file into those of a course, and collects mistakes on the way.
struct Reader<'a> {
    text: &'a str,
    list: Vec<Mistake>,
}

impl Reader<'_> {
    fn mistake<T>(&mut self, at: &Spanned<T>, message: impl Into<String>) {
        let position = Some(position(self.text, at.span().start));
        self.list.push(Mistake { position, message: message.into() });
    }

    fn course(&mut self, path: &Path, file: File) -> Course {
        // The parent of a bare file name is empty, which no system call takes for the working directory.
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let File { course, submission, limits, compiler, search, test } = file;
        if course.title.get_ref().trim().is_empty() {
            self.mistake(&course.title, "give the course a title");
        }
        if test.is_empty() {
            let message =
                "add a `[[test]]` with target, name and points: without one there is nothing to grade";
            self.list.push(Mistake { position: None, message: message.to_owned() });
        }
        let total = self.time(limits.total.as_ref(), Duration::from_secs(120));
        let tests = self.tests(test);
        Course {
            title: course.title.into_inner(),
            seed: course.seed.unwrap_or(0),
            manifest: directory.join(course.manifest.unwrap_or_else(|| "Cargo.toml".into())),
            profile: course.profile,
            files: self.files(&submission.files),
            largest_file: self.size(submission.largest.as_ref(), 256 << 10),
            allow: submission.allow.iter().filter_map(|rule| self.rule(rule)).collect(),
            forbid: submission.forbid,
            limits: self.limits(&limits, TEST_LIMITS),
            compiler: self.limits(&compiler, COMPILER_LIMITS),
            total,
            search: self.search(search),
            tests,
        }
    }

    fn files(&mut self, files: &Spanned<Vec<Spanned<PathBuf>>>) -> Vec<PathBuf> {
        if files.get_ref().is_empty() {
            self.mistake(
                files,
                r#"list the files of a submission, the root of the crate first: ["src/lib.rs"]"#,
            );
        }
        for file in files.get_ref() {
            let inside = file.get_ref().components().all(|part| matches!(part, Component::Normal(_)));
            if !inside || file.get_ref().extension().is_none_or(|extension| extension != "rs") {
                self.mistake(file, "name a `.rs` file inside of the submission, without `..`");
            }
        }
        files.get_ref().iter().map(|file| file.get_ref().clone()).collect()
    }

    fn rule(&mut self, name: &Spanned<String>) -> Option<Rule> {
        let rule = Rule::of_name(name.get_ref());
        if rule.is_none() {
            let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
            self.mistake(name, format!("unknown rule; the rules are {}", known.join(", ")));
        }
        rule
    }

    fn limits(&mut self, table: &LimitTable, default: Limits) -> Limits {
        if let Some(processes) = table.processes.as_ref().filter(|number| *number.get_ref() < 8) {
            self.mistake(processes, "allow 8 processes and threads at least: Raddle needs some itself");
        }
        let wall = self.time(table.wall.as_ref(), default.wall);
        Limits {
            cpu: self.time(table.cpu.as_ref(), wall),
            wall,
            memory: self.size(table.memory.as_ref(), default.memory),
            processes: table.processes.as_ref().map_or(default.processes, |number| *number.get_ref()),
            file_size: self.size(table.file_size.as_ref(), default.file_size),
            output: self.size(table.output.as_ref(), default.output),
        }
    }

    fn time(&mut self, text: Option<&Spanned<String>>, default: Duration) -> Duration {
        let Some(text) = text else { return default };
        duration(text.get_ref()).unwrap_or_else(|message| {
            self.mistake(text, message);
            default
        })
    }

    fn size(&mut self, text: Option<&Spanned<String>>, default: u64) -> u64 {
        let Some(text) = text else { return default };
        bytes(text.get_ref()).unwrap_or_else(|message| {
            self.mistake(text, message);
            default
        })
    }

    fn search(&mut self, table: BTreeMap<Spanned<String>, toml::Value>) -> BTreeMap<String, String> {
        let mut search = BTreeMap::new();
        for (name, value) in table {
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::Boolean(flag) => flag.to_string(),
                _ => {
                    self.mistake(&name, "write the value of an option as text or a number");
                    continue;
                }
            };
            if name.get_ref() == "seed" {
                self.mistake(&name, "write the seed as `seed` of [course]");
            }
            search.insert(format!("RADDLE_{}", name.get_ref().to_uppercase().replace('-', "_")), text);
        }
        search
    }

    fn tests(&mut self, list: Vec<TestTable>) -> Vec<Test> {
        let mut seen = HashSet::new();
        let mut tests = Vec::new();
        for test in list {
            let name = test.name.get_ref().clone();
            if !seen.insert((test.target.clone(), name.clone())) {
                self.mistake(&test.name, format!("`{name}` of `{}` is already listed", test.target));
            }
            let points = *test.points.get_ref();
            if !points.is_finite() || points < 0.0 {
                self.mistake(&test.points, "write points that are not below zero");
            }
            for kind in test.hints.keys() {
                let known = kind.get_ref() == "*" || raddle_report::Kind::of_name(kind.get_ref()).is_some();
                if !known {
                    let message = "unknown kind of failure; write one of failure files (`deadlock`, `data-race`, ...) or `*`";
                    self.mistake(kind, message);
                }
            }
            tests.push(Test {
                title: test.title.unwrap_or_else(|| name.replace("::", ": ").replace('_', " ")),
                target: test.target,
                points,
                hidden: test.hidden,
                feedback: test.feedback.unwrap_or(Feedback::Trace),
                hints: test.hints.into_iter().map(|(kind, hint)| (kind.into_inner(), hint)).collect(),
                position: position(self.text, test.name.span().start),
                name,
            });
        }
        tests
    }
}

const TEST_LIMITS: Limits = Limits {
    cpu: Duration::from_secs(10),
    wall: Duration::from_secs(10),
    memory: 1 << 30,
    processes: 128,
    file_size: 64 << 20,
    output: 1 << 20,
};
const COMPILER_LIMITS: Limits = Limits {
    cpu: Duration::from_secs(60),
    wall: Duration::from_secs(60),
    memory: 2 << 30,
    processes: 128,
    file_size: 512 << 20,
    output: 4 << 20,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    course: CourseTable,
    submission: SubmissionTable,
    #[serde(default)]
    limits: LimitTable,
    #[serde(default)]
    compiler: LimitTable,
    #[serde(default)]
    search: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default)]
    test: Vec<TestTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CourseTable {
    title: Spanned<String>,
    seed: Option<u64>,
    manifest: Option<PathBuf>,
    profile: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmissionTable {
    files: Spanned<Vec<Spanned<PathBuf>>>,
    #[serde(rename = "largest-file")]
    largest: Option<Spanned<String>>,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default)]
    forbid: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LimitTable {
    cpu: Option<Spanned<String>>,
    wall: Option<Spanned<String>>,
    memory: Option<Spanned<String>>,
    processes: Option<Spanned<u64>>,
    file_size: Option<Spanned<String>>,
    output: Option<Spanned<String>>,
    total: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestTable {
    target: String,
    name: Spanned<String>,
    title: Option<String>,
    points: Spanned<f64>,
    #[serde(default)]
    hidden: bool,
    feedback: Option<Feedback>,
    #[serde(default)]
    hints: BTreeMap<Spanned<String>, String>,
}
