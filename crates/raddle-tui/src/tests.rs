//! Sessions: keys pressed, and the screen after them.

use raddle_report::Failure;
use raddle_report::html::Sources;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::app::{App, Next};
use crate::draw;

const EXAMPLE: &str = include_str!("../../raddle-report/tests/example.json");

/// The source file of the example.
const SOURCE: &str = "use std::sync::atomic::*;\n\npub struct Counter { value: AtomicUsize }\n\nimpl Counter {\n    pub fn inc(&self) {\n        let value = self.value.load(Acquire);\n        self.value.store(value + 1, Release);\n    }\n}\n";

fn failure() -> Failure {
    let mut failure: Failure = serde_json::from_str(EXAMPLE).unwrap();
    let objects = serde_json::json!({
        "roots": [{"name": "counter", "object": 0}],
        "list": [{"name": "Counter#1", "type": "Counter", "address": 34808, "size": 8, "freed": 13}],
        "initial": [{"object": 0, "value": {"fields": {"name": "Counter", "fields": [{"name": "value", "value": {"scalar": "0"}}]}}}],
    });
    failure.objects = serde_json::from_value(objects).unwrap();
    let change = serde_json::json!([{"object": 0, "path": [0], "value": {"scalar": "1"}}]);
    failure.trace.events[7].changes = serde_json::from_value(change).unwrap();
    failure
}

/// The screen of this size after these keys: `>` and `<` are arrows, `!` is Enter, `^` is Esc, others are themselves.
fn screen(failure: &Failure, keys: &str, width: u16, height: u16) -> String {
    let sources = Sources::of(failure, |file| (file == "src/lib.rs").then(|| SOURCE.to_owned()));
    let mut app = App::new(failure, &sources);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(&mut app, frame)).unwrap();
    for key in keys.chars() {
        let code = match key {
            '>' => KeyCode::Right,
            '<' => KeyCode::Left,
            '!' => KeyCode::Enter,
            '^' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            c => KeyCode::Char(c),
        };
        assert_eq!(app.press(KeyEvent::from(code)), Next::Continue);
        terminal.draw(|frame| draw::draw(&mut app, frame)).unwrap();
    }
    terminal.backend().to_string()
}

#[test]
fn a_wide_screen_has_trace_source_and_state() {
    insta::assert_snapshot!(screen(&failure(), ">>>>>>>", 120, 24));
}

#[test]
fn a_small_screen_has_one_panel_below_the_trace() {
    insta::assert_snapshot!(screen(&failure(), ">>>>\t", 60, 20));
}

#[test]
fn the_state_panel_follows_steps_in_both_directions() {
    let at = |keys: &str| screen(&failure(), keys, 120, 24);
    assert!(at(">>>>>>").contains("Counter#1 { value: 0 }"));
    assert!(at(">>>>>>>").contains("▸ counter Counter#1 { value: 1 }"));
    assert!(at(">>>>>>>>").contains("  counter Counter#1 { value: 1 }"));
    assert!(at(">>>>>>>><<").contains("Counter#1 { value: 0 }"));
    assert!(at("G").contains("Counter#1 (freed)"));
}

#[test]
fn jumps_find_events_of_the_thread_and_of_the_location() {
    let event = |keys: &str| {
        let screen = screen(&failure(), keys, 120, 24);
        let (_, rest) = screen.rsplit_once("event ").unwrap();
        rest.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(event("G"), "14");
    assert_eq!(event("G<w"), "9", "the last write before the final load");
    assert_eq!(event("G<ww"), "7");
    assert_eq!(event("G<wwa"), "9");
    assert_eq!(event("t"), "1");
    assert_eq!(event(">>>>tT"), "4");
    assert_eq!(event("/store!"), "7");
    assert_eq!(event("/store!n"), "9");
    assert_eq!(event("/store!nN"), "7");
    assert_eq!(event("gk"), "0");
}

#[test]
fn questions_are_answered_on_the_screen() {
    let screen = screen(&failure(), ">>>>>>>y", 120, 30);
    assert!(screen.contains("where 1 comes from"), "{screen}");
    let closed = self::screen(&failure(), ">>>>>>>y^", 120, 30);
    assert!(!closed.contains("where 1 comes from"));
}

#[test]
fn mistakes_are_answered_in_one_sentence() {
    let failure = failure();
    assert!(screen(&failure, "/nothing like that!", 120, 24).contains("nothing matches `nothing like that`"));
    assert!(screen(&failure, "Gw", 120, 24).contains("there is no earlier one"));
    assert!(screen(&failure, "u", 120, 24).contains("this event accesses no memory"));
    assert!(screen(&failure, "x", 120, 24).contains("press ? for the keys"));
    assert!(screen(&failure, "?", 120, 24).contains("previous write of this location"));
}

#[test]
fn a_failure_without_events_has_a_screen() {
    let mut failure = failure();
    failure.trace.events.clear();
    failure.objects = None;
    for keys in ["", ">", "<", "G", "g", "j", "k", "t", "w", "a", "y", "u", "r", "/x!", "n"] {
        screen(&failure, keys, 80, 24);
    }
    assert!(screen(&failure, "", 80, 24).contains("the failure has no events"));
}

#[test]
fn any_size_will_do() {
    for (width, height) in [(1, 1), (3, 2), (10, 4), (20, 6), (100, 3), (400, 100)] {
        screen(&failure(), ">>y?", width, height);
    }
}

#[test]
fn leaving_takes_one_key() {
    let (failure, sources) = (failure(), Sources::default());
    let mut app = App::new(&failure, &sources);
    assert_eq!(app.press(KeyEvent::from(KeyCode::Char('q'))), Next::Leave);
    assert_eq!(app.press(KeyEvent::from(KeyCode::Esc)), Next::Leave);
}
