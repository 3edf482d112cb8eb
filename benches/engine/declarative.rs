//! Declarative tests: how soon broken objects are found, and what verification costs.

use std::collections::{BTreeSet, VecDeque};
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use examples::bounded_buffer::BoundedBuffer;
use examples::counter::RacyCounter;
use examples::harris_list::HarrisList;
use examples::k_queue::KQueue;
use examples::michael_scott::MsQueue;
use examples::rendezvous::Rendezvous;
use examples::semaphore::Semaphore;
use examples::spsc_queue::SpscQueue;
use examples::treiber::TreiberStack;
use examples::treiber_reusing::ReusingStack;
use raddle::{Contract, Explorer, Failure, Mode, Operation, Scenario, Spec, Strategy, Test, call};

use crate::measure::{cpu_seconds, peak_rss, print};

/// A search for the bug of an example: as it is found, or made small as well.
type Search = fn(minimize: bool) -> Box<Failure>;

const BROKEN: &[(&str, Search)] = &[
    ("counter", |minimize| {
        let test = Test::new(RacyCounter::default)
            .operation("inc", |counter: &RacyCounter| counter.inc())
            .operation("get", |counter: &RacyCounter| counter.get());
        find(test, minimize)
    }),
    ("spsc queue", |minimize| {
        let push = Operation::new("push", |queue: &SpscQueue<2>, value: u32| queue.push_too_early(value));
        let pop = Operation::new("pop", |queue: &SpscQueue<2>| queue.pop());
        let test =
            Test::new(SpscQueue::<2>::default).with(push.group("producer")).with(pop.group("consumer"));
        find(test, minimize)
    }),
    ("michael-scott queue", |minimize| {
        let test = Test::new(MsQueue::<u32>::default)
            .operation("push", |queue: &MsQueue<u32>, value: u32| queue.push_tail_first(value))
            .operation("pop", |queue: &MsQueue<u32>| queue.pop())
            .spec(queue());
        find(test, minimize)
    }),
    ("treiber stack", |minimize| {
        let test = Test::new(TreiberStack::<u32>::default)
            .operation("push", |stack: &TreiberStack<u32>, value: u32| stack.push(value))
            .operation("pop", |stack: &TreiberStack<u32>| stack.pop_without_cas());
        find(test, minimize)
    }),
    ("treiber stack, ABA", |minimize| {
        let test = Test::new(ReusingStack::<2>::default)
            .operation("push", |stack: &ReusingStack<2>, value: u32| stack.push(value))
            .operation("pop", |stack: &ReusingStack<2>| stack.pop());
        find(test, minimize)
    }),
    ("harris list", |minimize| {
        let spec = Spec::new(BTreeSet::<u8>::new)
            .operation("insert", |set: &mut BTreeSet<u8>, key: u8| set.insert(key))
            .operation("remove", |set: &mut BTreeSet<u8>, key: u8| set.remove(&key))
            .operation("contains", |set: &mut BTreeSet<u8>, key: u8| set.contains(&key));
        let test = Test::new(HarrisList::default)
            .operation("insert", |list: &HarrisList, key: u8| list.insert(key.into()))
            .operation("remove", |list: &HarrisList, key: u8| list.remove(key.into()))
            .operation("contains", |list: &HarrisList, key: u8| list.contains_without_mark_check(key.into()))
            .spec(spec);
        find(test, minimize)
    }),
    ("bounded buffer", |minimize| {
        let spec = Spec::new(|| None::<u32>)
            .blocking("put", |slot: &mut Option<u32>, value: u32| slot.is_none().then(|| *slot = Some(value)))
            .blocking("take", |slot: &mut Option<u32>| slot.take());
        let put =
            Operation::new("put", |buffer: &BoundedBuffer<1>, value: u32| buffer.put_and_wake_one(value));
        let take = Operation::new("take", |buffer: &BoundedBuffer<1>| buffer.take_and_wake_one());
        let test = Test::new(BoundedBuffer::<1>::default).with(put.blocking()).with(take.blocking());
        find(test.spec(spec).threads(3).operations_per_thread(2), minimize)
    }),
    ("rendezvous channel", |minimize| {
        let send = async |channel: &Rendezvous, value: u32| channel.send(value).await;
        let receive = async |channel: &Rendezvous| channel.receive_or_sleep().await;
        let test = Test::new(Rendezvous::default)
            .with(Operation::future("send", send))
            .with(Operation::future("receive", receive));
        find(test.operations_per_thread(3), minimize)
    }),
    ("semaphore", |minimize| {
        let acquire = Operation::future("acquire", async |semaphore: &Semaphore| semaphore.acquire().await);
        let spec = Spec::new(|| 1usize)
            .blocking("acquire", |permits: &mut usize| permits.checked_sub(1).map(|rest| *permits = rest))
            .operation("release", |permits: &mut usize| *permits += 1);
        let test = Test::new(|| Semaphore::forgetful(1))
            .with(acquire.cancellable())
            .operation("release", |semaphore: &Semaphore| semaphore.release())
            .spec(spec);
        find(test.operations_per_thread(3).before(0), minimize)
    }),
    ("k-queue", |minimize| {
        let test = Test::new(KQueue::<2>::default)
            .operation("push", |queue: &KQueue<2>, value: u32| queue.push(value))
            .operation("pop", |queue: &KQueue<2>| queue.pop())
            .spec(self::queue());
        find(test, minimize)
    }),
];

