//! The report in the terminal, for every kind of failure and terminal.

mod samples;

use std::path::Path;

use raddle_report::failure::{
    Action, Event, Location, Object, Objects, Order, Primitive, Switch, ThreadEnd, WaitingFor,
};
use raddle_report::{Failure, Kind, Style, render};

const WIDE: Style = Style { width: 110, colour: false, unicode: true };

#[track_caller]
fn page(failure: &Failure, style: Style) -> String {
    let page = render(failure, style, Some(Path::new("target/raddle/failures/example.json")));
    for line in page.lines().filter(|line| !line.starts_with("replay:")) {
        assert_eq!(line, line.trim_end(), "spaces at the end of a line");
        assert!(style.colour || line.chars().count() <= style.width, "wider than the terminal: {line}");
    }
    page
}

#[test]
fn lost_update() {
    insta::assert_snapshot!(page(&samples::lost_update(), WIDE));
}

/// Pointers are shown as the objects that they lead to, and plain writes are hidden.
#[test]
fn scenario_with_objects() {
    let mut failure = samples::scenario();
    let mut list: Vec<Object> = Vec::new();
    for event in &failure.trace.events {
        if let Action::Load { value, .. } = event.action
            && value.0 > 1 << 40
            && list.iter().all(|object| u128::from(object.address) != value.0)
        {
            let name = format!("Node#{}", list.len() + 1);
            let address = value.0 as u64;
            list.push(Object {
                name,
                of: "Node".into(),
                in_crate: None,
                address,
                size: 16,
                since: None,
                freed: None,
            });
        }
    }
    assert_eq!(list.len(), 2, "the sample has two nodes");
    let place = Location { name: None, address: list[1].address, size: 8 };
    let written = Action::Write { place, length: 8, value: None };
    let at = failure.trace.events.len() / 2;
    let event = Event { action: written, switch: None, ..failure.trace.events[at - 1].clone() };
    failure.trace.events.insert(at, event);
    failure.objects = Some(Objects { list, ..Objects::default() });
    insta::assert_snapshot!(page(&failure, WIDE));
}

#[test]
fn deadlock() {
    insta::assert_snapshot!(page(&samples::deadlock(), WIDE));
}

#[test]
fn data_race() {
    insta::assert_snapshot!(page(&samples::data_race(), WIDE));
}

#[test]
fn double_free() {
    insta::assert_snapshot!(page(&samples::double_free(), WIDE));
}

#[test]
fn livelock() {
    insta::assert_snapshot!(page(&samples::livelock(), WIDE));
}

/// A failure without proof says so.
#[test]
fn time_limit() {
    insta::assert_snapshot!(page(&samples::time_limit(), WIDE));
}

/// The thread that failed is named, not the one with the last event.
#[test]
fn exit() {
    insta::assert_snapshot!(page(&samples::exit(), WIDE));
}

#[test]
fn thread_leak() {
    insta::assert_snapshot!(page(&samples::thread_leak(), WIDE));
}

#[test]
fn scenario() {
    insta::assert_snapshot!(page(&samples::scenario(), WIDE));
}

#[test]
fn explained_scenario() {
    let mut failure = samples::scenario();
    failure.kind = Kind::IncorrectResults;
    failure.reasons = vec![
        "the order that explains most: push(1) -> (), T1 push(2) -> (), T1 pop() -> Some(1)".into(),
        "what can come next does not fit (the state is then [2]):".into(),
        "  T2 pop() -> Some(1): should be Some(2)".into(),
    ];
    let scenario = failure.scenario.as_mut().unwrap();
    scenario.code = Some(".scenario(\n    raddle::Scenario::new(),\n)".into());
    insta::assert_snapshot!(page(&failure, WIDE));
}

#[test]
fn found_on_real_threads() {
    let mut failure = samples::scenario();
    failure.trace = Default::default();
    failure.threads = Vec::new();
    failure.found_by.strategy = "stress".into();
    insta::assert_snapshot!(page(&failure, WIDE));
}

#[test]
fn narrow() {
    insta::assert_snapshot!(page(&samples::deadlock(), Style { width: 48, ..WIDE }));
}

#[test]
fn narrow_scenario() {
    insta::assert_snapshot!(page(&samples::scenario(), Style { width: 40, ..WIDE }));
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(page(&samples::deadlock(), Style { width: 80, ..WIDE }));
}

