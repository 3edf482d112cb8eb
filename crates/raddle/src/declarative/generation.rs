//! Random scenarios: small ones first, none twice, none that only read.

use std::collections::HashSet;

use raddle_engine::rng::Rng;

use super::definition::Size;
use super::generate::{Growth, Source};
use super::scenario::{Cancel, Earlier, Invocation, Origin, Plan};
use super::subject::Subject;

/// Makes up scenarios.
pub(crate) struct Generation<'d> {
    subject: &'d Subject,
    size: Size,
    /// After this many scenarios they have their full size.
    grown_after: usize,
    made: usize,
    /// All scenarios that were drawn, those that were made before among them.
    drawn: usize,
    random: Rng,
    seen: HashSet<String>,
    /// Each group of operations has a number: its thread, which may be that of other groups, too.
    groups: Vec<(String, usize)>,
}

/// How often in a row a scenario may be one that was made before until there seem to be no others.
const PATIENCE: usize = 200;

impl<'d> Generation<'d> {
    /// Makes `iterations` scenarios, the first ones smaller than the others.
    pub(crate) fn new(subject: &'d Subject, size: Size, iterations: usize, seed: u64) -> Generation<'d> {
        let mut groups: Vec<(String, usize)> = Vec::new();
        for operation in &subject.operations {
            if let Some(group) = &operation.group
                && !groups.iter().any(|(known, _)| known == group)
            {
                groups.push((group.clone(), groups.len()));
            }
        }
        Generation {
            subject,
            size,
            grown_after: (iterations / 3).clamp(1, 30),
            made: 0,
            drawn: 0,
            random: Rng::new(seed),
            seen: HashSet::new(),
            groups,
        }
    }

    /// Notes that a scenario was tried, so that it is not made again.
    pub(crate) fn has_seen(&mut self, plan: &Plan) -> bool {
        !self.seen.insert(plan.identity(self.subject))
    }

    /// A scenario that was not made before; none if there seem to be none.
    pub(crate) fn next(&mut self) -> Option<Plan> {
        for _ in 0..PATIENCE {
            let plan = self.make();
            let calls: Vec<usize> = plan.threads.iter().map(Vec::len).filter(|&calls| calls > 0).collect();
            let reads_only =
                plan.threads.iter().flatten().all(|call| self.subject.operations[call.operation].read_only);
            // One thread alone has nobody to interfere with.
            let alone = calls.len() < 2.min(self.size.threads);
            if !reads_only && !alone && !self.has_seen(&plan) {
                self.made += 1;
                return Some(plan);
            }
            // Sizes that have no more to offer are left behind.
            self.made += usize::from(self.made < self.grown_after);
        }
        None
    }

    fn make(&mut self) -> Plan {
        let most = self.current_size();
        self.drawn += 1;
        let mut up_to = |least: usize, most: usize| least + self.random.below(most - least + 1);
        let (before, after) = (up_to(0, most.before), up_to(0, most.after));
        let lengths: Vec<usize> = (0..most.threads).map(|_| up_to(1, most.per_thread)).collect();
        let size = Size { before, after, ..most };
        let mut growth = Growth::default();
        let mut plan = Plan::default();
        for _ in 0..size.before {
            let before: Vec<&Invocation> = plan.init.iter().collect();
            let suits = |operation: usize| {
                let operation = &self.subject.operations[operation];
                !operation.once && !operation.may_suspend()
            };
            let call = draw(self.subject, &mut self.random, &mut growth, 0, &before, suits);
            plan.init.extend(call);
        }
        plan.threads = vec![Vec::new(); size.threads];
        for position in 0..size.per_thread {
            for thread in (0..size.threads).filter(|&thread| position < lengths[thread]) {
                let before: Vec<&Invocation> = plan.init.iter().chain(&plan.threads[thread]).collect();
                let suits = |operation: usize| {
                    may_call(self.subject, &self.groups, operation, thread, size.threads)
                        && is_free(self.subject, &plan, operation)
                };
                let call = draw(self.subject, &mut self.random, &mut growth, thread + 1, &before, suits);
                plan.threads[thread].extend(call);
            }
        }
        let suspends =
            plan.threads.iter().flatten().any(|call| self.subject.operations[call.operation].may_suspend());
        // Nobody would know what to do after operations that never return.
        for _ in 0..if suspends { 0 } else { size.after } {
            let before: Vec<&Invocation> = plan.calls().collect();
            let suits = |operation: usize| {
                !self.subject.operations[operation].may_suspend() && is_free(self.subject, &plan, operation)
            };
            let call = draw(self.subject, &mut self.random, &mut growth, size.threads + 1, &before, suits);
            plan.post.extend(call);
        }
        plan.threads.retain(|calls| !calls.is_empty());
        plan
    }

    /// The first scenarios are small: what fails in a small one is found sooner and understood sooner.
    fn current_size(&self) -> Size {
        let grown = |most: usize, least: usize| {
            let most_steps = most.saturating_sub(least);
            (least + most_steps * self.made.min(self.grown_after) / self.grown_after).min(most)
        };
        let choices = self.size.threads - self.size.fewest_threads + 1;
        Size {
            threads: self.size.fewest_threads + self.drawn % choices,
            fewest_threads: self.size.fewest_threads,
            per_thread: grown(self.size.per_thread, 1),
            before: grown(self.size.before, 0),
            after: grown(self.size.after, 0),
        }
    }
}

fn may_call(
    subject: &Subject,
    groups: &[(String, usize)],
    operation: usize,
    thread: usize,
    threads: usize,
) -> bool {
    let Some(group) = &subject.operations[operation].group else { return true };
    groups.iter().any(|(name, number)| name == group && number % threads == thread)
}

/// Whether an operation that may be called once was not.
fn is_free(subject: &Subject, plan: &Plan, operation: usize) -> bool {
    !subject.operations[operation].once || plan.calls().all(|call| call.operation != operation)
}

/// A call of one of the operations that suit; none if there is none.
fn draw(
    subject: &Subject,
    random: &mut Rng,
    growth: &mut Growth,
    thread: usize,
    before: &[&Invocation],
    suits: impl Fn(usize) -> bool,
) -> Option<Invocation> {
    let mut candidates: Vec<usize> =
        (0..subject.operations.len()).filter(|&operation| suits(operation)).collect();
    while !candidates.is_empty() {
        let weights: Vec<u64> =
            candidates.iter().map(|&operation| subject.operations[operation].weight.into()).collect();
        let total: u64 = weights.iter().sum();
        if total == 0 {
            return None;
        }
        let mut rest = random.next() % total;
        let place = weights.iter().position(|&weight| {
            let chosen = rest < weight;
            rest = rest.wrapping_sub(weight);
            chosen
        })?;
        let operation = candidates[place];
        let described = &subject.operations[operation];
        let mut source = Source::random(random, growth, thread);
        let args = (described.generate)(&mut source);
        let origin = Origin::Drawn { numbers: source.into_drawn(), thread };
        let cancel = match described.cancellable.then(|| random.next() % 4) {
            Some(0) => Cancel::OnceSuspended,
            Some(1) => Cancel::OnceWoken,
            _ => Cancel::Never,
        };
        let earlier = Earlier { subject, calls: before };
        if described.precondition.as_ref().is_none_or(|holds| holds(&earlier, &args)) {
            return Some(Invocation { operation, args, origin, cancel });
        }
        candidates.remove(place);
    }
    None
}
