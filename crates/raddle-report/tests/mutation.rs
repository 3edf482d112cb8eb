//! Failure files that were cut off or edited: each is refused with one sentence, or every renderer, query and export copes with it.

mod samples;

use std::fs;
use std::path::Path;

use raddle_report::export::{github, mermaid, perfetto, sarif, sequence, state};
use raddle_report::failure::{Failure, Order};
use raddle_report::query::{Index, Question, render_answer};
use raddle_report::{Style, render, render_graph, render_numbered, render_why, to_dot, to_svg};
use serde_json::{Value as Json, json};

/// The number of mutations of each kind and sample.
const MUTATIONS: usize = 60;

/// A generator of numbers (xorshift), so that a failure is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn files() -> Vec<String> {
    let failures = [
        samples::lost_update(),
        samples::broken_queue(),
        samples::deadlock(),
        samples::double_free(),
        samples::scenario(),
        samples::opposite_writes(),
        samples::sequence_lock(),
        samples::message_passing(Order::Relaxed, Order::Relaxed),
        samples::unordered_accesses(Order::Relaxed),
    ];
    failures.iter().map(Failure::to_json).collect()
}

#[test]
fn edited_files_are_refused_or_shown() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    for text in files() {
        for _ in 0..MUTATIONS {
            let mut json: Json = serde_json::from_str(&text).unwrap();
            for _ in 0..=numbers.below(3) {
                mutate(&mut json, &mut numbers);
            }
            match check(&json.to_string(), &mut numbers) {
                true => read += 1,
                false => refused += 1,
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} were read, {refused} were refused");
}

#[test]
fn damaged_files_are_refused() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for text in files() {
        for _ in 0..MUTATIONS {
            let end = numbers.below(text.trim_end().len());
            let cut = String::from_utf8_lossy(&text.as_bytes()[..end]).into_owned();
            assert!(!check(&cut, &mut numbers), "a file cut off at {end} was read");
            let mut bytes = text.clone().into_bytes();
            bytes[end] = numbers.below(128) as u8;
            check(&String::from_utf8_lossy(&bytes), &mut numbers);
        }
    }
}

/// Whether the file is read; then everything copes with it.
fn check(text: &str, numbers: &mut Numbers) -> bool {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("mutation-{:?}.json", std::thread::current().id()));
    fs::write(&path, text).unwrap();
    match Failure::read(&path) {
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains('\n'), "{error}");
            false
        }
        Ok(failure) => {
            let caught =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| use_all(&failure, numbers)));
            assert!(caught.is_ok(), "a renderer panicked with the file {}:\n{text}", path.display());
            true
        }
    }
}

/// Calls everything that takes a failure.
fn use_all(failure: &Failure, numbers: &mut Numbers) {
    let style = Style { width: 20 + numbers.below(120), colour: false, unicode: true };
    render(failure, style, None);
    render_numbered(failure, style, None);
    render_why(failure, style);
    let _ = (render_graph(failure, style), to_dot(failure), to_svg(failure));
    sarif(failure);
    mermaid(failure);
    sequence(failure);
    perfetto(failure);
    github::annotation(failure, Path::new(""));
    github::summary(failure, "report");
    let index = Index::of(failure);
    let ask = |question: Question| {
        if let Ok(answer) = index.answer(&question) {
            render_answer(&answer, style);
        }
    };
    for event in 0..failure.trace.events.len() as u32 + 1 {
        for target in [event.to_string(), format!("T{event}"), format!("={event}")] {
            ask(Question::Why { target });
        }
        ask(Question::Order { first: event, second: 0 });
        let _ = (state::dot(failure, Some(event)), state::svg(failure, Some(event)));
    }
    for place in failure.trace.events.iter().filter_map(|event| event.action.place()) {
        ask(Question::Accesses { location: place.name.clone().unwrap_or_default() });
        ask(Question::Accesses { location: format!("{:#x}", place.address) });
    }
    for condition in
        ["queue.tail == Node#2", "Node#1.next.next.value > 3", "counter.value == 1", "queue.freed"]
    {
        ask(Question::When { condition: condition.into() });
    }
    ask(Question::PointOfNoReturn);
    ask(Question::NearestPass);
    ask(Question::Why { target: String::new() });
}

/// Changes one value somewhere: a number, a text, or a list or object that loses a part.
fn mutate(json: &mut Json, numbers: &mut Numbers) {
    let count = json.as_array().map(Vec::len).or(json.as_object().map(|object| object.len())).unwrap_or(0);
    // The way leads down until a part without parts, or ends before.
    if count > 0 && numbers.below(8) > 0 {
        let at = numbers.below(count);
        let part = match json {
            Json::Array(list) => list.get_mut(at),
            Json::Object(object) => object.values_mut().nth(at),
            _ => None,
        };
        return mutate(part.expect("counted above"), numbers);
    }
    match json {
        Json::Array(list) if !list.is_empty() => {
            let at = numbers.below(list.len());
            match numbers.below(4) {
                0 => list.truncate(at),
                1 => list.insert(at, list[at].clone()),
                2 => list.reverse(),
                _ => _ = list.remove(at),
            }
        }
        Json::Object(object) if !object.is_empty() => {
            let key = object.keys().nth(numbers.below(object.len())).expect("counted").clone();
            object.remove(&key);
        }
        Json::Number(number) => {
            let now = number.as_u64().unwrap_or(0);
            let others = [
                0,
                1,
                2,
                7,
                255,
                now.wrapping_add(1),
                now.saturating_sub(1),
                u32::MAX.into(),
                u64::MAX,
                1 << 41,
            ];
            *json = json!(others[numbers.below(others.len())]);
        }
        Json::String(text) => {
            let others = ["", "0", "18446744073709551615", "\u{1b}[31m</script>", "sc", "initial", "ü::<{}>"];
            *text = others[numbers.below(others.len())].to_owned();
        }
        other => *other = json!([]),
    }
}
