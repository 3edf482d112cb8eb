//! Questions about failures, and their answers as text and as JSON.

mod samples;

use raddle_report::failure::{Failure, Order};
use raddle_report::query::exchange::{Request, VERSION};
use raddle_report::query::{Index, Question, render_answer};
use raddle_report::{Style, render_numbered};

const WIDE: Style = Style { width: 100, colour: false, unicode: true };
const DOCUMENTATION: &str = include_str!("../QUERY.md");

#[track_caller]
fn why(failure: &Failure, target: &str) -> String {
    answer(failure, &Question::Why { target: target.into() })
}

#[track_caller]
fn answer(failure: &Failure, question: &Question) -> String {
    match Index::of(failure).answer(question) {
        Ok(answer) => {
            for width in (20..120).step_by(3) {
                for line in render_answer(&answer, Style { width, ..WIDE }).lines() {
                    assert_eq!(line, line.trim_end(), "spaces at the end of a line");
                    assert!(line.chars().count() <= width, "wider than {width}: {line}");
                }
            }
            render_answer(&answer, WIDE)
        }
        Err(error) => format!("no answer: {error}\n"),
    }
}

#[test]
fn lost_update() {
    let failure = samples::lost_update();
    insta::assert_snapshot!("lost_update", why(&failure, ""));
    insta::assert_snapshot!("lost_update_final_load", why(&failure, "13"));
    insta::assert_snapshot!("lost_update_lost_write", why(&failure, "7"));
    insta::assert_snapshot!("lost_update_location", why(&failure, "counter.value"));
    insta::assert_snapshot!("lost_update_value", why(&failure, "=1"));
}

#[test]
fn broken_queue() {
    let failure = samples::broken_queue();
    insta::assert_snapshot!("queue", why(&failure, ""));
    insta::assert_snapshot!("queue_pointer", why(&failure, "7"));
    insta::assert_snapshot!("queue_node", why(&failure, "Node#2"));
    insta::assert_snapshot!("queue_point_of_no_return", answer(&failure, &Question::PointOfNoReturn));
    insta::assert_snapshot!("queue_nearest_pass", answer(&failure, &Question::NearestPass));
}

#[test]
fn weak_memory() {
    let relaxed = samples::message_passing(Order::Relaxed, Order::Relaxed);
    insta::assert_snapshot!("message_passing_location", why(&relaxed, "message"));
    let buffering = samples::store_buffering(false);
    let order = Question::Order { first: 0, second: buffering.trace.events.len() as u32 - 1 };
    insta::assert_snapshot!("store_buffering_order", answer(&buffering, &order));
}

#[test]
fn waiting_threads() {
    insta::assert_snapshot!("deadlock", why(&samples::deadlock(), ""));
    insta::assert_snapshot!("deadlock_thread", why(&samples::deadlock(), "T2"));
}

#[test]
fn conditions() {
    let failure = samples::broken_queue();
    let check = |condition: &str, expected: &[(Option<u32>, Option<u32>)]| {
        let asked = Question::When { condition: condition.into() };
        let answer = serde_json::to_value(Index::of(&failure).answer(&asked).unwrap()).unwrap();
        let number = |moment: &serde_json::Value| moment["event"].as_u64().map(|event| event as u32);
        let spans = answer["when"]["spans"].as_array().unwrap();
        let spans: Vec<_> =
            spans.iter().map(|span| (number(&span["from"]), number(&span["until"]))).collect();
        assert_eq!(spans, expected, "{condition}");
    };
    check("Node#1.next == null", &[(None, Some(11))]);
    check("Node#1.next != null", &[(Some(11), None)]);
    check("queue.tail == Node#2", &[(Some(5), None)]);
    check("queue.tail != queue.head", &[(Some(5), None)]);
    check("queue.tail == Node#2 && Node#1.next == null", &[(Some(5), Some(11))]);
    check("queue.head.next.value == 7", &[(Some(11), None)]);
    check("`queue`.tail.value >= 7 || queue.tail.value < -3", &[(Some(5), None)]);
    check("!(queue.tail.value == 7)", &[(None, Some(5))]);
    check("queue is Queue", &[(None, None)]);
    check("Node#2.value == 8", &[]);
    check("Node#1.freed", &[]);
    check("Node#1.freed == false", &[(None, None)]);
    insta::assert_snapshot!(
        "queue_condition",
        why(&failure, "queue.tail != queue.head && Node#1.next == null")
    );

    // Locations have values where no objects are recorded.
    let counter = samples::lost_update();
    insta::assert_snapshot!("counter_condition", why(&counter, "counter.value == 1"));
}

