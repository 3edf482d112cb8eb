//! Model checking of one plan: executions on the engine, each verified while its memory is whole.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::time::Duration;

use raddle_engine::happens_before::Model;
use raddle_engine::platform::global::GLOBAL;
use raddle_engine::strategy::PinMainThread;
use raddle_engine::trace::Trace;
use raddle_engine::{Config, Discarded, EndedExecution, Outcome, Schedule, Search, SearchReport};
use raddle_reflect::Program;
use raddle_report::failure::{self, Failure, Kind};

use super::execution::execute;
use super::history::{Log, Progress};
use super::quiet::quietly;
use super::scenario::Plan;
use super::stress;
use super::subject::Subject;
use super::verify::{Order, Verdict, Verification};
use crate::auto::{Portfolio, Ran, Scope};
use crate::explain::explain;
use crate::explorer::{self, TRACE_LIMIT, classifier, namer};
use crate::options::{Options, Strategy};
use crate::suppress::suppress;
use crate::{build, record, replay};

/// What is asked of an object besides right results.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demands {
    pub(crate) obstruction_free: bool,
    /// Events between two completions at most.
    pub(crate) lock_free: Option<u64>,
}

impl Demands {
    /// Whether anything is asked.
    pub(crate) fn any(self) -> bool {
        self.obstruction_free || self.lock_free.is_some()
    }
}

/// How long to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) executions: u64,
    pub(crate) time: Option<Duration>,
}

impl Effort {
    /// The options with this effort.
    pub(crate) fn of(self, options: &Options) -> Options {
        let mut options = options.clone();
        options.executions = Some(self.executions);
        options.budget = self.time;
        // Scenarios are short, and which of several failures is reported is not to depend on who is faster.
        options.workers.get_or_insert(1);
        options
    }
}

/// What model checking of a plan came to.
#[derive(Default)]
pub(crate) struct Searched {
    pub(crate) searches: Vec<Ran>,
    /// All executions within the strategy's bounds were made.
    pub(crate) complete: bool,
    pub(crate) wrong: Option<Wrong>,
}

/// A wrong execution.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) schedule: Schedule,
    pub(crate) switches: u64,
    pub(crate) steps: u64,
    pub(crate) execution: u64,
    /// The search that found it.
    pub(crate) found_by: Options,
}

/// The engine, set up for a test.
pub(crate) struct Machine<'d> {
    pub(crate) subject: &'d Subject,
    pub(crate) at: &'static Location<'static>,
    pub(crate) options: Options,
    pub(crate) demands: Demands,
    pub(crate) owned: bool,
    pub(crate) exploration: u32,
    pub(crate) verification: RefCell<Verification<'d>>,
}

/// What a judge says of a wrong execution.
#[derive(Clone, Debug)]
struct Complaint {
    kind: Kind,
    message: String,
}