#[test]
fn five_threads() {
    insta::assert_snapshot!(page(&samples::five_threads(), WIDE));
}

#[test]
fn colour() {
    let page = page(&samples::lost_update(), Style { colour: true, ..WIDE });
    insta::assert_snapshot!(page.replace('\x1b', "ESC"));
}

#[test]
fn ascii() {
    let page = page(&samples::scenario(), Style { unicode: false, ..WIDE });
    assert!(page.is_ascii());
    insta::assert_snapshot!(page);
}

#[test]
fn long_trace() {
    insta::assert_snapshot!(page(&samples::long_trace(), WIDE));
}

/// A thread may wait for a lock without an event there; the event that took the lock is shown all the same.
#[test]
fn the_taking_of_an_awaited_lock_is_shown() {
    let lock = || samples::unnamed(0x7000);
    let target = WaitingFor::Primitive { kind: Primitive::Mutex, place: lock() };
    let failure = samples::Sample::new("lock::forgotten", Kind::Deadlock, "a thread waits for ever")
        .thread(None, ThreadEnd::Finished)
        .thread(None, ThreadEnd::waiting(target, Some(0), None))
        .event(0, "lock::forgotten tests/lock.rs:5", Action::Spawn { thread: 1 })
        .event(0, "lock::forgotten tests/lock.rs:6", samples::cas(lock(), Order::Acquire, 0, 1, 0))
        .event(0, "lock::forgotten tests/lock.rs:7", samples::store(samples::named("own"), Order::Relaxed, 1))
        .event(0, "lock::forgotten tests/lock.rs:8", samples::store(samples::named("own"), Order::Relaxed, 2))
        .after(Switch::Finished, 1, "", Action::Begin)
        .done();
    let page = page(&failure, WIDE);
    assert!(page.contains("#1.compare_exchange(0, 1, Acquire) -> Ok(0)"), "{page}");
    assert!(page.contains("#1 is 0x7000"), "{page}");
    assert!(page.contains("(2 events, nothing shared)"), "{page}");
}

/// Locks of the same name are told apart wherever they are named.
#[test]
fn locks_of_the_same_name_have_numbers() {
    let fork = |address| Location { name: Some("fork".to_owned()), address, size: 4 };
    let locked = |address| samples::cas(fork(address), Order::Acquire, 0, 1, 0);
    let failure = samples::Sample::new("philosophers", Kind::Deadlock, "two threads wait")
        .thread(None, ThreadEnd::Finished)
        .locking(None, fork(0x7040), 2, "eat tests/eat.rs:5")
        .locking(None, fork(0x7000), 1, "eat tests/eat.rs:5")
        .event(1, "eat tests/eat.rs:4", locked(0x7000))
        .event(2, "eat tests/eat.rs:4", locked(0x7040))
        .after(Switch::Preempted, 1, "eat tests/eat.rs:5", samples::wait(fork(0x7040), 2))
        .after(Switch::Blocked, 2, "eat tests/eat.rs:5", samples::wait(fork(0x7000), 2))
        .done();
    let page = page(&failure, WIDE);
    assert!(page.contains("waits for mutex `fork'2`, held by T2"), "{page}");
    assert!(page.contains("waits for mutex `fork`, held by T1"), "{page}");
    assert!(page.contains("T1 → mutex `fork'2` → T2 → mutex `fork` → T1"), "{page}");
    assert!(page.contains("switch to T2: T1 waits for mutex `fork'2`"), "{page}");
}

/// Location 3 exists, but no row shows it.
#[test]
fn a_message_with_a_number_adds_nothing_to_the_legend() {
    let mut failure = samples::scenario();
    let event = failure.trace.events.last_mut().unwrap();
    event.action = Action::Panic { message: "issue #3 is back".to_owned() };
    let page = page(&failure, WIDE);
    assert!(page.contains("issue #3 is back") && !page.contains("#3 is 0x"), "{page}");
}

#[test]
fn every_width_is_kept() {
    for width in 20..200 {
        for failure in
            [samples::lost_update(), samples::deadlock(), samples::scenario(), samples::five_threads()]
        {
            page(&failure, Style { width, ..WIDE });
        }
    }
}
