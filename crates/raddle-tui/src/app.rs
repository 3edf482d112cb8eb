//! The position in the trace, and the effect of each key.

use raddle_report::Failure;
use raddle_report::Style;
use raddle_report::failure::{Action, Event};
use raddle_report::html::Sources;
use raddle_report::html::TraceView;
use raddle_report::query::{Index, Question, render_answer};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::history::History;
use crate::keys::{self, Command};

/// The width of answers: they are wrapped by the report.
const ANSWER_WIDTH: usize = 100;

/// What a key asks of the loop.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Continue,
    Leave,
}

/// The panel that small screens show below the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panel {
    Source,
    State,
}

/// A failure on the screen.
pub(crate) struct App<'f> {
    pub(crate) failure: &'f Failure,
    pub(crate) sources: &'f Sources,
    pub(crate) trace: TraceView,
    pub(crate) history: History<'f>,
    index: Index<'f>,
    /// The row of each event.
    rows: Vec<usize>,
    /// The current event. Meaningless if there are none.
    pub(crate) event: usize,
    /// The panel of small screens.
    pub(crate) panel: Panel,
    /// Lines that the state panel and answers are scrolled by.
    pub(crate) scroll: u16,
    /// The answer on the screen.
    pub(crate) answer: Option<String>,
    pub(crate) shows_help: bool,
    /// The searched text, while it is typed and after.
    pub(crate) search: String,
    pub(crate) is_typing: bool,
    /// One sentence in the last line, until the next key.
    pub(crate) message: Option<String>,
    /// The rows that fit on the screen, known once it was drawn.
    pub(crate) page: usize,
}