impl Machine<'_> {
    /// Searches the plan's executions for a wrong one, in as many ways as the strategy asks for.
    pub(crate) fn search(&self, plan: &Plan, effort: Effort) -> Searched {
        let options = effort.of(&self.options);
        if options.strategy != Strategy::Auto {
            return self.search_once(plan, &options);
        }
        let mut portfolio = Portfolio::of_scenario(&options, self.scope(plan));
        let mut all = Searched::default();
        while let Some(next) = portfolio.next(&options, GLOBAL.instrumented.get()) {
            let (ran, report, wrong) = self.search_in_one_way(plan, &next);
            portfolio.made(&ran, &report);
            all.searches.push(ran);
            if wrong.is_some() {
                all.wrong = wrong;
                return all;
            }
        }
        all.complete = portfolio.is_complete(&options);
        all
    }

    /// What the portfolio has to know about the plan.
    fn scope(&self, plan: &Plan) -> Scope {
        let mut lengths: Vec<usize> = plan.threads.iter().map(Vec::len).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let orders = match lengths[..] {
            [longest, next, ..] => orders(longest, next),
            _ => 1,
        };
        Scope {
            orders,
            weak: self.verification.borrow().knows_program_order(),
            // Progress is measured along interleavings.
            exhaustible: !self.demands.any(),
        }
    }

    /// Searches the plan's executions for a wrong one in one way.
    pub(crate) fn search_once(&self, plan: &Plan, options: &Options) -> Searched {
        let (ran, _, wrong) = self.search_in_one_way(plan, options);
        Searched { complete: ran.complete, searches: vec![ran], wrong }
    }

    fn search_in_one_way(&self, plan: &Plan, options: &Options) -> (Ran, SearchReport, Option<Wrong>) {
        self.verification.borrow_mut().begin_plan();
        let config = self.config(options);
        let place = Cell::new(std::ptr::null_mut());
        let complaint = RefCell::new(None);
        let switches = Cell::new(0);
        let helped = Cell::new(false);
        let mut judge = |ended: &EndedExecution<'_>| {
            helped.set(helped.get() | (ended.threads > plan.threads.len() + 1));
            switches.set(ended.switches);
            self.judge(plan, ended, &place, &complaint, &config)
        };
        let mut run = || execute(self.subject, plan, &place);
        let mut search = self.new_search(&config, options);
        let mut report = search.run(&mut run, &mut judge);
        record::search(options, &report);
        let switches = switches.get();
        let mut given_up = explorer::gives_up(options, &report);
        let failure = report.failure.take().filter(|_| !given_up).map(|found| {
            let kind = kind_of(&found.outcome, &complaint.borrow());
            let kind = kind.unwrap_or_else(|| {
                panic!(
                    "raddle: this test is not deterministic, so nothing can be said about it: execution {} ended with {:?}. Try \
                     isolation `fork`.",
                    found.execution + 1,
                    found.outcome
                )
            });
            (kind, found)
        });
        if let Some((kind, found)) = &failure
            && explorer::may_give_up(options)
        {
            let again = search.rerun(&found.schedule, &mut run, &mut judge).outcome;
            given_up = kind_of(&again, &complaint.borrow()) != Some(*kind);
        }
        drop(search);
        // Where the object has threads of its own, the thread that starts the others matters, and only graphs preempt it.
        let complete = report.complete
            && report.left_out.is_empty()
            && !given_up
            && (config.exhaustive || !helped.get());
        let ran = Ran::of(options, &report, complete, given_up);
        let wrong = failure.filter(|_| !given_up).map(|(kind, found)| Wrong {
            kind,
            outcome: found.outcome,
            schedule: found.schedule,
            switches,
            steps: found.steps,
            execution: found.execution,
            found_by: options.clone(),
        });
        (ran, report, wrong)
    }

    /// Searches on for a wrong execution with fewer changes of thread, then with fewer events.
    pub(crate) fn refine(&self, plan: &Plan, wrong: Wrong, effort: Effort) -> Wrong {
        self.verification.borrow_mut().begin_plan();
        // What is better is noted in this process.
        let mut options = effort.of(&wrong.found_by);
        options.workers = Some(1);
        let config = self.config(&options);
        let place = Cell::new(std::ptr::null_mut());
        let complaint = RefCell::new(None);
        let mut best = wrong.clone();
        let mut execution = 0;
        let mut judge = |ended: &EndedExecution<'_>| {
            execution += 1;
            let outcome = self.judge(plan, ended, &place, &complaint, &config);
            if kind_of(&outcome, &complaint.borrow()).is_none() {
                return outcome;
            }
            let better = (ended.switches, ended.steps) < (best.switches, best.steps);
            if better && kind_of(&outcome, &complaint.borrow()) == Some(wrong.kind) {
                best = Wrong {
                    kind: wrong.kind,
                    outcome,
                    schedule: ended.schedule(),
                    switches: ended.switches,
                    steps: ended.steps,
                    execution: execution - 1,
                    found_by: options.clone(),
                };
            }
            Outcome::Passed
        };
        let mut search = self.new_search(&config, &options);
        search.run(&mut || execute(self.subject, plan, &place), &mut judge);
        drop(search);
        best
    }

    /// The failure that a wrong execution is, with everything that can be said about it.
    pub(crate) fn report(&self, plan: &Plan, wrong: &Wrong) -> Failure {
        self.verification.borrow_mut().begin_plan();
        let options = &wrong.found_by;
        let config = self.config(options);
        let place = Cell::new(std::ptr::null_mut());
        let complaint = RefCell::new(None);
        let told = RefCell::new(None);
        let mut judge = |ended: &EndedExecution<'_>| {
            let outcome = self.judge(plan, ended, &place, &complaint, &config);
            *told.borrow_mut() = Some(self.tell(plan, ended, &outcome, &place, &config));
            outcome
        };
        let mut run = || execute(self.subject, plan, &place);
        let mut search = self.new_search(&config, options);
        let limit_time = wrong.kind == Kind::TimeLimit;
        let mut record = |search: &mut Search<'_>| {
            let trace = Trace::new(TRACE_LIMIT, wrong.steps).watching(&wrong.outcome);
            search.replay(&wrong.schedule, &mut run, &mut judge, trace, namer(), limit_time)
        };
        let (found, trace) = record(&mut search);
        let again = kind_of(&found.outcome, &complaint.borrow());
        let divergence = (again != Some(wrong.kind)).then(|| {
            let (third, second_trace) = record(&mut search);
            replay::explain_divergence(&found, &found, &trace, &third, &second_trace)
        });
        drop(search);
        if let Some(divergence) = divergence {
            panic!("{divergence}");
        }
        let mut failure =
            explain(&found, &trace, Program::current().ok().as_ref(), build::test_name(self.at));
        failure.found_by = explorer::found_by(options, wrong.execution, self.exploration);
        self.decorate(plan, &mut failure, &complaint.borrow(), told.borrow().as_ref());
        failure
    }

    /// The failure that a wrong execution on real threads is. Nobody knows how it came about.
    pub(crate) fn describe_stressed(&self, plan: &Plan, wrong: &stress::Wrong) -> Failure {
        Failure {
            format: failure::FORMAT,
            test: build::test_name(self.at),
            kind: wrong.kind,
            message: wrong.message.clone(),
            certainty: failure::Certainty::Proven,
            thread: None,
            build: build::identity(Program::current().ok().as_ref()),
            found_by: failure::FoundBy {
                strategy: failure::FoundBy::STRESS.to_owned(),
                ..explorer::found_by(&self.options, wrong.execution, self.exploration)
            },
            schedule: failure::Schedule::default(),
            look_back: failure::Schedule::default(),
            counts: failure::Schedule::default(),
            fair_since: None,
            random: None,
            threads: Vec::new(),
            scenario: Some(describe(self.subject, plan, &wrong.results)),
            reasons: wrong.reasons.clone(),
            fault: None,
            trace: failure::Trace::default(),
            file: None,
        }
    }

    /// Replays a failure of the plan, says how it went, and ends the process.
    pub(crate) fn replay(&self, plan: &Plan, request: &replay::Request) -> ! {
        self.verification.borrow_mut().begin_plan();
        let config = explorer::config(&self.options, None, self.owned, self.exploration);
        let config = Config { prove_spins: self.demands.obstruction_free, ..config };
        let place = Cell::new(std::ptr::null_mut());
        let complaint = RefCell::new(None);
        let told = RefCell::new(None);
        let mut judge = |ended: &EndedExecution<'_>| {
            let outcome = self.judge(plan, ended, &place, &complaint, &config);
            *told.borrow_mut() = Some(self.tell(plan, ended, &outcome, &place, &config));
            outcome
        };
        let decorate = |failure: &mut Failure| {
            self.decorate(plan, failure, &complaint.borrow(), told.borrow().as_ref());
        };
        let mut run = || execute(self.subject, plan, &place);
        replay::replay_with(
            request,
            &config,
            &self.options.suppressed,
            self.at,
            &mut run,
            &mut judge,
            &decorate,
        )
    }

    fn config(&self, options: &Options) -> Config {
        let config = explorer::config(options, None, self.owned, self.exploration);
        Config { prove_spins: self.demands.obstruction_free, ..config }
    }

    fn new_search<'c>(&self, config: &'c Config, options: &Options) -> Search<'c> {
        let within = explorer::strategy(options);
        let mut search = Search::new(config, || Box::new(PinMainThread::new(within())), classifier(config));
        search.suppress(|| suppress(&options.suppressed, None));
        search
    }

    /// Has the last word on an execution.
    fn judge(
        &self,
        plan: &Plan,
        ended: &EndedExecution<'_>,
        place: &Cell<*mut Log>,
        complaint: &RefCell<Option<Complaint>>,
        config: &Config,
    ) -> Outcome {
        complaint.borrow_mut().take();
        let complain = |kind: Kind, message: String| {
            *complaint.borrow_mut() = Some(Complaint { kind, message });
            Outcome::Rejected
        };
        // SAFETY: the execution has left its log there, and its memory is whole.
        let Some(log) = (unsafe { place.get().as_mut() }) else { return ended.outcome.clone() };
        if let Some((kind, message)) = self.lack_of_progress(plan, ended, log) {
            return complain(kind, message);
        }
        // Who waits in a loop waits, too.
        let at_rest =
            matches!(ended.outcome, Outcome::Deadlock | Outcome::Livelock) && self.waits_by_design(plan, log);
        if *ended.outcome != Outcome::Passed && !at_rest {
            return ended.outcome.clone();
        }
        if let Some(said) = &log.invalid {
            return complain(Kind::Validation, said.clone());
        }
        let order = order(config);
        if config.exhaustive && order == Order::RealTime {
            // Made in another order than the one that it stands for.
            let Some(moments) = ended.moments() else { return Outcome::Discarded(Discarded::Blocked) };
            log.put_in_order(&moments);
        }
        let verdict = quietly(|| self.verification.borrow_mut().verify(plan, log, order));
        if verdict == Verdict::Right {
            return Outcome::Passed;
        }
        let (kind, message) = verdict.in_words(self.subject, plan, log);
        complain(kind, message)
    }

    /// Whether every call that has not ended may wait for others.
    fn waits_by_design(&self, plan: &Plan, log: &Log) -> bool {
        let progress = log.progress(plan.len());
        let may_wait = |operation: usize, progress: Progress| match progress {
            Progress::Suspended => true,
            Progress::Within => {
                self.subject.operations[operation].blocking && !self.subject.operations[operation].is_future()
            }
            Progress::NotBegun | Progress::Done => true,
        };
        plan.calls().zip(progress).all(|(call, progress)| may_wait(call.operation, progress))
    }

    fn lack_of_progress(&self, plan: &Plan, ended: &EndedExecution<'_>, log: &Log) -> Option<(Kind, String)> {
        if self.demands.obstruction_free
            && let Some(thread) = ended.waited
            && let Some(calls) =
                usize::from(thread).checked_sub(1).and_then(|thread| plan.threads.get(thread))
            && !calls.iter().any(|call| self.subject.operations[call.operation].may_suspend())
        {
            return Some((
                Kind::NotObstructionFree,
                format!("T{thread} cannot go on until another thread does"),
            ));
        }
        let bound = self.demands.lock_free?;
        (log.longest_gap > bound).then(|| {
            let message =
                format!("no operation completed within {} events; the bound is {bound}", log.longest_gap);
            (Kind::NotLockFree, message)
        })
    }

    /// What is only known while the execution's memory is whole.
    fn tell(
        &self,
        plan: &Plan,
        ended: &EndedExecution<'_>,
        outcome: &Outcome,
        place: &Cell<*mut Log>,
        config: &Config,
    ) -> Told {
        let whole = matches!(ended.outcome, Outcome::Passed | Outcome::Deadlock | Outcome::Livelock);
        // SAFETY: as in `judge`.
        let Some(log) = (unsafe { place.get().as_ref() }).filter(|_| whole) else { return Told::default() };
        let explained = *outcome == Outcome::Rejected && log.invalid.is_none();
        Told {
            results: log.results(plan.len()),
            reasons: if explained {
                quietly(|| self.verification.borrow_mut().explain(plan, log, order(config)))
            } else {
                Vec::new()
            },
        }
    }

    fn decorate(
        &self,
        plan: &Plan,
        failure: &mut Failure,
        complaint: &Option<Complaint>,
        told: Option<&Told>,
    ) {
        if let Some(complaint) = complaint {
            failure.kind = complaint.kind;
            failure.message = complaint.message.clone();
            failure.thread = None;
            failure.certainty = match complaint.kind {
                Kind::NotLockFree => {
                    let reason = "threads that go on without completing an operation may complete one after more events";
                    failure::Certainty::Limit { reason: reason.to_owned() }
                }
                _ => failure::Certainty::Proven,
            };
        }
        for event in &mut failure.trace.events {
            // Operations are called by Raddle: there is no line of the test to show.
            if matches!(event.action, failure::Action::Call { .. } | failure::Action::Return { .. }) {
                event.at = None;
            }
        }
        if failure.kind == Kind::NotObstructionFree
            && let Some(message) = blocking_event(failure)
        {
            failure.message = message;
        }
        let told = told.cloned().unwrap_or_default();
        failure.reasons = told.reasons;
        // Where the execution's memory was not whole, the trace knows the results.
        let traced = failure.scenario.take().filter(|_| told.results.is_empty());
        let mut scenario = describe(self.subject, plan, &told.results);
        if let Some(traced) = traced {
            take_results(&mut scenario, &traced);
        }
        failure.scenario = Some(scenario);
    }
}