/// Finds the bug of an example.
pub(crate) fn failure(name: &str, minimize: bool) {
    let &(_, search) = BROKEN.iter().find(|known| known.0 == name).expect("no such example");
    let begin = cpu_seconds();
    let failure = search(minimize);
    print("cpu", cpu_seconds() - begin);
    let scenario = failure.scenario.expect("a declarative test has a scenario");
    let parallel = scenario.parallel.iter().map(Vec::len).sum::<usize>();
    print("operations", scenario.init.len() + parallel + scenario.post.len());
}

/// Makes so many executions of two threads with three operations each: by a declarative test (`verified`), by one that asks
/// nothing of the results (`recorded`), or by an exploration of the same calls (`bare`).
pub(crate) fn verification(how: &str, executions: u64) {
    let make = |executions| match how {
        "verified" => declared(Contract::Linearizable, executions),
        "recorded" => declared(Contract::Anything, executions),
        _ => bare(executions),
    };
    // What is not done for each execution.
    let begin = cpu_seconds();
    make(1);
    let between = cpu_seconds();
    let made = make(executions);
    print("cpu", (cpu_seconds() - between) - (between - begin));
    print("executions", made);
    print("rss", peak_rss());
}

/// Executions a second of wall-clock time of the same scenario on real threads.
pub(crate) fn stress(seconds: f64) {
    let budget = Duration::from_secs_f64(seconds);
    let coverage = queue_test().executions(u64::MAX).budget(budget).mode(Mode::Stress).run();
    print("rate", coverage.stress() as f64 / coverage.elapsed.as_secs_f64());
}

fn declared(contract: Contract, executions: u64) -> u64 {
    let test = queue_test().contract(contract).executions(executions).strategy(Strategy::Random);
    test.mode(Mode::ModelChecking).run().executions()
}

/// Two threads with three operations each on a queue.
fn queue_test() -> Test<MsQueue<u32>> {
    let scenario = Scenario::new()
        .thread([call("push", (1u32,)), call("pop", ()), call("push", (2u32,))])
        .thread([call("pop", ()), call("push", (3u32,)), call("pop", ())]);
    Test::new(MsQueue::<u32>::default)
        .operation("push", |queue: &MsQueue<u32>, value: u32| queue.push(value))
        .operation("pop", |queue: &MsQueue<u32>| queue.pop())
        .spec(queue())
        .scenario(scenario)
        .iterations(0)
}

fn bare(executions: u64) -> u64 {
    let report = Explorer::new().strategy(Strategy::Random).executions(executions).run(|| {
        let queue = MsQueue::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                queue.push(1);
                black_box(queue.pop());
                queue.push(2);
            });
            scope.spawn(|| {
                black_box(queue.pop());
                queue.push(3);
                black_box(queue.pop());
            });
        });
    });
    report.executions
}

fn queue() -> Spec<VecDeque<u32>> {
    Spec::new(VecDeque::new)
        .operation("push", |queue: &mut VecDeque<u32>, value: u32| queue.push_back(value))
        .operation("pop", |queue: &mut VecDeque<u32>| queue.pop_front())
}

fn find<T: Send + Sync + 'static>(test: Test<T>, minimize: bool) -> Box<Failure> {
    test.minimize(minimize).mode(Mode::ModelChecking).try_run().expect_err("the bug was not found")
}
