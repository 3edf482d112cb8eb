//! Failures with objects, for the page: the queue of two unsynchronised writes, and one that is as large as failures get.

use serde_json::{Value as Json, json};

use super::Sample;
use raddle_report::failure::*;

const QUEUE: u64 = 0x7000_0000_1000;
const NODES: [u64; 3] = [0x7000_0000_2000, 0x7000_0000_2040, 0x7000_0000_2080];

/// A queue that swaps its tail before it links the new node: an element that is in the queue is not found.
pub(crate) fn queue() -> Failure {
    let (enqueue, dequeue) = ("Queue::enqueue src/queue.rs:", "Queue::dequeue src/queue.rs:");
    let at = |function: &str, line: u32| format!("{function}{line}");
    let tail = || place("queue.tail", QUEUE + 8);
    let next = |node: usize| place(&format!("Node#{}.next", node + 1), NODES[node] + 8);
    let call = |call: &str| Action::Call { call: call.into() };
    let returned = |call: &str, result: &str| Action::Return { call: call.into(), result: result.into() };
    let new_node = |node: usize, value: u64| Action::Write {
        place: place("node.value", NODES[node]),
        length: 16,
        value: Some(Value(value.into())),
    };
    let swap = |read: usize, written: usize| Action::Rmw {
        place: tail(),
        order: Order::AcqRel,
        op: "swap".into(),
        read: Value(NODES[read].into()),
        written: Value(NODES[written].into()),
    };
    let link = |from: usize, to: usize| Action::Store {
        place: next(from),
        order: Order::Release,
        value: Value(NODES[to].into()),
        newest: None,
    };
    let load = |place: Location, value: u64| Action::Load {
        place,
        order: Order::Acquire,
        value: Value(value.into()),
        newest: None,
    };
    let node = |value: &str, next: Json| json!({"fields": {"name": "Node", "fields": [{"name": "value", "value": {"scalar": value}}, {"name": "next", "value": next}]}});
    let null = json!({"pointer": {"address": 0}});
    let to = |node: u32| json!({"pointer": {"object": node, "address": NODES[node as usize - 1]}});

    let failure = Sample::new("queue_test", Kind::IncorrectResults, "no order of the operations explains their results")
        .thread(Some("main"), ThreadEnd::Finished)
        .thread(None, ThreadEnd::Finished)
        .thread(None, ThreadEnd::Finished)
        .event(0, "", Action::Begin)
        .event(0, "queue_test tests/queue.rs:9", Action::Spawn { thread: 1 })
        .event(0, "queue_test tests/queue.rs:10", Action::Spawn { thread: 2 })
        .event(1, "", Action::Begin)
        .knows(&[1])
        .event(1, "", call("enqueue(1)"))
        .event(1, &at(enqueue, 20), new_node(1, 1))
        .changes(json!([{"object": 2, "value": node("1", null.clone())}]))
        .event(1, &at(enqueue, 21), swap(0, 1))
        .reads(Write::Initial)
        .overwrites(Write::Initial)
        .changes(json!([{"object": 0, "path": [1], "value": to(2)}]))
        .event(2, "", Action::Begin)
        .knows(&[2])
        .event(2, "", call("enqueue(2)"))
        .event(2, &at(enqueue, 20), new_node(2, 2))
        .changes(json!([{"object": 3, "value": node("2", null.clone())}]))
        .event(2, &at(enqueue, 21), swap(1, 2))
        .reads(Write::Event(6))
        .overwrites(Write::Event(6))
        .knows(&[6])
        .changes(json!([{"object": 0, "path": [1], "value": to(3)}]))
        .event(2, &at(enqueue, 22), link(1, 2))
        .overwrites(Write::Initial)
        .changes(json!([{"object": 2, "path": [1], "value": to(3)}]))
        .event(2, "", returned("enqueue(2)", "()"))
        .event(2, "", call("dequeue()"))
        .event(2, &at(dequeue, 30), load(place("queue.head", QUEUE), NODES[0]))
        .reads(Write::Initial)
        .event(2, &at(dequeue, 31), load(next(0), 0))
        .reads(Write::Initial)
        .event(2, "", returned("dequeue()", "None"))
        .event(2, "", Action::End)
        .after(Switch::Finished, 1, &at(enqueue, 22), link(0, 1))
        .overwrites(Write::Initial)
        .changes(json!([{"object": 1, "path": [1], "value": to(2)}]))
        .event(1, "", returned("enqueue(1)", "()"))
        .event(1, "", Action::End)
        .after(Switch::Finished, 0, "queue_test tests/queue.rs:11", Action::Join { thread: 1 })
        .knows(&[20])
        .event(0, "queue_test tests/queue.rs:11", Action::Join { thread: 2 })
        .knows(&[17])
        .event(0, "queue_test tests/queue.rs:12 > Queue::drop src/queue.rs:40", Action::Free { address: NODES[0] })
        .changes(json!([{"object": 0, "path": [0], "value": {"pointer": {"object": 1, "address": NODES[0], "dangling": true}}}]))
        .event(0, "", Action::End)
        .done();
    let mut file = serde_json::to_value(failure).unwrap();
    let operation = |call: &str, result: &str| json!({"call": call, "result": result});
    let scenario = |result: &str| json!({"parallel": [[operation("enqueue(1)", "()")], [operation("enqueue(2)", "()"), operation("dequeue()", result)]], "code": ".scenario(\n    raddle::Scenario::new()\n)"});
    file["scenario"] = scenario("None");
    file["reasons"] = json!([
        "the order that explains most: T1 enqueue(1) -> (), T2 enqueue(2) -> ()",
        "what can come next does not fit:",
        "  T2 dequeue() -> None: should be Some(1)"
    ]);
    let pointers = json!([{"name": "head", "value": to(1)}, {"name": "tail", "value": to(1)}]);
    let object = |name: &str, of: &str, address: u64| json!({"name": name, "type": of, "address": address, "size": 16});
    let with = |mut object: Json, key: &str, event: u32| {
        object[key] = event.into();
        object
    };
    file["objects"] = json!({
        "roots": [{"name": "queue", "object": 0}],
        "list": [
            object("Queue#1", "Queue<u32>", QUEUE),
            with(object("Node#1", "Node<u32>", NODES[0]), "freed", 23),
            with(object("Node#2", "Node<u32>", NODES[1]), "since", 5),
            with(object("Node#3", "Node<u32>", NODES[2]), "since", 9),
        ],
        "initial": [
            {"object": 0, "value": {"fields": {"name": "Queue", "fields": pointers}}},
            {"object": 1, "value": node("</script><img src=x onerror=alert(1)>", null)},
        ],
    });
    file["point_of_no_return"] = json!({"event": 15, "executions": 212, "exhaustive": true});
    let mut trace = file["trace"].clone();
    let events = trace["events"].as_array_mut().unwrap();
    // The first thread goes on and links its node.
    let common = 7;
    let rest = events.split_off(common);
    events.extend(rest.iter().filter(|event| event["thread"] == 1).cloned());
    events.extend(rest.iter().filter(|event| event["thread"] == 2).cloned());
    for event in events.iter_mut().skip(common) {
        for edge in ["reads_from", "overwrites", "synchronises_with", "switch", "changes"] {
            event.as_object_mut().unwrap().remove(edge);
        }
    }
    file["nearest_pass"] = json!({
        "common": common, "common_of_pass": common, "failing_thread": 2, "passing_thread": 1, "schedule": "0x3 1x5 2x8", "trace": trace, "scenario": scenario("Some(1)"),
    });
    serde_json::from_value(file).unwrap()
}

