//! Other forms of failures: each is pinned for one failure, and well formed for every sample.

mod samples;

use std::path::Path;
use std::time::Duration;

use raddle_report::export::junit::{Case, Suite, Verdict, junit};
use raddle_report::export::{github, mermaid, perfetto, sarif, sequence, state};
use raddle_report::failure::{Action, Failure, Order};
use serde_json::Value as Json;

fn all() -> Vec<Failure> {
    vec![
        samples::lost_update(),
        samples::broken_queue(),
        samples::deadlock(),
        samples::data_race(),
        samples::double_free(),
        samples::livelock(),
        samples::scenario(),
        samples::five_threads(),
        samples::message_passing(Order::Relaxed, Order::Relaxed),
        samples::exit(),
        hostile(),
    ]
}

/// A failure whose texts look like markup of every format.
fn hostile() -> Failure {
    let mut failure = samples::broken_queue();
    let text = "</script>]]>\"'<b>&amp;%0A::error::\\#;{}`|*\u{0}\u{1b}[31m\r\nnext";
    failure.message = text.into();
    failure.test = format!("odd::{text}");
    failure.threads[1].name = Some(text.into());
    for frame in &mut failure.trace.frames {
        frame.function = format!("f{text}");
        frame.file = Some(format!("a b/ü,:{text}.rs"));
    }
    for event in &mut failure.trace.events {
        if let Action::Panic { message } = &mut event.action {
            *message = text.into();
        }
    }
    let objects = failure.objects.as_mut().unwrap();
    objects.roots[0].name = text.into();
    objects.list[2].name = text.into();
    failure
}

#[test]
fn sarif_is_pinned() {
    let log = sarif(&samples::broken_queue());
    insta::assert_snapshot!(log.replace(env!("CARGO_PKG_VERSION"), "<version>"));
}

/// The structure that the standard asks for (SARIF 2.1.0, sections 3.13 to 3.38).
#[test]
fn sarif_has_the_structure_of_the_standard() {
    for failure in all() {
        let log: Json = serde_json::from_str(&sarif(&failure)).unwrap();
        only(&log, &["$schema", "version", "runs"]);
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        only(run, &["tool", "columnKind", "results"]);
        let driver = &run["tool"]["driver"];
        only(driver, &["name", "semanticVersion", "rules"]);
        let result = &run["results"][0];
        let fields = [
            "ruleId",
            "ruleIndex",
            "level",
            "kind",
            "message",
            "locations",
            "partialFingerprints",
            "properties",
            "codeFlows",
        ];
        only(result, &fields);
        assert_eq!(result["ruleId"], driver["rules"][0]["id"]);
        only(&driver["rules"][0], &["id", "name", "shortDescription"]);
        assert!(result["message"]["text"].is_string());
        result["locations"].as_array().unwrap().iter().for_each(location);
        let flows = result["codeFlows"][0]["threadFlows"].as_array().unwrap();
        let mut orders = Vec::new();
        let mut ids = Vec::new();
        for flow in flows {
            only(flow, &["id", "message", "locations"]);
            ids.push(flow["id"].as_str().unwrap());
            let steps = flow["locations"].as_array().unwrap();
            assert!(!steps.is_empty(), "a thread flow has at least one location");
            for step in steps {
                only(step, &["location", "executionOrder", "nestingLevel", "importance", "state"]);
                location(&step["location"]);
                orders.push(step["executionOrder"].as_u64().unwrap());
                assert!(step["nestingLevel"].as_u64().is_some());
                assert!(
                    ["essential", "important", "unimportant"].contains(&step["importance"].as_str().unwrap())
                );
                for value in step["state"].as_object().into_iter().flat_map(|state| state.values()) {
                    only(value, &["text"]);
                    assert!(value["text"].is_string());
                }
            }
            let of_thread = &orders[orders.len() - steps.len()..];
            assert!(of_thread.is_sorted(), "the locations of a thread are in order");
        }
        orders.sort_unstable();
        assert!(orders.iter().copied().eq(0..failure.trace.events.len() as u64), "each event once");
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "one flow for each thread");
    }
}

fn location(location: &Json) {
    only(location, &["physicalLocation", "logicalLocations", "message"]);
    let physical = &location["physicalLocation"];
    if physical.is_null() {
        return;
    }
    only(physical, &["artifactLocation", "region"]);
    let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
    let legal = |c: char| c.is_ascii_alphanumeric() || "/._-~%:".contains(c);
    assert!(uri.chars().all(legal), "{uri}");
    if let Some(region) = physical.get("region") {
        only(region, &["startLine"]);
        assert!(region["startLine"].as_u64().unwrap() >= 1);
    }
}

#[track_caller]
fn only(object: &Json, known: &[&str]) {
    for key in object.as_object().unwrap_or_else(|| panic!("not an object: {object}")).keys() {
        assert!(known.contains(&key.as_str()), "`{key}` is not expected here");
    }
}

