//! The lines that show how long searches are getting on, one for each running test.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A test gets a line when it has run for so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// All progress lines of a command.
pub(crate) struct Progress {
    lines: Option<MultiProgress>,
}

impl Progress {
    /// Progress lines on standard error, or none.
    pub(crate) fn new(shown: bool) -> Progress {
        let lines = || MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        Progress { lines: shown.then(lines) }
    }

    /// Follows a test that starts now.
    pub(crate) fn follow(&self, name: &str) -> Line<'_> {
        Line { progress: self, name: name.to_owned(), began: Instant::now(), bar: None, state: None }
    }

    /// Does something that prints while the lines are out of the way.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.lines {
            Some(lines) => lines.suspend(print),
            None => print(),
        }
    }
}

/// The line of one test. It goes away with this value.
pub(crate) struct Line<'a> {
    progress: &'a Progress,
    name: String,
    began: Instant,
    bar: Option<ProgressBar>,
    state: Option<State>,
}

impl Line<'_> {
    /// Takes in a line that the test wrote. What cannot be read is not shown.
    pub(crate) fn report(&mut self, text: &str) {
        if let Some(state) = State::parse(text) {
            self.state = Some(state);
            self.tick();
        }
    }

    /// Shows the line if its time has come.
    pub(crate) fn tick(&mut self) {
        let elapsed = self.began.elapsed();
        let Some(lines) = self.progress.lines.as_ref().filter(|_| elapsed >= PATIENCE) else { return };
        let bar = self.bar.get_or_insert_with(|| {
            let bar = lines.add(ProgressBar::new_spinner());
            // The template is a constant that indicatif accepts.
            bar.set_style(
                ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar
        });
        bar.set_message(describe(&self.name, self.state.as_ref(), elapsed));
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if let (Some(bar), Some(lines)) = (&self.bar, &self.progress.lines) {
            bar.finish_and_clear();
            lines.remove(bar);
        }
    }
}

/// What a test last said: `executions⇥total or 0⇥depth⇥strategy`; a total with `~` before it is an estimate.
#[derive(Debug, PartialEq)]
struct State {
    executions: u64,
    total: u64,
    estimated: bool,
    depth: u64,
    strategy: String,
}

impl State {
    fn parse(text: &str) -> Option<State> {
        let mut fields = text.split('\t');
        let executions = fields.next()?.parse().ok()?;
        let total = fields.next()?;
        let state = State {
            executions,
            total: total.trim_start_matches('~').parse().ok()?,
            estimated: total.starts_with('~'),
            depth: fields.next()?.parse().ok()?,
            strategy: fields.next()?.to_owned(),
        };
        fields.next().is_none().then_some(state)
    }
}

fn describe(name: &str, state: Option<&State>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let Some(state) = state else { return format!("test {name} ... {seconds}s") };
    let rate = state.executions as f64 / elapsed.as_secs_f64().max(0.001);
    let executions = match state.total {
        0 => grouped(state.executions),
        total if state.estimated => {
            format!("{} of about {}", grouped(state.executions), grouped(total))
        }
        total => format!("{} of {}", grouped(state.executions), grouped(total)),
    };
    let State { depth, strategy, .. } = state;
    let rate = grouped(rate as u64);
    format!("test {name} ... {executions} executions, {rate}/s, depth {depth}, {strategy}, {seconds}s")
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_and_described() {
        let state = State::parse("20000\t100000\t42\tpct:3");
        let text = describe("a::b", state.as_ref(), Duration::from_secs(2));
        assert_eq!(text, "test a::b ... 20,000 of 100,000 executions, 10,000/s, depth 42, pct:3, 2s");
        let text = describe("a", State::parse("999\t0\t7\trandom").as_ref(), Duration::from_secs(1));
        assert_eq!(text, "test a ... 999 executions, 999/s, depth 7, random, 1s");
        let text =
            describe("a", State::parse("999\t~120000\t7\texhaustive").as_ref(), Duration::from_secs(1));
        assert_eq!(text, "test a ... 999 of about 120,000 executions, 999/s, depth 7, exhaustive, 1s");
        assert_eq!(describe("a", None, Duration::from_secs(3)), "test a ... 3s");
    }

    #[test]
    fn what_is_no_report_is_nothing() {
        for text in ["", "1", "1\t2\t3", "a\t0\t1\trandom", "1\t0\t1\trandom\tmore"] {
            assert_eq!(State::parse(text), None, "{text:?}");
        }
    }
}