/// A failure with many events and objects: a few threads that change fields of a long list.
pub(crate) fn large(events: u32, objects: u32) -> Failure {
    let threads = 4;
    let address = |object: u32| 0x7000_0000_0000 + u64::from(object) * 64;
    let mut sample = Sample::new("large", Kind::Panic, "assertion failed: `list.is_sorted()`")
        .thread(Some("main"), ThreadEnd::Panicked);
    for _ in 1..threads {
        sample = sample.thread(None, ThreadEnd::Finished);
    }
    sample = sample.event(0, "", Action::Begin);
    let mut last: Vec<Option<u32>> = vec![None; objects as usize];
    // Deterministic, and without a pattern that a reader of the page would see.
    let mut random = 7_u32;
    for number in 1..events - 1 {
        random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let (thread, object) = (number / 7 % threads, (random >> 8) % objects);
        let place = place(&format!("Node#{object}.value"), address(object));
        let stack = format!(
            "List::sort src/list.rs:{0} > List::visit src/list.rs:{1}",
            10 + random % 5,
            30 + random % 9
        );
        let from = last[object as usize].map_or(Write::Initial, Write::Event);
        if random & 0x1000 == 0 {
            sample = sample
                .event(
                    thread,
                    &stack,
                    Action::Load { place, order: Order::Acquire, value: Value(random.into()), newest: None },
                )
                .reads(from);
        } else {
            sample = sample
                .event(
                    thread,
                    &stack,
                    Action::Store { place, order: Order::Release, value: Value(number.into()), newest: None },
                )
                .overwrites(from)
                .changes(json!([{"object": object, "path": [0], "value": {"scalar": number.to_string()}}]));
            last[object as usize] = Some(number);
        }
    }
    sample = sample.event(
        0,
        "large tests/list.rs:9",
        Action::Panic { message: "assertion failed: a long message".repeat(9) },
    );
    let mut file = serde_json::to_value(sample.done()).unwrap();
    let node = |object: u32| {
        let next = match object + 1 {
            next if next < objects => json!({"pointer": {"object": next, "address": address(next)}}),
            _ => json!({"pointer": {"address": 0}}),
        };
        json!({"object": object, "value": {"fields": {"name": "Node", "fields": [{"name": "value", "value": {"scalar": "0"}}, {"name": "next", "value": next}]}}})
    };
    file["objects"] = json!({
        "roots": [{"name": "list", "object": 0}],
        "list": (0..objects).map(|object| json!({"name": format!("Node#{object}"), "type": "Node", "address": address(object), "size": 16})).collect::<Vec<_>>(),
        "initial": (0..objects).map(node).collect::<Vec<_>>(),
    });
    serde_json::from_value(file).unwrap()
}

fn place(name: &str, address: u64) -> Location {
    Location { name: Some(name.to_owned()), address, size: 8 }
}