#[test]
fn what_cannot_be_answered_is_said_in_a_sentence() {
    let failure = samples::broken_queue();
    let check = |target: &str, expected: &str| {
        let text = why(&failure, target);
        assert!(text.starts_with("no answer: ") && text.contains(expected), "{target}: {text}");
        assert_eq!(text.lines().count(), 1);
    };
    check("99", "there is no event 99: the last one is 11");
    check("=12345", "no event reads or writes the value 12345");
    check("=x", "`x` is not a value");
    check("T9", "T9 has no events");
    check("nonsense", "no event accesses a location `nonsense`; some that are accessed: Node#1.next");
    check("nonsense == 3", "there is no object or location `nonsense`");
    check("queue.colour == 3", "`queue.colour` has no value at any event");
    check("queue.tail ==", "ends where an object");
    check("queue.tail == null)", "the end of the condition at `)`");
    check("queue.tail[ == 3", "lacks a `]`");
    check("(queue.tail == 3", "`)`");
    check("queue.tail == 12x", "`12x` is not a number");
    check(&format!("{}queue == 1", "!".repeat(1000)), "nests deeper");
    let fresh = samples::lost_update();
    assert!(answer(&fresh, &Question::NearestPass).contains("--alternatives"));
    let event = Question::Origin { event: 0 };
    assert!(answer(&fresh, &event).contains("has no value"));
    assert!(answer(&fresh, &Question::Missed { event: 4 }).contains("does not write"));
}

#[test]
fn numbers_are_those_of_the_file() {
    insta::assert_snapshot!("numbered", render_numbered(&samples::lost_update(), WIDE, None));
    insta::assert_snapshot!(
        "numbered_list",
        render_numbered(&samples::lost_update(), Style { width: 50, ..WIDE }, None)
    );
    // The starter of a scenario has events that are not shown.
    let mut scenario = samples::scenario();
    scenario.scenario.as_mut().unwrap().code = Some("code".into());
    insta::assert_snapshot!("numbered_scenario", render_numbered(&scenario, WIDE, None));
    for width in (20..120).step_by(3) {
        for failure in [samples::deadlock(), samples::five_threads(), samples::broken_queue()] {
            for line in render_numbered(&failure, Style { width, ..WIDE }, None).lines() {
                assert!(line.chars().count() <= width, "wider than {width}: {line}");
            }
        }
    }
}

/// The request and the response that `QUERY.md` shows are those of the interface.
#[test]
fn the_documented_exchange_is_the_real_one() {
    let blocks: Vec<&str> =
        DOCUMENTATION.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [request, response] = blocks[..] else { panic!("a request and a response") };
    let failure = samples::broken_queue();
    let request = Request::parse(request).unwrap();
    let answered = serde_json::to_value(request.answer(&Index::of(&failure))).unwrap();
    let documented: serde_json::Value = serde_json::from_str(response).expect("QUERY.md shows JSON");
    assert_eq!(answered, documented, "{}", serde_json::to_string_pretty(&answered).unwrap());
}

/// `QUERY.md` names every field and every name of every answer.
#[test]
fn every_name_of_an_answer_is_documented() {
    let mut names = std::collections::BTreeSet::new();
    let mut ask = |failure: &Failure, questions: &[Question]| {
        let request = Request { version: VERSION, questions: questions.to_vec() };
        collect(&serde_json::to_value(&request).unwrap(), &mut names);
        collect(&serde_json::to_value(request.answer(&Index::of(failure))).unwrap(), &mut names);
    };
    let all = |failure: &Failure| {
        let events = failure.trace.events.len() as u32;
        let mut questions = vec![Question::PointOfNoReturn, Question::NearestPass];
        for event in 0..events {
            questions.extend([
                Question::Origin { event },
                Question::Missed { event },
                Question::Before { event },
                Question::Order { first: event, second: events - 1 },
                Question::Why { target: event.to_string() },
            ]);
        }
        questions.extend(
            ["queue.tail != queue.head", "message == 1"].map(|c| Question::When { condition: c.into() }),
        );
        questions.extend(
            ["message", "queue.tail", "counter.value", "X"]
                .map(|l| Question::Accesses { location: l.into() }),
        );
        questions
    };
    for failure in [
        samples::broken_queue(),
        samples::lost_update(),
        samples::deadlock(),
        samples::message_passing(Order::Relaxed, Order::Relaxed),
        samples::store_buffering(false),
        samples::opposite_writes(),
    ] {
        ask(&failure, &all(&failure));
    }
    let documented: Vec<&str> = DOCUMENTATION.split('`').skip(1).step_by(2).collect();
    let missing: Vec<_> = names.iter().filter(|name| !documented.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "QUERY.md does not mention {missing:?} in backticks");
    assert!(names.len() > 60, "{names:?}");
}

/// Keys, and values that are names.
fn collect(json: &serde_json::Value, names: &mut std::collections::BTreeSet<String>) {
    match json {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                names.insert(key.clone());
                if let (true, Some(name)) =
                    (["link", "how", "relation", "end"].contains(&&**key), value.as_str())
                {
                    names.insert(name.to_owned());
                }
                collect(value, names);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}

#[test]
fn requests_that_cannot_be_read_are_explained() {
    let error = |text: &str| Request::parse(text).unwrap_err().to_string();
    assert!(error("").contains("cannot be read"));
    assert!(
        error(r#"{"version":2,"questions":"?"}"#)
            .contains("has version 2, and this Raddle answers version 1")
    );
    assert!(error(r#"{"version":1,"questions":[{"wormhole":{}}]}"#).contains("unknown variant"));
    assert!(error(r#"{"version":1,"question":[]}"#).contains("unknown field"));
}
