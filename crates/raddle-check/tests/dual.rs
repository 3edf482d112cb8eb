//! Objects whose operations may wait, against the definition of what explains them.

mod common;

use std::cell::RefCell;
use std::collections::HashSet;

use common::{Raw, Tally, for_random_histories};
use proptest::prelude::*;
use raddle_check::dual::{Answer, Blocking, Guarded, Step, Ticket, Verifier};
use raddle_check::explain::{self, Story, text};
use raddle_check::verdict::Verdict;
use raddle_check::{Checker, Contract, Durability, History, Operation, Outcome};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Op {
    Put(u8),
    Take,
}

/// A buffer of one place: putting waits while it is full, taking while it is empty.
fn buffer(is_fair: bool) -> impl Blocking<Input = Op, Output = u8> {
    let buffer = Guarded::new(None, |held: &mut Option<u8>, op: &Op| match op {
        Op::Put(value) => held.is_none().then(|| {
            *held = Some(*value);
            9
        }),
        Op::Take => held.take(),
    });
    let kind = |op: &Op| Some(u32::from(*op == Op::Take));
    if is_fair { buffer.fifo(kind) } else { buffer }
}

/// A channel without a buffer: whoever comes first waits for a partner.
struct Rendezvous {
    can_rename: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Meeting {
    senders: Vec<(Ticket, u8)>,
    receivers: Vec<Ticket>,
    /// Who has met a partner, and what it returns.
    met: Vec<(Ticket, u8)>,
}

impl Blocking for Rendezvous {
    type State = Meeting;
    type Input = Op;
    type Output = u8;

    fn init(&self) -> Meeting {
        Meeting::default()
    }

    fn request(&self, state: &mut Meeting, ticket: Ticket, op: &Op) -> Step<u8> {
        match op {
            Op::Put(value) if state.receivers.is_empty() => state.senders.push((ticket, *value)),
            Op::Put(value) => {
                let receiver = state.receivers.remove(0);
                state.met.push((receiver, *value));
                return Step::Return(9);
            }
            Op::Take if state.senders.is_empty() => state.receivers.push(ticket),
            Op::Take => {
                let (sender, value) = state.senders.remove(0);
                state.met.push((sender, 9));
                return Step::Return(value);
            }
        }
        Step::Suspend
    }

    fn ready(&self, state: &Meeting, ticket: Ticket) -> bool {
        state.met.iter().any(|(other, _)| *other == ticket)
    }

    fn follow_up(&self, state: &mut Meeting, ticket: Ticket) -> Step<u8> {
        let at = state.met.iter().position(|(other, _)| *other == ticket).unwrap();
        Step::Return(state.met.remove(at).1)
    }

    fn cancel(&self, state: &mut Meeting, ticket: Ticket) {
        state.senders.retain(|(other, _)| *other != ticket);
        state.receivers.retain(|other| *other != ticket);
        state.met.retain(|(other, _)| *other != ticket);
    }

    fn rename(&self, state: &mut Meeting, to: &mut dyn FnMut(Ticket) -> Ticket) -> bool {
        if self.can_rename {
            state.senders.iter_mut().for_each(|(ticket, _)| *ticket = to(*ticket));
            state.receivers.iter_mut().for_each(|ticket| *ticket = to(*ticket));
            state.met.iter_mut().for_each(|(ticket, _)| *ticket = to(*ticket));
        }
        self.can_rename
    }
}

/// Taking waits for two puts, one after the other, and suspends anew in between; it returns the sum. A put that nobody
/// waits for is lost.
struct TwoStages;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stage {
    ticket: Ticket,
    sum: u8,
    is_second: bool,
    is_woken: bool,
}

impl Blocking for TwoStages {
    type State = Vec<Stage>;
    type Input = Op;
    type Output = u8;

    fn init(&self) -> Vec<Stage> {
        Vec::new()
    }

