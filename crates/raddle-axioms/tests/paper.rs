//! The axioms against the paper: random executions, judged by relations that are composed as Lahav et al. write them.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use raddle_axioms::{Axiom, Event, Execution, Graph, Kind, Psc, Relation, Selection, rc11, sc};

/// A linear congruential generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

const ORDERS: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];
const THREADS: usize = 4;
const LOCATIONS: usize = 2;

/// A random execution of a few threads, events and locations. Every read comes after its source.
///
/// Once in a while a read goes back behind what its thread has seen, or a write comes between a read-modify-write and its source:
/// if every event did as it likes, few executions would be coherent.
fn execution(dice: &mut Dice) -> Execution {
    let mut execution = Execution::default();
    // The writes to each location, in modification order, and the last one that each thread has seen.
    let mut writes: [Vec<usize>; LOCATIONS] = Default::default();
    let mut seen = [[None; LOCATIONS]; THREADS];
    let (threads, events) = (2 + dice.roll(THREADS - 1), 4 + dice.roll(8));
    // Of four events, the number that is sequentially consistent in any case: only those can violate the axiom SC.
    let strong = dice.roll(4);
    for number in 0..events {
        let (thread, location) = (dice.roll(threads), dice.roll(LOCATIONS));
        let order = if dice.roll(4) < strong { SeqCst } else { ORDERS[dice.roll(ORDERS.len())] };
        let event = Event::other(thread as u32);
        let access = Event { kind: Kind::Access, order, location: Some(location as u32), ..event };
        let sw = match dice.roll(12) {
            0 if number > 0 => vec![dice.roll(number)],
            _ => Vec::new(),
        };
        let (writes, seen) = (&mut writes[location], &mut seen[thread][location]);
        let is_careful = dice.roll(20) > 0;
        let floor =
            seen.filter(|_| is_careful).and_then(|seen| writes.iter().position(|&write| write == seen));
        let floor = floor.map_or(0, |position| position + 1);
        match dice.roll(7) {
            0 | 1 => {
                let is_free = |&index: &usize| {
                    !is_careful || writes.get(index).is_none_or(|&next| !execution.events[next].is_rmw())
                };
                let free: Vec<usize> = (floor..=writes.len()).filter(is_free).collect();
                writes.insert(free[dice.roll(free.len())], number);
                *seen = Some(number);
                execution.push(Event { write_index: Some(0), ..access }, None, sw);
            }
            2 => {
                let rf = writes.last().copied();
                writes.push(number);
                *seen = Some(number);
                execution.push(Event { read_index: Some(0), write_index: Some(0), ..access }, rf, sw);
            }
            3..=5 => {
                let index = floor + dice.roll(writes.len() + 1 - floor);
                let rf = index.checked_sub(1).map(|last| writes[last]);
                *seen = rf;
                execution.push(Event { read_index: Some(0), ..access }, rf, sw);
            }
            _ => _ = execution.push(Event::fence(thread as u32, order), None, sw),
        }
    }
    // The indices are known when all writes are there.
    for (index, &write) in writes.iter().flat_map(|writes| writes.iter().enumerate()) {
        execution.events[write].write_index = Some(index as u32 + 1);
    }
    for number in 0..events {
        let source = execution.rf[number].and_then(|source| execution.events[source].write_index);
        let read_index = &mut execution.events[number].read_index;
        *read_index = read_index.map(|_| source.unwrap_or(0));
    }
    execution
}

