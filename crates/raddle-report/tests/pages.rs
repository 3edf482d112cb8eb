//! Pages of sample failures: written for the tests in a browser (`cargo xtask page-test`), which click through them.
#![cfg(feature = "html")]

mod samples;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use raddle_report::Failure;
use raddle_report::failure::{Kind, Order, Switch};
use raddle_report::html::{Sources, write};
use raddle_report::query::answer::{Accesses, HowMissed, Link};
use raddle_report::query::{Answer, Index, Question};
use serde_json::{Value as Json, json};

use samples::objects;

/// The code of the sample queue, by the lines that its trace mentions.
fn source(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?;
    let line = |number: u32| match (name, number) {
        ("queue.rs", 19) => "    pub fn enqueue(&self, value: T) {".to_owned(),
        ("queue.rs", 20) => "        let new = Node::new(value);".to_owned(),
        ("queue.rs", 21) => "        let old = self.tail.swap(new, AcqRel); // </script>".to_owned(),
        ("queue.rs", 22) => "        old.next.store(new, Release);".to_owned(),
        ("queue.rs", 30) => "        let head = self.head.load(Acquire);".to_owned(),
        ("queue.rs", 31) => "        let next = head.next.load(Acquire);".to_owned(),
        _ => format!("        // line {number} of {name}"),
    };
    Some((1..=60).map(|number| line(number) + "\n").collect())
}

/// Writes a page and its failure file where the browser finds them, and returns how long the page took.
fn publish(name: &str, mut failure: Failure) -> Duration {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&directory).unwrap();
    failure.file = Some(format!("target/raddle/failures/{name}.json").into());
    let sources = Sources::of(&failure, source);
    let begin = Instant::now();
    write(&failure, &sources, &directory.join(format!("{name}.html"))).unwrap();
    begin.elapsed()
}

/// Writes the answers of the index to the questions that the page offers, for each event: the events that they name, in order.
fn publish_answers(name: &str, failure: &Failure) {
    let index = Index::of(failure);
    let answers: Vec<Json> = (0..failure.trace.events.len() as u32)
        .map(|event| {
            let action = &failure.trace.events[event as usize].action;
            let place = action.place().map(|place| format!("{:#x}", place.address));
            let accesses = place.and_then(|location| index.answer(&Question::Accesses { location }).ok());
            let (writers, readers) = match accesses {
                Some(Answer::Accesses(Accesses { writes, reads, .. })) => (
                    Some(writes.iter().map(|write| write.event).collect::<Vec<_>>()),
                    Some(reads.iter().map(|read| read.at.event).collect::<Vec<_>>()),
                ),
                _ => (None, None),
            };
            let missed = match index.answer(&Question::Missed { event }) {
                Ok(Answer::Missed(missed)) => {
                    let older = missed.by.iter().filter(|miss| miss.how == HowMissed::ReadOlder);
                    Some(older.map(|miss| miss.at.event).collect::<Vec<_>>())
                }
                _ => None,
            };
            let before = match index.answer(&Question::Before { event }) {
                Ok(Answer::Before(before)) => {
                    before.threads.iter().map(|known| known.last.event).collect::<Vec<_>>()
                }
                _ => Vec::new(),
            };
            // The write that a read saw; what comes before that is a guess, which the page makes otherwise.
            let source = match index.answer(&Question::Origin { event }) {
                Ok(Answer::Origin(origin)) => {
                    let read = origin.steps.get(1).filter(|step| step.link == Link::ReadsFrom && step.certain);
                    read.map(|step| step.at.event)
                }
                _ => None,
            };
            json!({"writers": writers, "readers": readers, "missed": missed, "before": before, "source": source})
        })
        .collect();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages").join(format!("{name}.answers.json"));
    fs::write(file, serde_json::to_string(&answers).unwrap()).unwrap();
}

#[test]
fn pages_of_samples() {
    let relaxed = Order::Relaxed;
    for (name, failure) in [
        ("store-buffering", samples::store_buffering(false)),
        ("message-passing", samples::message_passing(relaxed, relaxed)),
        ("peterson", samples::peterson()),
        ("broken-queue", samples::broken_queue()),
        ("queue", objects::queue()),
        ("lost-update", samples::lost_update()),
    ] {
        publish(name, failure.clone());
        publish_answers(name, &failure);
    }
    let mut spins = samples::lost_update();
    (spins.kind, spins.message) = (Kind::NotObstructionFree, "`inc()` of T1 spins".to_owned());
    let switch = spins.trace.events.iter_mut().find(|event| event.switch == Some(Switch::Preempted)).unwrap();
    switch.switch = Some(Switch::Spinning);
    publish("spins", spins);
    let mut bare = objects::queue();
    (bare.objects, bare.nearest_pass, bare.point_of_no_return) = (None, None, None);
    bare.trace.events.iter_mut().for_each(|event| event.changes.clear());
    publish("bare", bare);
    let mut empty = objects::queue();
    (empty.objects, empty.nearest_pass, empty.point_of_no_return) = (None, None, None);
    empty.trace.events.clear();
    publish("empty", empty);
}

/// The browser scrubs through it; the benchmark measures how long it takes to write.
#[test]
fn a_large_page_is_written() {
    let took = publish("large", objects::large(10_000, 200));
    // A tenth of the events, for comparison: a frame must not depend on how many there are.
    publish("large-tenth", objects::large(1_000, 200));
    println!("a page of 10,000 events and 200 objects takes {took:?}");
}
