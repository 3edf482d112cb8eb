//! Happens-before of the index against its definition: the transitive closure of program order and synchronises-with.

mod samples;

use raddle_report::failure::{Action, Event, Failure, Kind, Order, ThreadEnd, Write};
use raddle_report::query::answer::{Answer, Relation};
use raddle_report::query::{Index, Question};
use samples::{Sample, load, store, unnamed};

/// A generator of numbers (xorshift), so that a failure is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A small trace with random threads, accesses and edges to earlier events.
fn random(numbers: &mut Numbers) -> Failure {
    let threads = 1 + numbers.below(4) as u32;
    let mut sample = Sample::new("random", Kind::Panic, "random");
    for _ in 0..threads {
        sample = sample.thread(None, ThreadEnd::Finished);
    }
    let length = 1 + numbers.below(16) as u32;
    let mut threads_of: Vec<u32> = Vec::new();
    let mut last_write = [None; 2];
    for number in 0..length {
        let thread = numbers.below(threads.into()) as u32;
        let location = numbers.below(2) as usize;
        let place = unnamed(64 + 8 * location as u64);
        let before = last_write[location].map_or(Write::Initial, Write::Event);
        sample = match numbers.below(2) {
            0 => {
                last_write[location] = Some(number);
                sample.event(thread, "", store(place, Order::Release, number.into())).overwrites(before)
            }
            _ => sample.event(thread, "", load(place, Order::Acquire, 0)).reads(before),
        };
        let others: Vec<u32> = (0..number).filter(|&other| threads_of[other as usize] != thread).collect();
        if !others.is_empty() && numbers.below(3) == 0 {
            sample = sample.knows(&[others[numbers.below(others.len() as u64) as usize]]);
        }
        threads_of.push(thread);
    }
    sample.done()
}

/// The transitive closure, by Warshall's algorithm.
fn closure(events: &[Event]) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; events.len()]; events.len()];
    for (number, event) in events.iter().enumerate() {
        for (other, earlier) in events[..number].iter().enumerate() {
            before[other][number] = earlier.thread == event.thread;
        }
        for &other in &event.synchronises_with {
            before[other as usize][number] = true;
        }
    }
    for middle in 0..events.len() {
        for first in 0..events.len() {
            for second in 0..events.len() {
                before[first][second] |= before[first][middle] && before[middle][second];
            }
        }
    }
    before
}

#[test]
fn the_index_agrees_with_the_definition() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut ordered, mut unordered) = (0, 0);
    for _ in 0..300 {
        let failure = random(&mut numbers);
        let events = &failure.trace.events;
        let index = Index::of(&failure);
        let before = closure(events);
        for first in 0..events.len() {
            check_before(&index, &before, events, first);
            for second in 0..events.len() {
                let expected = before[first][second];
                assert_eq!(index.happens_before(first as u32, second as u32), expected, "{events:#?}");
                check_path(&index, &before, events, first, second);
                *(if expected { &mut ordered } else { &mut unordered }) += 1;
            }
        }
    }
    assert!(ordered > 3000 && unordered > 3000, "{ordered} {unordered}");
}

/// The cone has the last event of each other thread that happens before, and counts the rest of the earlier ones.
fn check_before(index: &Index<'_>, before: &[Vec<bool>], events: &[Event], event: usize) {
    let Ok(Answer::Before(answer)) = index.answer(&Question::Before { event: event as u32 }) else {
        panic!()
    };
    let of = |thread: u32, wanted: bool| {
        let all = (0..event).filter(move |&other| events[other].thread == thread);
        all.filter(move |&other| before[other][event] == wanted).collect::<Vec<usize>>()
    };
    for thread in (0..4).filter(|&thread| thread != events[event].thread) {
        let known = answer.threads.iter().find(|known| known.last.thread == thread);
        let expected = of(thread, true);
        assert_eq!(known.map(|known| known.last.event as usize), expected.last().copied());
        assert_eq!(known.map_or(0, |known| known.events as usize), expected.len());
        let rest = answer.unordered.iter().find(|rest| rest.first.thread == thread);
        assert_eq!(rest.map_or(0, |rest| rest.events as usize), of(thread, false).len());
        assert_eq!(rest.map(|rest| rest.first.event as usize), of(thread, false).first().copied());
    }
}

/// A path consists of edges of the trace, connected by program order, and no path has fewer.
fn check_path(index: &Index<'_>, before: &[Vec<bool>], events: &[Event], first: usize, second: usize) {
    let question = Question::Order { first: first as u32, second: second as u32 };
    let Ok(Answer::Order(answer)) = index.answer(&question) else { panic!() };
    let expected = match () {
        () if first == second => Relation::Same,
        () if before[first][second] => Relation::Before,
        () if before[second][first] => Relation::After,
        () => Relation::Unordered,
    };
    assert_eq!(answer.relation, expected);
    if expected != Relation::Before {
        return;
    }
    let mut at = first;
    for edge in &answer.path {
        let (from, to) = (edge.from.event as usize, edge.to.event as usize);
        assert!(at <= from && events[at].thread == events[from].thread);
        assert!(events[to].synchronises_with.contains(&(from as u32)));
        at = to;
    }
    assert!(at <= second && events[at].thread == events[second].thread);
    assert_eq!(Some(answer.path.len()), fewest_edges(events, first, second));
}

/// The smallest number of synchronises-with edges on a path, by relaxation in the order of the trace.
fn fewest_edges(events: &[Event], first: usize, second: usize) -> Option<usize> {
    let mut cost = vec![None; events.len()];
    cost[first] = Some(0);
    for number in first + 1..=second {
        let own = (0..number).filter(|&other| events[other].thread == events[number].thread);
        let own = own.filter_map(|other| cost[other]).min();
        let others = events[number].synchronises_with.iter().filter_map(|&other| cost[other as usize]);
        cost[number] = own.into_iter().chain(others.map(|cost: usize| cost + 1)).min();
    }
    cost[second]
}

/// Who missed a write, by comparing every pair.
#[test]
fn misses_are_reads_of_older_values_later_in_the_trace() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let mut misses = 0;
    for _ in 0..300 {
        let mut failure = random(&mut numbers);
        make_some_reads_stale(&mut failure, &mut numbers);
        let events = &failure.trace.events;
        let index = Index::of(&failure);
        for write in (0..events.len()).filter(|&event| matches!(events[event].action, Action::Store { .. })) {
            let address = |event: usize| events[event].action.place().unwrap().address;
            // The writes of a location are in modification order: that of the trace.
            let expected = (write + 1..events.len()).filter(|&read| {
                address(read) == address(write)
                    && match events[read].reads_from {
                        Some(Write::Initial) => true,
                        Some(Write::Event(source)) => (source as usize) < write,
                        _ => false,
                    }
            });
            let Ok(Answer::Missed(answer)) = index.answer(&Question::Missed { event: write as u32 }) else {
                panic!()
            };
            let reads =
                answer.by.iter().filter(|miss| miss.read.is_none()).map(|miss| miss.at.event as usize);
            let expected: Vec<usize> = expected.collect();
            assert_eq!(reads.collect::<Vec<_>>(), expected);
            misses += expected.len();
        }
    }
    assert!(misses > 300, "{misses}");
}

/// Lets reads see older writes of their location.
fn make_some_reads_stale(failure: &mut Failure, numbers: &mut Numbers) {
    let writes: Vec<_> = failure.trace.events.iter().map(|event| event.overwrites).collect();
    for event in &mut failure.trace.events {
        while let (Some(Write::Event(source)), 0) = (event.reads_from, numbers.below(2)) {
            event.reads_from = writes[source as usize];
        }
    }
}
