//! How many random schemas can show that a method goes from shard to shard.
#![allow(missing_docs)]

use std::collections::BTreeSet;

use raddle_refine::enumerate::{Bounds, Candidate, RANGE, Random, Suspects};
use raddle_refine::{Invocation, Literal, Schema};

/// A set of two shards: neighbours share one, and `len` looks at one after the other. Everything else is one step.
#[derive(Clone, Default)]
struct Set {
    keys: BTreeSet<i64>,
    results: Vec<i64>,
}

impl Set {
    fn shard(&self, shard: i64) -> i64 {
        self.keys.iter().filter(|key| **key / 4 == shard).count() as i64
    }

    /// Makes one step of an operation, which is the last one if it has no more.
    fn step(&mut self, number: usize, call: &Invocation, step: usize) {
        let key = match call.arguments.first() {
            Some(Literal::Int(key)) => *key,
            _ => 0,
        };
        self.results[number] += match call.method.as_str() {
            "insert" => i64::from(self.keys.insert(key)),
            "remove" => i64::from(self.keys.remove(&key)),
            _ => self.shard(step as i64),
        };
    }
}

/// An operation with its number; and a thread: its operations, the one that it is at, and the step of that.
type Numbered = Vec<(usize, Invocation)>;
type Thread = (Numbered, usize, usize);

/// All outcomes of all interleavings. If `len` is atomic, its steps follow one another.
fn outcomes(schema: &Schema, atomic: bool) -> BTreeSet<Vec<i64>> {
    let mut number = 0;
    let mut phases: Vec<Vec<Thread>> = Vec::new();
    for phase in &schema.phases {
        let mut threads = Vec::new();
        for sequence in phase {
            let numbered: Numbered = (number..).zip(sequence.iter().cloned()).collect();
            number += numbered.len();
            threads.push((numbered, 0, 0));
        }
        phases.push(threads);
    }
    let mut found = BTreeSet::new();
    explore(&Set { results: vec![0; number], ..Set::default() }, &phases, atomic, &mut found);
    found
}

fn explore(set: &Set, phases: &[Vec<Thread>], atomic: bool, found: &mut BTreeSet<Vec<i64>>) {
    let Some((threads, later)) = phases.split_first() else {
        found.insert(set.results.clone());
        return;
    };
    if threads.iter().all(|(operations, at, _)| *at == operations.len()) {
        return explore(set, later, atomic, found);
    }
    for (chosen, (operations, at, step)) in threads.iter().enumerate() {
        let Some((number, call)) = operations.get(*at) else { continue };
        let steps = if call.method == "len" { 2 } else { 1 };
        let (mut set, mut step) = (set.clone(), *step);
        loop {
            set.step(*number, call, step);
            step += 1;
            if step == steps || !atomic {
                break;
            }
        }
        let mut phases = phases.to_vec();
        (phases[0][chosen].1, phases[0][chosen].2) = if step == steps { (at + 1, 0) } else { (*at, step) };
        explore(&set, &phases, atomic, found);
    }
}

/// How many of a hundred schemas have an outcome that no order of whole operations has.
fn telling(range: usize) -> usize {
    let mut candidates = vec![candidate("len()", true, false)];
    for key in 0..2 {
        candidates.push(candidate(&format!("insert({key})"), false, true));
        candidates.push(candidate(&format!("remove({key})"), false, true));
    }
    let schemas = Random::new(&candidates, Bounds::default(), Suspects::One, 0).spread(range).take(100);
    schemas.filter(|schema| !outcomes(schema, false).is_subset(&outcomes(schema, true))).count()
}

fn candidate(call: &str, readonly: bool, trusted: bool) -> Candidate {
    Candidate { invocation: call.parse().unwrap(), readonly, trusted }
}

#[test]
fn the_simulation_finds_what_the_scan_does() {
    let schema: Schema = "{ insert(0) }; { len() } || { remove(0); insert(4) }".parse().unwrap();
    let (torn, whole) = (outcomes(&schema, false), outcomes(&schema, true));
    assert!(torn.contains(&vec![1, 2, 1, 1]) && !whole.contains(&vec![1, 2, 1, 1]), "{torn:?} {whole:?}");
}

#[test]
fn small_keys_show_nothing_and_others_do() {
    assert_eq!(telling(0), 0, "keys 0 and 1 are in one shard");
    let telling = telling(RANGE);
    assert!(telling >= 5, "{telling} of 100 schemas show it");
    println!("{telling} of 100 schemas show that `len` is not atomic");
}