/// Which operation waits for what, by the first event at which a thread of the parallel part had to.
fn blocking_event(failure: &Failure) -> Option<String> {
    use failure::{Action, Switch};
    let events = &failure.trace.events;
    let waits = |pair: &[failure::Event]| {
        pair[0].thread != 0 && matches!(pair[1].switch, Some(Switch::Blocked | Switch::Spinning))
    };
    let at = events.windows(2).position(waits)?;
    let thread = events[at].thread;
    let call = events[..at].iter().rev().find_map(|event| match &event.action {
        Action::Call { call } if event.thread == thread => Some(call),
        _ => None,
    })?;
    let (what, place) = match &events[at].action {
        Action::Wait { place, .. } => ("waits for", place),
        Action::Load { place, .. } | Action::Cas { place, .. } | Action::Rmw { place, .. } => {
            ("spins until another thread changes", place)
        }
        _ => return Some(format!("`{call}` of T{thread} gives way to other threads until one has gone on")),
    };
    let place =
        place.name.as_ref().map_or_else(|| format!("{:#x}", place.address), |name| format!("`{name}`"));
    Some(format!("`{call}` of T{thread} {what} {place}"))
}

/// What was found out about an execution while its memory was whole.
#[derive(Clone, Debug, Default)]
struct Told {
    results: Vec<Option<String>>,
    reasons: Vec<String>,
}