    fn request(&self, waiting: &mut Vec<Stage>, ticket: Ticket, op: &Op) -> Step<u8> {
        match op {
            Op::Put(value) => {
                if let Some(first) = waiting.iter_mut().find(|stage| !stage.is_woken) {
                    (first.sum, first.is_woken) = (first.sum + value, true);
                }
                Step::Return(9)
            }
            Op::Take => {
                waiting.push(Stage { ticket, sum: 0, is_second: false, is_woken: false });
                Step::Suspend
            }
        }
    }

    fn ready(&self, waiting: &Vec<Stage>, ticket: Ticket) -> bool {
        waiting.iter().any(|stage| stage.ticket == ticket && stage.is_woken)
    }

    fn follow_up(&self, waiting: &mut Vec<Stage>, ticket: Ticket) -> Step<u8> {
        let at = waiting.iter().position(|stage| stage.ticket == ticket).unwrap();
        if waiting[at].is_second {
            return Step::Return(waiting.remove(at).sum);
        }
        (waiting[at].is_second, waiting[at].is_woken) = (true, false);
        Step::Suspend
    }

    fn cancel(&self, waiting: &mut Vec<Stage>, ticket: Ticket) {
        waiting.retain(|stage| stage.ticket != ticket);
    }

    fn rename(&self, waiting: &mut Vec<Stage>, to: &mut dyn FnMut(Ticket) -> Ticket) -> bool {
        waiting.iter_mut().for_each(|stage| stage.ticket = to(stage.ticket));
        true
    }
}

/// Where an operation is in the definition: its ticket is its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Where {
    Fresh,
    Waiting,
    Over,
}

/// Everything that can happen, tried.
struct Definition<'a, B: Blocking> {
    spec: &'a B,
    operations: &'a [Operation<B::Input, B::Output>],
    before: &'a dyn Fn(usize, usize) -> bool,
    seen: HashSet<(Vec<Where>, B::State)>,
    /// For each way to explain what ended, who could go on though it is suspended.
    lost: HashSet<Vec<usize>>,
}

impl<B: Blocking> Definition<'_, B> {
    fn explore(&mut self, at: &[Where], state: &B::State) {
        if !self.seen.insert((at.to_vec(), state.clone())) {
            return;
        }
        let ended = |op: usize| self.operations[op].ended_at().is_some();
        if (0..at.len()).all(|op| !ended(op) || at[op] == Where::Over) {
            self.judge(at, state);
        }
        for op in 0..at.len() {
            let operation = &self.operations[op];
            let ticket = Ticket(op as u32);
            let mut next = state.clone();
            let step = match at[op] {
                Where::Over => continue,
                Where::Fresh => {
                    if (0..at.len()).any(|i| ended(i) && at[i] != Where::Over && (self.before)(i, op)) {
                        continue;
                    }
                    self.spec.request(&mut next, ticket, &operation.input)
                }
                Where::Waiting => {
                    if matches!(operation.outcome, Outcome::Cancelled { .. } | Outcome::Unknown) {
                        let mut next = state.clone();
                        self.spec.cancel(&mut next, ticket);
                        self.explore(&with(at, op, Where::Over), &next);
                    }
                    if !self.spec.ready(state, ticket) {
                        continue;
                    }
                    self.spec.follow_up(&mut next, ticket)
                }
            };
            match (step, &operation.outcome) {
                (Step::Suspend, _) => self.explore(&with(at, op, Where::Waiting), &next),
                (Step::Return(result), Outcome::Returned { output, .. }) if result == *output => {
                    self.explore(&with(at, op, Where::Over), &next);
                }
                (Step::Return(_), Outcome::Unknown) => self.explore(&with(at, op, Where::Over), &next),
                // Suspended and cancelled at once.
                (Step::Return(_), Outcome::Cancelled { .. }) if at[op] == Where::Fresh => {
                    self.explore(&with(at, op, Where::Over), state);
                }
                _ => {}
            }
        }
    }

    /// What ended is explained: is what is suspended, too?
    fn judge(&mut self, at: &[Where], state: &B::State) {
        let suspended = |op: &usize| self.operations[*op].outcome == Outcome::Suspended;
        let mut lost = Vec::new();
        for op in (0..at.len()).filter(suspended) {
            let ticket = Ticket(op as u32);
            let may_go = match at[op] {
                Where::Waiting => self.spec.ready(state, ticket),
                _ => {
                    let request = self.spec.request(&mut state.clone(), ticket, &self.operations[op].input);
                    if request == Step::Suspend {
                        // It is still to be put in its place.
                        return;
                    }
                    true
                }
            };
            if may_go {
                lost.push(op);
            }
        }
        self.lost.insert(lost);
    }
}

