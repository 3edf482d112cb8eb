//! How long each test binary takes: a table at the end of `cargo xtask test`.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::process::Command;
use std::time::{Duration, Instant};

/// The rows of the table.
const ROWS: usize = 15;

/// What took how long.
#[derive(Debug, Default)]
pub(super) struct Times {
    parts: Vec<(String, Duration)>,
}

/// The part that is running.
struct Current {
    name: String,
    begin: Instant,
}

impl Times {
    /// Runs a command that tests, shows what it prints, and notes how long each binary takes. The time before the first one is that
    /// of `building`. Returns whether it succeeds.
    pub(super) fn run(&mut self, building: &str, command: &mut Command) -> bool {
        eprintln!("+ {command:?}");
        self.watch(building, command).unwrap_or_else(|error| {
            eprintln!("error: {error}");
            false
        })
    }

    fn watch(&mut self, building: &str, command: &mut Command) -> io::Result<bool> {
        if io::stderr().is_terminal() {
            command.env("CARGO_TERM_COLOR", "always");
        }
        // One pipe: cargo names a binary on the one stream, and its tests print to the other.
        let (reader, writer) = io::pipe()?;
        let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        // The command keeps the ends that it gave to the child.
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut current = Current { name: building.to_owned(), begin: Instant::now() };
        for line in BufReader::new(reader).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            if let Some(name) = binary(&line) {
                self.end(std::mem::replace(&mut current, Current { name, begin: Instant::now() }));
            }
        }
        self.end(current);
        Ok(child.wait()?.success())
    }

    fn end(&mut self, part: Current) {
        self.parts.push((part.name, part.begin.elapsed()));
    }

    /// Prints the slowest parts.
    pub(super) fn print(mut self) {
        let all: Duration = self.parts.iter().map(|part| part.1).sum();
        self.parts.sort_by_key(|part| std::cmp::Reverse(part.1));
        println!("\nthe slowest parts, in seconds:");
        for (name, time) in self.parts.iter().take(ROWS) {
            println!("{:8.1}  {name}", time.as_secs_f64());
        }
        let rest: Duration = self.parts.iter().skip(ROWS).map(|part| part.1).sum();
        println!("{:8.1}  {} others", rest.as_secs_f64(), self.parts.len().saturating_sub(ROWS));
        println!("{:8.1}  everything", all.as_secs_f64());
    }
}

/// The binary whose tests begin after a line of cargo's: `Running tests/a.rs (target/debug/deps/a-0123)`, `Doc-tests a`.
fn binary(line: &str) -> Option<String> {
    let line = without_colours(line);
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("documentation of {name}"));
    }
    let (source, program) = line.strip_prefix("Running ")?.split_once(" (")?;
    let program = program.strip_suffix(')')?.rsplit('/').next()?;
    let name = program.rsplit_once('-').map_or(program, |(name, _)| name);
    Some(format!("{name} ({source})"))
}

/// The text between escape sequences.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_known_by_cargos_lines() {
        let name = |line: &str| binary(line);
        let running = "     Running tests/a_b.rs (target/debug/deps/a_b-0123abc)";
        assert_eq!(name(running).as_deref(), Some("a_b (tests/a_b.rs)"));
        let coloured =
            "\u{1b}[1m\u{1b}[92m     Running\u{1b}[0m unittests src/lib.rs (target/x/deps/raddle-12)";
        assert_eq!(name(coloured).as_deref(), Some("raddle (unittests src/lib.rs)"));
        assert_eq!(name("   Doc-tests raddle").as_deref(), Some("documentation of raddle"));
        assert_eq!(name("running 3 tests"), None);
        assert_eq!(name("     Running `target/debug/xtask test`"), None);
    }

    #[test]
    fn a_command_is_watched_to_its_end() {
        let mut times = Times::default();
        let script = "echo '   Doc-tests a'; sleep 0.1; echo '     Running t.rs (x/t-1)' >&2; exit 3";
        assert!(!times.run("building", Command::new("sh").args(["-c", script])));
        let names: Vec<&str> = times.parts.iter().map(|part| part.0.as_str()).collect();
        assert_eq!(names, ["building", "documentation of a", "t (t.rs)"]);
        assert!(times.parts[1].1 >= Duration::from_millis(100));
    }
}