#[test]
fn annotations() {
    let root = Path::new("crates/my-crate");
    insta::assert_snapshot!("annotation", github::annotation(&samples::lost_update(), root));
    insta::assert_snapshot!("annotation_hostile", github::annotation(&hostile(), Path::new("")));
    for failure in all() {
        let text = github::annotation(&failure, Path::new(""));
        assert_eq!((text.matches('\n').count(), text.matches('\r').count()), (1, 0), "{text}");
        assert!(text.starts_with("::error "), "{text}");
        let properties = text.split("::").nth(1).unwrap();
        for property in properties.strip_prefix("error ").unwrap().split(',') {
            assert!(["file", "line", "title"].contains(&property.split('=').next().unwrap()), "{text}");
        }
    }
}

#[test]
fn summaries() {
    insta::assert_snapshot!(
        "summary",
        github::summary(&samples::lost_update(), "\u{1b}[1mthe report\u{1b}[0m with ```` in it\n")
    );
}

#[test]
fn junit_is_pinned() {
    let case = |name: &str, verdict, output: &str| Case {
        name: name.into(),
        time: Duration::from_millis(1500),
        verdict,
        output: output.into(),
    };
    let failed = Verdict::Failed { kind: "panic".into(), message: "a < b &\n\"c\"".into() };
    let suites = [
        Suite {
            name: "my-crate@test:counter".into(),
            cases: vec![
                case("works", Verdict::Passed, "noise"),
                case("fails::<T>", failed, "\u{1b}[31mred\u{1b}[0m ]]> \u{0}\n"),
                case("later", Verdict::Skipped, ""),
            ],
        },
        Suite { name: "my-crate@lib:my_crate".into(), cases: Vec::new() },
    ];
    insta::assert_snapshot!(junit(&suites));
}

#[test]
fn diagrams() {
    insta::assert_snapshot!("mermaid", mermaid(&samples::broken_queue()));
    insta::assert_snapshot!("mermaid_hostile", mermaid(&hostile()));
    insta::assert_snapshot!("sequence", sequence(&samples::broken_queue()));
    insta::assert_snapshot!("sequence_lost_update", sequence(&samples::lost_update()));
    for failure in all() {
        let text = mermaid(&failure);
        for line in text.lines().skip(1) {
            assert!(!line.contains("</script>") && !line.contains('"'), "{line}");
            let kind =
                ["participant T", "Note over T", "T"].iter().any(|kind| line.trim_start().starts_with(kind));
            assert!(kind, "{line}");
        }
        for line in sequence(&failure).lines() {
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn perfetto_is_pinned() {
    insta::assert_snapshot!(perfetto(&samples::broken_queue()));
}

/// Slices that begin end, on every thread; arrows come in pairs, within slices.
#[test]
fn perfetto_slices_are_balanced() {
    for failure in all() {
        let trace: Json = serde_json::from_str(&perfetto(&failure)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
        assert_eq!(count("B"), count("E"));
        assert_eq!(count("s"), count("f"));
        assert_eq!(count("X"), failure.trace.events.len());
        let mut depth = std::collections::BTreeMap::new();
        let mut last = std::collections::BTreeMap::new();
        for event in events.iter().filter(|event| event["cat"] == "call") {
            let thread = event["tid"].as_u64().unwrap();
            let depth = depth.entry(thread).or_insert(0);
            *depth += if event["ph"] == "B" { 1 } else { -1 };
            assert!(*depth >= 0);
            let time = event["ts"].as_u64().unwrap();
            assert!(last.insert(thread, time).is_none_or(|before| before <= time), "time runs backwards");
        }
        assert!(depth.values().all(|&depth| depth == 0));
    }
}

#[test]
fn state_graphs() {
    let failure = samples::broken_queue();
    insta::assert_snapshot!("state_dot", state::dot(&failure, Some(5)).unwrap());
    insta::assert_snapshot!("state_svg", state::svg(&failure, Some(5)).unwrap());
    insta::assert_snapshot!("state_dot_hostile", state::dot(&hostile(), None).unwrap());
    for event in 0..failure.trace.events.len() as u32 {
        for text in [state::svg(&failure, Some(event)).unwrap(), state::svg(&hostile(), Some(event)).unwrap()]
        {
            assert!(!text.contains("</script>") && !text.contains("<b>"), "{text}");
            assert_eq!(text.matches('<').count(), text.matches('>').count(), "{text}");
        }
    }
    let error = state::dot(&failure, Some(99)).unwrap_err();
    assert_eq!(error.to_string(), "there is no event 99: the failure has 12");
    assert!(state::svg(&samples::lost_update(), None).unwrap_err().to_string().contains("has no objects"));
}