fn with(at: &[Where], op: usize, place: Where) -> Vec<Where> {
    let mut at = at.to_vec();
    at[op] = place;
    at
}

/// All answers that are right.
fn definition<B: Blocking>(
    spec: &B,
    operations: &[Operation<B::Input, B::Output>],
    before: &dyn Fn(usize, usize) -> bool,
) -> Vec<Answer> {
    let mut search = Definition { spec, operations, before, seen: HashSet::new(), lost: HashSet::new() };
    search.explore(&vec![Where::Fresh; operations.len()], &spec.init());
    match search.lost.iter().map(Vec::len).min() {
        None => vec![Answer::Rejected],
        Some(0) => vec![Answer::Accepted],
        Some(fewest) => {
            let closest = search.lost.into_iter().filter(|lost| lost.len() == fewest);
            closest.map(Answer::LostWakeUp).collect()
        }
    }
}

/// A history of a run of `spec`, in which now and then something is made up.
fn history<B: Blocking<Input = Op, Output = u8>>(spec: &B, raw: &[Raw]) -> History<Op, u8> {
    let time = |raw: &Raw| u64::from(raw.call) * 256 + u64::from(raw.duration) * u64::from(raw.effect);
    let mut by_effect: Vec<usize> = (0..raw.len()).collect();
    by_effect.sort_by_key(|&i| (time(&raw[i]), i));
    let end = |i: usize| u64::from(raw[i].call + raw[i].duration) * 256;
    let mut outcomes: Vec<Outcome<u8>> = raw.iter().map(|_| Outcome::Suspended).collect();
    let mut state = spec.init();
    let mut waiting: Vec<usize> = Vec::new();
    for op in by_effect {
        let input = operation(op, &raw[op]);
        match spec.request(&mut state, Ticket(op as u32), &input) {
            Step::Return(output) => outcomes[op] = Outcome::Returned { output, at: end(op) },
            Step::Suspend if raw[op].luck.is_multiple_of(5) => {
                spec.cancel(&mut state, Ticket(op as u32));
                outcomes[op] = Outcome::Cancelled { at: end(op) };
            }
            Step::Suspend => waiting.push(op),
        }
        let now = time(&raw[op]) + 1;
        while let Some(at) = waiting.iter().position(|&op| spec.ready(&state, Ticket(op as u32))) {
            let op = waiting.remove(at);
            match spec.follow_up(&mut state, Ticket(op as u32)) {
                Step::Return(output) => outcomes[op] = Outcome::Returned { output, at: end(op).max(now) },
                Step::Suspend => waiting.push(op),
            }
        }
    }
    let one = |(i, raw): (usize, &Raw)| {
        let made_up = [
            Outcome::Suspended,
            Outcome::Returned { output: raw.effect % 3, at: end(i) },
            Outcome::Returned { output: 9, at: end(i) },
            Outcome::Cancelled { at: end(i) },
            Outcome::Unknown,
        ];
        let outcome = if raw.luck > 170 {
            made_up[usize::from(raw.luck) % made_up.len()].clone()
        } else {
            outcomes[i].clone()
        };
        let call = u64::from(raw.call) * 256;
        Operation { process: raw.process.into(), call, input: operation(i, raw), outcome }
    };
    raw.iter().enumerate().map(one).collect()
}