/// What orders operations. Under sequential consistency that is time; between cores that share a weak memory there is no common
/// time, only what happened before what.
fn order(config: &Config) -> Order {
    match config.memory {
        Model::Sc => Order::RealTime,
        Model::Rc11 => Order::HappensBefore,
    }
}

/// In how many ways operations of two threads, so many each, can come before one another in time: no search for all
/// executions is shorter.
fn orders(one: usize, other: usize) -> u64 {
    // Begins of one thread and ends of the other are ordered; all else is not. Of the sequences that mean the same, the one
    // counts that lets the first thread go first: it goes on after the second only where their steps are ordered. So many
    // sequences lead to each position, ending with a step of the first or of the second thread.
    let mut before = vec![[0u64; 2]; 2 * other + 1];
    for first in 0..=2 * one {
        let mut now = vec![[0u64; 2]; 2 * other + 1];
        for second in 0..=2 * other {
            let ordered = first % 2 != second % 2 && second > 0;
            let by_first = match (first, ordered) {
                (0, _) => u64::from(second == 0),
                (_, true) => before[second][0].saturating_add(before[second][1]),
                (_, false) => before[second][0],
            };
            let by_second =
                if second == 0 { 0 } else { now[second - 1][0].saturating_add(now[second - 1][1]) };
            now[second] = [by_first, by_second];
        }
        before = now;
    }
    let [by_first, by_second] = before[2 * other];
    by_first.saturating_add(by_second)
}