/// The first axiom that an execution violates, and psc, by the definitions of the paper.
fn definition(execution: &Execution) -> (Option<Axiom>, Relation) {
    let events = &execution.events;
    let n = events.len();
    let relation = |holds: &dyn Fn(usize, usize) -> bool| Relation::of(n, holds);
    let identity = |set: &dyn Fn(&Event) -> bool| Relation::identity(n, |a| set(&events[a]));
    let same_location =
        |a: usize, b: usize| !events[a].is_fence() && events[a].location == events[b].location;
    let releases = |event: &Event| matches!(event.order, Release | AcqRel | SeqCst);
    let acquires = |event: &Event| matches!(event.order, Acquire | AcqRel | SeqCst);
    let (writes, reads) =
        (|event: &Event| event.write_index.is_some(), |event: &Event| event.read_index.is_some());
    let is_fence = |event: &Event| event.kind == Kind::Fence;

    let po = relation(&|a, b| a < b && events[a].thread == events[b].thread);
    let rf = relation(&|a, b| execution.rf[b] == Some(a));
    let reads_initial = |a: usize| reads(&events[a]) && execution.rf[a].is_none();
    let mo = relation(&|a, b| {
        same_location(a, b)
            && writes(&events[a])
            && writes(&events[b])
            && events[a].write_index < events[b].write_index
    });
    // rf⁻¹;mo, and all writes for a read of the initial value, which is no event.
    let rf_inverse = relation(&|a, b| rf.has(b, a));
    let fr_of_initial = relation(&|a, b| reads_initial(a) && same_location(a, b) && writes(&events[b]));
    let fr = rf_inverse.then(&mo).or(&fr_of_initial).only(|a, b| a != b);

    let rf_rmw = rf.then(&identity(&|event| reads(event) && writes(event)));
    let release_sequence = identity(&writes).then(&rf_rmw.transitive().optional());
    let release = identity(&|event| is_fence(event) && releases(event)).then(&po);
    let release = release.or(&identity(&|event| writes(event) && releases(event))).then(&release_sequence);
    let acquire = identity(&reads).then(&po).then(&identity(&|event| is_fence(event) && acquires(event)));
    let acquire = acquire.or(&identity(&|event| reads(event) && acquires(event)));
    let sw = release.then(&rf).then(&acquire).or(&relation(&|a, b| execution.sw[b].contains(&a)));
    let hb = po.or(&sw).transitive();
    let eco = rf.or(&mo).or(&fr).transitive();

    let po_other = po.only(|a, b| !same_location(a, b));
    let scb = po.or(&po_other.then(&hb).then(&po_other)).or(&hb.only(same_location)).or(&mo).or(&fr);
    let sc = identity(&|event| event.order == SeqCst);
    let fence = identity(&|event| event.order == SeqCst && is_fence(event));
    let from = sc.or(&fence.then(&hb.optional()));
    let to = sc.or(&hb.optional().then(&fence));
    let psc_base = from.then(&scb).then(&to);
    let psc_fences = fence.then(&hb.or(&hb.then(&eco).then(&hb))).then(&fence);
    let psc = psc_base.or(&psc_fences);

    let violated = if !po.or(&rf).is_acyclic() {
        Some(Axiom::NoThinAir)
    } else if !fr.then(&mo).is_irreflexive() {
        Some(Axiom::Atomicity)
    } else if !hb.then(&eco.optional()).is_irreflexive() {
        Some(Axiom::Coherence)
    } else {
        (!psc.is_acyclic()).then_some(Axiom::Sc)
    };
    (violated, psc)
}

/// Whether the events of an execution have a total order in which each read sees the latest write, by trying all orders.
fn has_interleaving(execution: &Execution, hb: &Relation) -> bool {
    fn extend(
        execution: &Execution,
        hb: &Relation,
        done: &mut Vec<usize>,
        newest: &mut [u32; LOCATIONS],
    ) -> bool {
        let n = execution.events.len();
        if done.len() == n {
            return true;
        }
        for next in 0..n {
            if done.contains(&next) || (0..n).any(|before| hb.has(before, next) && !done.contains(&before)) {
                continue;
            }
            let event = &execution.events[next];
            let before = *newest;
            if let Some(location) = event.location.map(|location| location as usize) {
                if event.read_index.is_some_and(|index| index != newest[location])
                    || event.write_index.is_some_and(|index| index != newest[location] + 1)
                {
                    continue;
                }
                newest[location] = event.write_index.unwrap_or(newest[location]);
            }
            done.push(next);
            if extend(execution, hb, done, newest) {
                return true;
            }
            done.pop();
            *newest = before;
        }
        false
    }
    extend(execution, hb, &mut Vec::new(), &mut [0; LOCATIONS])
}

