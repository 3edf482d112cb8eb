//! Explorations.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_queue::SegQueue;
use raddle::{Explorer, Report, Strategy};

use crate::events::{self, EVENTS};
use crate::measure::{cpu_seconds, peak_rss, print};
use crate::programs::{PROGRAMS, racy};

/// Programs that only Raddle can run, or that only it is asked to.
const OWN_PROGRAMS: &[(&str, fn())] = &[
    ("segqueue 2x2", || seg_queue(2, 2)),
    ("racy 2x1", || racy(2, 1)),
    ("nothing", || ()),
    ("spawn 1", || spawn(1)),
    ("spawn 2", || spawn(2)),
    ("spawn 4", || spawn(4)),
];

/// Explores for so many seconds of CPU time. If the search ends before, it is made again with another seed. Executions of a strategy that is
/// followed by `/made` are made, even if they could be recognised.
pub(crate) fn explore(program: &str, strategy: &str, seconds: f64) {
    let program = find(program);
    let is_made = strategy.strip_suffix("/made");
    let strategy: Strategy = is_made.unwrap_or(strategy).parse().expect("no such strategy");
    let (mut executions, mut recognised, mut events, mut switches) = (0, 0, 0, 0);
    let (mut cpu, mut setup, mut searches) = (0.0, 0.0, 0);
    let mut complete = false;
    while cpu < seconds {
        let budget = Duration::from_secs_f64((seconds - cpu).max(0.1));
        let explorer = Explorer::new().strategy(strategy.clone()).recognise(is_made.is_none());
        let explorer = explorer.seed(searches).budget(budget);
        let timed = timed(explorer.executions(u64::MAX), program);
        executions += timed.report.executions;
        recognised += timed.report.recognised;
        events += timed.report.events;
        switches += timed.report.switches;
        complete |= timed.report.complete;
        cpu += timed.cpu;
        setup += timed.setup;
        searches += 1;
    }
    print("executions", executions);
    print("recognised", recognised);
    print("events", events);
    print("switches", switches);
    print("cpu", cpu);
    print("setup", setup / searches as f64);
    print("complete", complete);
    print("rss", peak_rss());
}

/// Makes so many executions.
pub(crate) fn memory(program: &str, strategy: &str, executions: u64) {
    let strategy = strategy.parse().expect("no such strategy");
    timed(Explorer::new().strategy(strategy).executions(executions), find(program));
    print("rss", peak_rss());
}

/// Measures events of one kind: made by a thread that is alone, by one of two without ever changing between them, or with
/// a change at every event.
pub(crate) fn event(kind: &str, threads: &str, seconds: f64) {
    let &(_, events) = events::KINDS.iter().find(|known| known.0 == kind).expect("no such event");
    // Two spawns at which the first thread goes on; then it waits.
    let mut choices = vec![0, 0];
    if threads == "every event" {
        choices.extend((0..2 * EVENTS).map(|event| 1 + (event % 2) as u16));
    }
    let explorer = Explorer::new().max_steps(u64::MAX).strategy(Strategy::Schedule(choices));
    let (mut cpu, mut total) = (0.0, 0);
    while cpu < seconds {
        let timed = timed(explorer.clone().executions(20), || match threads {
            "alone" => events(&events::places()),
            _ => {
                let handles = [(); 2].map(|()| thread::spawn(move || events(&events::places())));
                handles.into_iter().for_each(|handle| handle.join().unwrap());
            }
        });
        cpu += timed.cpu;
        total += timed.report.events;
    }
    print("ns", cpu * 1e9 / total as f64);
}

/// An exploration and what it cost.
pub(crate) struct Timed {
    pub(crate) report: Report<()>,
    /// CPU time of the executions.
    pub(crate) cpu: f64,
    /// CPU time of setting an exploration up and ending it.
    setup: f64,
}

/// Explores.
pub(crate) fn timed(explorer: Explorer, program: impl Fn()) -> Timed {
    // What an execution notes is rolled back with everything else, so set-up is measured by itself.
    let explorer = explorer.allow_one_thread(true);
    let begin = cpu_seconds();
    explorer.clone().executions(0).run(&program);
    let between = cpu_seconds();
    let report = explorer.run(&program);
    let (setup, all) = (between - begin, cpu_seconds() - between);
    Timed { report, cpu: (all - setup).max(0.0), setup }
}

fn find(name: &str) -> fn() {
    let own = OWN_PROGRAMS.iter().copied();
    let mut all = own.chain(PROGRAMS.iter().map(|&(name, _, program)| (name, program)));
    all.find(|known| known.0 == name).expect("no such program").1
}

/// crossbeam's queue, straight from the registry.
fn seg_queue(threads: usize, times: usize) {
    let queue = Arc::new(SegQueue::new());
    let handles: Vec<_> = (0..threads)
        .map(|thread| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                for time in 0..times {
                    queue.push(thread * times + time);
                    queue.pop();
                }
            })
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn spawn(threads: usize) {
    let handles: Vec<_> = (0..threads).map(|_| thread::spawn(|| ())).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}
