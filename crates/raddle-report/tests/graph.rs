//! The diagnosis of executions under weak memory, and their drawings.

mod samples;

use raddle_report::failure::{Failure, FoundBy, Order};
use raddle_report::graph::linearise;
use raddle_report::{NoGraph, Style, render, render_graph, render_why, to_dot, to_svg};

const WIDE: Style = Style { width: 110, colour: false, unicode: true };

#[track_caller]
fn fits(page: String, style: Style) -> String {
    for line in page.lines() {
        assert_eq!(line, line.trim_end(), "spaces at the end of a line");
        assert!(line.chars().count() <= style.width, "wider than the terminal: {line}");
    }
    page
}

#[track_caller]
fn why(failure: &Failure) -> String {
    fits(render_why(failure, WIDE), WIDE)
}

#[test]
fn reasons() {
    use Order::*;
    insta::assert_snapshot!("message_passing_relaxed", why(&samples::message_passing(Relaxed, Relaxed)));
    insta::assert_snapshot!("message_passing_released", why(&samples::message_passing(Release, Relaxed)));
    insta::assert_snapshot!("store_buffering", why(&samples::store_buffering(false)));
    insta::assert_snapshot!("store_buffering_half_fenced", why(&samples::store_buffering(true)));
    insta::assert_snapshot!("peterson", why(&samples::peterson()));
    insta::assert_snapshot!("sequence_lock", why(&samples::sequence_lock()));
    insta::assert_snapshot!("opposite_writes", why(&samples::opposite_writes()));
    insta::assert_snapshot!("data_race", why(&samples::unordered_accesses(Relaxed)));
    insta::assert_snapshot!("data_race_without_contact", why(&samples::unrelated_accesses()));
}

#[test]
fn the_report_has_the_reasons() {
    insta::assert_snapshot!(
        "page",
        render(&samples::message_passing(Order::Relaxed, Order::Relaxed), WIDE, None)
    );
}

#[test]
fn nothing_is_claimed_where_nothing_is_wrong() {
    // What is recorded contradicts itself: this read was not possible.
    assert_eq!(why(&samples::message_passing(Order::Release, Order::Acquire)), "");
    assert_eq!(why(&samples::unordered_accesses(Order::Release)), "");
    assert_eq!(why(&samples::lost_update()), "");
    let mut interleaved = samples::crooked();
    linearise(&mut interleaved);
    assert_eq!(why(&interleaved), "");
}

#[test]
fn an_interleaving_is_shown_as_one() {
    let mut failure = samples::crooked();
    linearise(&mut failure);
    insta::assert_snapshot!("linearised", fits(render(&failure, WIDE, None), WIDE));
    let again = failure.clone();
    linearise(&mut failure);
    assert_eq!(failure, again, "a linear extension stays as it is");
}

#[test]
fn what_is_missed_is_named_anew() {
    let mut failure = samples::message_passing(Order::Relaxed, Order::Relaxed);
    linearise(&mut failure);
    assert!(render(&failure, WIDE, None).contains("an older value: the newest is 42"));
}

#[test]
fn graphs_in_the_terminal() {
    insta::assert_snapshot!(
        "graph_message_passing",
        graph(&samples::message_passing(Order::Relaxed, Order::Relaxed), WIDE)
    );
    insta::assert_snapshot!("graph_data_race", graph(&samples::unordered_accesses(Order::Relaxed), WIDE));
    for width in [30, 60] {
        graph(&samples::sequence_lock(), Style { width, unicode: false, ..WIDE });
    }
    let colourful = render_graph(&samples::peterson(), Style { colour: true, ..WIDE }).unwrap();
    assert!(colourful.contains("\x1b[1;31mdoes not see"));
}

#[track_caller]
fn graph(failure: &Failure, style: Style) -> String {
    fits(render_graph(failure, style).unwrap(), style)
}

#[test]
fn drawings() {
    let peterson = samples::peterson();
    insta::assert_snapshot!("peterson.dot", to_dot(&peterson).unwrap());
    insta::assert_snapshot!(
        "message_passing.svg",
        to_svg(&samples::message_passing(Order::Relaxed, Order::Relaxed)).unwrap()
    );
    insta::assert_snapshot!("data_race.svg", to_svg(&samples::unordered_accesses(Order::Relaxed)).unwrap());
    assert_eq!(to_svg(&peterson), to_svg(&peterson.clone()));
}

#[test]
fn names_are_escaped() {
    let mut failure = samples::message_passing(Order::Relaxed, Order::Relaxed);
    failure.test = "a \"quoted\" <name> & \\ more".to_owned();
    failure.threads[1].name = Some("<worker> \"1\" & co\n".to_owned());
    let dot = to_dot(&failure).unwrap();
    assert!(dot.starts_with(r#"digraph "a \"quoted\" <name> & \\ more" {"#), "{dot}");
    assert!(dot.contains(r#"label="T1 <worker> \"1\" & co\n";"#), "{dot}");
    let svg = to_svg(&failure).unwrap();
    assert!(svg.contains("a &quot;quoted&quot; &lt;name&gt; &amp; \\ more"), "{svg}");
    assert!(svg.contains("T1 &lt;worker&gt; &quot;1&quot; &amp; co </text>"), "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_said() {
    assert_eq!(to_dot(&samples::lost_update()), Err(NoGraph::NotRecorded));
    let mut failure = samples::lost_update();
    failure.found_by.strategy = FoundBy::STRESS.to_owned();
    assert_eq!(to_svg(&failure), Err(NoGraph::NoTrace));
    assert_eq!(render_graph(&failure, WIDE), Err(NoGraph::NoTrace));
}

/// The drawing of a long execution keeps the end and the diagnosis.
#[test]
fn long_executions_are_cut() {
    let mut failure = samples::message_passing(Order::Relaxed, Order::Relaxed);
    let last = failure.trace.events.len() - 1;
    for _ in 0..300 {
        let mut again = failure.trace.events[last - 2].clone();
        again.thread = 2;
        failure.trace.events.insert(last, again);
    }
    let svg = to_svg(&failure).unwrap();
    assert!(svg.contains("events before these are left out"));
    assert!(svg.contains("message.store(42, Relaxed)"), "what was missed is drawn");
}