/// The kind of failure that an execution is, if it is one.
fn kind_of(outcome: &Outcome, complaint: &Option<Complaint>) -> Option<Kind> {
    match (outcome, complaint) {
        (Outcome::Rejected, Some(complaint)) => Some(complaint.kind),
        _ => crate::explain::kind(outcome),
    }
}

/// The scenario of a report; results by the number of the call.
pub(crate) fn describe(subject: &Subject, plan: &Plan, results: &[Option<String>]) -> failure::Scenario {
    let mut call = 0;
    let mut operation = |invocation: &super::scenario::Invocation| {
        let result = results.get(call).cloned().flatten();
        call += 1;
        failure::Operation {
            call: invocation.text(subject),
            result,
            recipe: Some(super::persist::recipe(subject, invocation)),
        }
    };
    let init = plan.init.iter().map(&mut operation).collect();
    let parallel = plan.threads.iter().map(|calls| calls.iter().map(&mut operation).collect()).collect();
    let post = plan.post.iter().map(&mut operation).collect();
    failure::Scenario { init, parallel, post, code: Some(plan.code(subject)) }
}

fn take_results(scenario: &mut failure::Scenario, traced: &failure::Scenario) {
    let parts = scenario.parallel.iter_mut().zip(&traced.parallel);
    let sequences = parts.chain([(&mut scenario.init, &traced.init), (&mut scenario.post, &traced.post)]);
    for (to, from) in sequences {
        for (to, from) in to.iter_mut().zip(from) {
            to.result.clone_from(&from.result);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::orders;

    /// Which operations ended before which began, in all interleavings of two threads' beginnings and ends.
    fn brute_force(one: usize, other: usize) -> u64 {
        fn go(
            left: [usize; 2],
            made: [usize; 2],
            order: &BTreeSet<[usize; 3]>,
            all: &mut BTreeSet<BTreeSet<[usize; 3]>>,
        ) {
            if made == left {
                all.insert(order.clone());
            }
            for thread in (0..2).filter(|&thread| made[thread] < left[thread]) {
                let (mut made, mut order) = (made, order.clone());
                if made[thread] % 2 == 0 {
                    let ended = made[1 - thread] / 2;
                    order.extend((0..ended).map(|ended| [thread, made[thread] / 2, ended]));
                }
                made[thread] += 1;
                go(left, made, &order, all);
            }
        }
        let mut all = BTreeSet::new();
        go([2 * one, 2 * other], [0, 0], &BTreeSet::new(), &mut all);
        all.len() as u64
    }

    #[test]
    fn orders_are_counted() {
        for (one, other) in [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2), (3, 3)] {
            assert_eq!(orders(one, other), brute_force(one, other), "{one} {other}");
        }
        assert_eq!(orders(5, 0), 1);
    }
}