fn operation(index: usize, raw: &Raw) -> Op {
    if raw.kind.is_multiple_of(2) { Op::Take } else { Op::Put(index as u8 % 3) }
}

fn precedes(a: &Operation<Op, u8>, b: &Operation<Op, u8>) -> bool {
    a.ended_at().is_some_and(|end| end < b.call)
}

/// Compares verifier and checker with the definition, under each order that a contract may ask for.
#[track_caller]
fn agrees<B: Blocking<Input = Op, Output = u8>>(cases: u32, spec: impl Fn() -> B) {
    let contracts =
        [Contract::Linearizable, Contract::Sequential, Contract::Serializable, Contract::Quiescent];
    for contract in contracts {
        let (accepted, lost) = (Tally::default(), Tally::default());
        let verifier = RefCell::new(Verifier::new(spec(), contract));
        for_random_histories(cases, 5, 8, |raw| {
            let spec = spec();
            let history = history(&spec, &raw);
            let all = history.operations();
            let in_time = |i: usize, j: usize| precedes(&all[i], &all[j]);
            let before = |i: usize, j: usize| match contract {
                Contract::Linearizable => in_time(i, j),
                Contract::Sequential => {
                    all[i].process == all[j].process && (all[i].call, i) < (all[j].call, j)
                }
                Contract::Quiescent => {
                    // Some instant between the two at which nothing is open.
                    let instants = all.iter().filter_map(Operation::ended_at);
                    let is_quiet = |&instant: &u64| {
                        all.iter()
                            .all(|op| op.call > instant || op.ended_at().is_some_and(|end| end <= instant))
                    };
                    let ended = all[i].ended_at().unwrap_or(u64::MAX);
                    instants.filter(is_quiet).any(|instant| ended <= instant && instant < all[j].call)
                }
                _ => false,
            };
            let right = definition(&spec, all, &before);
            accepted.count(right == [Answer::Accepted]);
            lost.count(matches!(right[0], Answer::LostWakeUp(_)));
            let answer = verifier.borrow_mut().verify(&history).unwrap();
            prop_assert!(right.contains(&answer), "{} {:?} {:?} {:?}", contract, answer, right, history);
            let report = Checker::new().contract(contract).check_blocking(&history, &spec).unwrap();
            let checked = match report.verdict() {
                Verdict::Accepted => Answer::Accepted,
                Verdict::Violation(violation) if violation.lost_wake_ups.is_empty() => Answer::Rejected,
                Verdict::Violation(violation) => Answer::LostWakeUp(violation.lost_wake_ups.clone()),
                Verdict::Unknown(_) => unreachable!("there is no limit"),
            };
            prop_assert!(right.contains(&checked), "checked: {} {:?} {:?}", contract, checked, history);
            if contract != Contract::Sequential {
                let given = verifier.borrow_mut().verify_partial_order(&history, in_time).unwrap();
                prop_assert!(right.contains(&given), "given: {} {:?} {:?}", contract, given, history);
            }
            Ok(())
        });
        accepted.is_balanced();
        lost.is_balanced();
        assert!(verifier.borrow().remembered() > 0);
    }
}

#[test]
fn guarded_in_any_order() {
    agrees(800, || buffer(false));
}

#[test]
fn guarded_first_come_first_served() {
    agrees(800, || buffer(true));
}

#[test]
fn rendezvous() {
    agrees(600, || Rendezvous { can_rename: true });
    agrees(600, || Rendezvous { can_rename: false });
}

#[test]
fn several_suspensions() {
    agrees(800, || TwoStages);
}

fn answer<B: Blocking>(spec: B, history: &History<B::Input, B::Output>) -> Answer {
    Verifier::new(spec, Contract::Linearizable).verify(history).unwrap()
}