impl<'f> App<'f> {
    pub(crate) fn new(failure: &'f Failure, sources: &'f Sources) -> App<'f> {
        let trace = TraceView::of_failure(failure);
        let mut rows = vec![0; failure.trace.events.len()];
        let mut covered = 0;
        for (number, row) in trace.rows.iter().enumerate() {
            // Events without a row belong to the row before them.
            rows[covered..row.span.0.max(covered)].fill(number.saturating_sub(1));
            rows[row.span.0..row.span.1].fill(number);
            covered = covered.max(row.span.1);
        }
        rows[covered..].fill(trace.rows.len().saturating_sub(1));
        App {
            failure,
            sources,
            trace,
            history: History::new(failure),
            index: Index::of(failure),
            rows,
            event: 0,
            panel: Panel::Source,
            scroll: 0,
            answer: None,
            shows_help: false,
            search: String::new(),
            is_typing: false,
            message: None,
            page: 20,
        }
    }

    /// The current event, if the failure has any.
    pub(crate) fn current(&self) -> Option<&'f Event> {
        self.failure.trace.events.get(self.event)
    }

    /// The row of the current event.
    pub(crate) fn row(&self) -> usize {
        self.rows.get(self.event).copied().unwrap_or_default()
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Next {
        self.message = None;
        if self.is_typing {
            self.type_search(key);
            return Next::Continue;
        }
        match keys::command(key) {
            Some(Command::Leave) => return Next::Leave,
            Some(Command::Close) if self.answer.is_none() && !self.shows_help => return Next::Leave,
            Some(command) => self.obey(command),
            None => self.message = Some("press ? for the keys".to_owned()),
        }
        Next::Continue
    }

    fn obey(&mut self, command: Command) {
        let last = self.failure.trace.events.len().saturating_sub(1);
        match command {
            Command::NextEvent => self.go_to((self.event + 1).min(last)),
            Command::PreviousEvent => self.go_to(self.event.saturating_sub(1)),
            Command::NextRow => self.move_rows(1),
            Command::PreviousRow => self.move_rows(-1),
            Command::PageDown => self.move_rows(self.page as isize),
            Command::PageUp => self.move_rows(-(self.page as isize)),
            Command::First => self.go_to(0),
            Command::Last => self.go_to(last),
            Command::NextOfThread => self.find_forwards(|app, event| app.thread() == Some(event.thread)),
            Command::PreviousOfThread => self.find_backwards(|app, event| app.thread() == Some(event.thread)),
            Command::PreviousWrite => {
                self.find_backwards(|app, event| app.is_same_location(event) && writes(&event.action));
            }
            Command::NextAccess => self.find_forwards(App::is_same_location),
            Command::Search => {
                self.search.clear();
                self.is_typing = true;
            }
            Command::NextMatch => self.find_match(true),
            Command::PreviousMatch => self.find_match(false),
            Command::Why => self.ask(&Question::Why { target: self.event.to_string() }),
            Command::Accesses => match self.current().and_then(|event| event.action.place()) {
                Some(place) => {
                    self.ask(&Question::Accesses { location: format!("{:#x}", place.address) });
                }
                None => self.message = Some("this event accesses no memory".to_owned()),
            },
            Command::Reasons => {
                let reasons = &self.failure.reasons;
                self.show(match reasons.is_empty() {
                    true => self.failure.message.clone(),
                    false => reasons.join("\n"),
                });
            }
            Command::NextPanel => {
                self.panel = if self.panel == Panel::Source { Panel::State } else { Panel::Source };
                self.scroll = 0;
            }
            Command::ScrollDown => self.scroll = self.scroll.saturating_add(1),
            Command::ScrollUp => self.scroll = self.scroll.saturating_sub(1),
            Command::Help => self.shows_help = !self.shows_help,
            Command::Close => {
                self.answer = None;
                self.shows_help = false;
                self.scroll = 0;
            }
            Command::Leave => {}
        }
    }

    fn type_search(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Enter => {
                self.is_typing = false;
                self.find_match(true);
            }
            KeyCode::Esc => self.is_typing = false,
            KeyCode::Backspace => _ = self.search.pop(),
            KeyCode::Char(c) => self.search.push(c),
            _ => {}
        }
    }

    fn go_to(&mut self, event: usize) {
        self.event = event;
    }

    /// Moves to the first event of a row further on, passing rows without events.
    fn move_rows(&mut self, by: isize) {
        let has_events = |row: &usize| {
            let (first, end) = self.trace.rows[*row].span;
            first < end
        };
        let row = self.row();
        let target = match by > 0 {
            true => (row + 1..self.trace.rows.len()).filter(has_events).take(by.unsigned_abs()).last(),
            false => (0..row).rev().filter(has_events).take(by.unsigned_abs()).last(),
        };
        if let Some(target) = target {
            self.go_to(self.trace.rows[target].span.0);
        }
    }

    fn thread(&self) -> Option<u32> {
        self.current().map(|event| event.thread)
    }

    fn is_same_location(&self, other: &Event) -> bool {
        let address = |event: &Event| event.action.place().map(|place| place.address);
        self.current().is_some_and(|event| address(event).is_some() && address(event) == address(other))
    }

    fn find_forwards(&mut self, is_it: impl Fn(&App<'f>, &Event) -> bool) {
        let events = &self.failure.trace.events;
        let next = (self.event + 1..events.len()).find(|&number| is_it(self, &events[number]));
        self.go_to_found(next, "there is no later one");
    }

    fn find_backwards(&mut self, is_it: impl Fn(&App<'f>, &Event) -> bool) {
        let events = &self.failure.trace.events;
        let previous = (0..self.event).rev().find(|&number| is_it(self, &events[number]));
        self.go_to_found(previous, "there is no earlier one");
    }

    fn find_match(&mut self, forwards: bool) {
        if self.search.is_empty() {
            self.message = Some("press / to search".to_owned());
            return;
        }
        let text = self.search.to_lowercase();
        let matches = |row: &usize| {
            let row = &self.trace.rows[*row];
            row.span.0 < row.span.1 && row.text.to_lowercase().contains(&text)
        };
        let (count, row) = (self.trace.rows.len(), self.row());
        let found = match forwards {
            true => (row + 1..count).chain(0..(row + 1).min(count)).find(matches),
            false => (0..row).rev().chain((row..count).rev()).find(matches),
        };
        let event = found.map(|row| self.trace.rows[row].span.0);
        let none = format!("nothing matches `{}`", self.search);
        self.go_to_found(event, &none);
    }

    fn go_to_found(&mut self, event: Option<usize>, otherwise: &str) {
        match event {
            Some(event) => self.go_to(event),
            None => self.message = Some(otherwise.to_owned()),
        }
    }

    fn ask(&mut self, question: &Question) {
        let style = Style { width: ANSWER_WIDTH, colour: false, unicode: true };
        match self.index.answer(question) {
            Ok(answer) => self.show(render_answer(&answer, style)),
            Err(reason) => self.message = Some(reason.to_string()),
        }
    }

    fn show(&mut self, answer: String) {
        self.answer = Some(answer);
        self.scroll = 0;
    }
}

fn writes(action: &Action) -> bool {
    action.written().is_some() || matches!(action, Action::Write { .. })
}