/// An execution with happens-before as a relation.
struct Defined<'a>(&'a Execution, &'a Relation);

impl Graph for Defined<'_> {
    fn event_count(&self) -> usize {
        self.0.events.len()
    }

    fn event(&self, event: usize) -> Event {
        self.0.events[event]
    }

    fn past(&self, event: usize) -> impl Fn(usize) -> bool {
        move |before| self.1.has(before, event)
    }
}

#[test]
fn the_axioms_are_those_of_the_paper() {
    let (mut dice, mut psc) = (Dice(2017), Psc::default());
    let mut counts = [0; 4];
    for _ in 0..30_000 {
        let execution = execution(&mut dice);
        let (expected, expected_psc) = definition(&execution);
        let hb = execution.hb();
        let graph = Defined(&execution, &hb);
        assert_eq!(rc11::violated_axiom(&graph), expected, "{execution:#?}");
        // Without atomicity the indices do not decide eco.
        if expected != Some(Axiom::Atomicity) {
            assert_eq!(psc.of(&graph), &expected_psc, "{execution:#?}");
        }
        counts[match expected {
            None => 0,
            Some(Axiom::Atomicity) => 1,
            Some(Axiom::Coherence) => 2,
            Some(Axiom::Sc) => 3,
            Some(Axiom::NoThinAir) => unreachable!("every read comes after its source"),
        }] += 1;
    }
    assert!(counts.iter().all(|&count| count > 100), "one-sided: {counts:?}");
}

#[test]
fn views_compute_happens_before() {
    let mut dice = Dice(11);
    for _ in 0..20_000 {
        let execution = execution(&mut dice);
        let n = execution.events.len();
        let views = execution.happens_before();
        assert_eq!(Relation::of(n, |a, b| views.has(a, b)), execution.hb(), "{execution:#?}");
    }
}

#[test]
fn sequential_consistency_is_an_interleaving() {
    let mut dice = Dice(1979);
    let mut counts = [0; 2];
    for _ in 0..5000 {
        let execution = execution(&mut dice);
        let hb = execution.hb();
        let expected = has_interleaving(&execution, &hb);
        assert_eq!(sc::is_consistent(&Defined(&execution, &hb)), expected, "{execution:#?}");
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 400), "one-sided: {counts:?}");
}

/// A violation among some events is a violation of the execution, and the same memory serves for all.
#[test]
fn a_selection_violates_no_more_than_the_whole() {
    let mut dice = Dice(5);
    let mut psc = Psc::default();
    for _ in 0..5000 {
        let execution = execution(&mut dice);
        let hb = execution.happens_before();
        let events: Vec<usize> = (0..execution.events.len()).filter(|_| dice.roll(3) > 0).collect();
        let part = Selection { execution: &execution, hb: &hb, events: &events };
        let all: Vec<usize> = (0..execution.events.len()).collect();
        let whole = Selection { events: &all, ..part };
        assert_eq!(psc.is_acyclic(&part), Psc::default().is_acyclic(&part), "{execution:#?}");
        assert!(rc11::coherence(&part) || !rc11::coherence(&whole));
        assert!(psc.is_acyclic(&part) || !psc.is_acyclic(&whole));
    }
}

/// Values out of thin air need a read before its source, which [`execution`] never has.
#[test]
fn load_buffering_is_thin_air() {
    let access = |thread, location, read_index, write_index| Event {
        kind: Kind::Access,
        location: Some(location),
        read_index,
        write_index,
        ..Event::other(thread)
    };
    let mut execution = Execution::default();
    execution.push(access(0, 0, Some(1), None), Some(3), Vec::new());
    execution.push(access(0, 1, None, Some(1)), None, Vec::new());
    execution.push(access(1, 1, Some(1), None), Some(1), Vec::new());
    execution.push(access(1, 0, None, Some(1)), None, Vec::new());
    let hb = execution.hb();
    assert_eq!(definition(&execution).0, Some(Axiom::NoThinAir));
    assert_eq!(rc11::violated_axiom(&Defined(&execution, &hb)), Some(Axiom::NoThinAir));
}