/// Two takers wait, two elements come, and only one taker is woken: `notify_one` where `notify_all` is needed.
#[test]
fn a_lost_wake_up_is_named_and_explained() {
    let mut history = History::new();
    let first = history.invoke(0, Op::Take);
    let second = history.invoke(1, Op::Take);
    for value in [1, 2] {
        let put = history.invoke(2, Op::Put(value));
        history.respond(put, 9);
    }
    history.respond(first, 1);
    history.suspend(second);
    assert_eq!(answer(buffer(false), &history), Answer::LostWakeUp(vec![second]));

    let spec = buffer(false);
    let report = Checker::new().check_blocking(&history, &spec).unwrap();
    let story = Story::blocking("the history", "linearizable", &report, &history, &spec, &[]);
    let gist = explain::closest(&report).unwrap();
    assert_eq!(gist.lost_wake_ups, [second]);
    let gist = gist.lines(10, |op| story.operations[&op].text.clone()).join("\n");
    insta::assert_snapshot!(format!("{}\nIn short, {gist}", text::render(&story, true)));
}

#[test]
fn waiting_for_ever_is_right_if_nothing_comes() {
    let mut history = History::new();
    let take = history.invoke(0, Op::Take);
    history.suspend(take);
    assert_eq!(answer(buffer(false), &history), Answer::Accepted);
    // A put that comes first leaves nothing to wait for.
    let put = history.invoke(1, Op::Put(1));
    history.respond(put, 9);
    assert_eq!(answer(buffer(false), &history), Answer::LostWakeUp(vec![take]));
}

/// One who wants little may have to wait behind one who wants much, if the specification says so.
#[test]
fn queues_are_kept() {
    let semaphore = || {
        Guarded::new(1, |permits: &mut u8, wanted: &i8| {
            *permits = permits.checked_add_signed(-wanted)?;
            Some(())
        })
    };
    let fair = || semaphore().fifo(|wanted| (*wanted > 0).then_some(0));
    let mut history = History::new();
    let much = history.invoke(0, 3);
    let little = history.invoke(1, 1);
    history.suspend(much);
    history.suspend(little);
    assert_eq!(answer(semaphore(), &history), Answer::LostWakeUp(vec![little]));
    assert_eq!(answer(fair(), &history), Answer::Accepted);
    let release = history.invoke(2, -2);
    history.respond(release, ());
    assert_eq!(answer(fair(), &history), Answer::LostWakeUp(vec![much]));
}

/// Cancelled right after it was woken: the element is lost with it.
#[test]
fn cancelled_after_it_was_resumed() {
    let mut history = History::new();
    let take = history.invoke(0, Op::Take);
    let put = history.invoke(1, Op::Put(1));
    history.respond(put, 9);
    history.cancel(take);
    let again = history.invoke(0, Op::Take);
    history.suspend(again);
    assert_eq!(answer(Rendezvous { can_rename: true }, &history), Answer::Accepted);
    // In a buffer the element stays, and the second take must get it.
    assert_eq!(answer(buffer(false), &history), Answer::LostWakeUp(vec![again]));
}

#[test]
fn what_no_order_explains_is_rejected_with_what_was_expected() {
    let mut history = History::new();
    let put = history.invoke(0, Op::Put(1));
    history.respond(put, 9);
    let take = history.invoke(1, Op::Take);
    history.respond(take, 2);
    assert_eq!(answer(buffer(false), &history), Answer::Rejected);
    let report = Checker::new().check_blocking(&history, &buffer(false)).unwrap();
    let Verdict::Violation(violation) = report.verdict() else { panic!("it is one") };
    assert_eq!(violation.attempts[0].rejected[0].expected, ["Take -> 1"]);
}

#[test]
fn contracts_that_do_not_fit_are_refused() {
    let history = History::new();
    for contract in [Contract::Quasi(1), Contract::Durable(Durability::Plain)] {
        let refused = Checker::new().contract(contract).check_blocking(&history, &buffer(false));
        assert!(refused.unwrap_err().to_string().contains("cannot be checked for"));
    }
    let anything = Checker::new().contract(Contract::Anything).check_blocking(&history, &buffer(false));
    assert!(anything.unwrap().is_accepted());
}
