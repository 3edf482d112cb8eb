//! Failure files, with everything that shows them, and questions about them.

use std::path::Path;

use raddle_report::export::{github, mermaid, perfetto, sarif, sequence, state};
use raddle_report::html::{Sources, page};
use raddle_report::query::exchange::Request;
use raddle_report::query::{Index, Question, render_answer};
use raddle_report::{Failure, Style, render, render_graph, render_numbered, render_why, to_dot, to_svg};

/// The failure that requests are about.
const EXAMPLE: &[u8] = include_bytes!("../../../crates/raddle-report/tests/example.json");

/// More events than this are not shown in every form: a fuzzer learns nothing from long files.
const MOST_EVENTS: usize = 200;

/// A failure file. It is refused with one sentence, or everything can show it.
pub(crate) fn failure(data: &[u8]) {
    let failure = match Failure::parse(Path::new("x.json"), data) {
        Ok(failure) => failure,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    if failure.trace.events.len() > MOST_EVENTS {
        return;
    }
    let again = Failure::parse(Path::new("x.json"), failure.to_json().as_bytes());
    assert_eq!(again.expect("what was written can be read").to_json(), failure.to_json());
    let style = Style { width: 80, colour: false, unicode: true };
    render(&failure, style, None);
    render_numbered(&failure, Style { width: 20, colour: true, unicode: false }, None);
    render_why(&failure, style);
    let _ = (render_graph(&failure, style), to_dot(&failure), to_svg(&failure));
    let _ = (sarif(&failure), mermaid(&failure), sequence(&failure), perfetto(&failure));
    github::annotation(&failure, Path::new(""));
    page(&failure, &Sources::of(&failure, |_| None));
    let last = failure.trace.events.len().saturating_sub(1) as u32;
    for event in [0, last / 2, last, last + 1] {
        let _ = (state::dot(&failure, Some(event)), state::svg(&failure, Some(event)));
    }
    let index = Index::of(&failure);
    for target in ["", "0", "1", "T0", "T1", "=1", "x"] {
        if let Ok(answer) = index.answer(&Question::Why { target: target.into() }) {
            render_answer(&answer, style);
        }
    }
}

/// A request of the query interface, about the example of the format.
pub(crate) fn query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let failure = Failure::parse(Path::new("example.json"), EXAMPLE).expect("the example can be read");
    let index = Index::of(&failure);
    match Request::parse(text) {
        Ok(request) => drop(request.answer(&index)),
        // Conditions have a language of their own.
        Err(_) => _ = index.answer(&Question::When { condition: text.to_owned() }),
    }
}
