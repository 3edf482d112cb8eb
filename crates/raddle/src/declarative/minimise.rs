//! From a scenario that fails to the smallest one that fails in the same way.
//!
//! Greedy, in a fixed order, until nothing can be left out: whole threads, single operations, pairs of them; then operations
//! are moved out of the parallel part, and arguments made simpler.

use super::scenario::{Invocation, Origin, Plan};
use super::subject::Subject;

/// The smallest plan that `fails`, as far as leaving out one thing after the other leads. With it, what `fails` said.
pub(crate) fn minimise<F>(
    subject: &Subject,
    plan: Plan,
    failure: F,
    mut fails: impl FnMut(&Plan) -> Option<F>,
) -> (Plan, F) {
    let mut smallest = (plan, failure);
    loop {
        let smaller = candidates(subject, &smallest.0)
            .filter(|candidate| candidate.keeps_preconditions(subject))
            .find_map(|candidate| fails(&candidate).map(|failure| (candidate, failure)));
        match smaller {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Plans that are simpler than this one, the simplest first. Each is smaller in an order that has no endless descent: fewer
/// operations, fewer in parallel, smaller numbers.
fn candidates<'a>(subject: &'a Subject, plan: &'a Plan) -> impl Iterator<Item = Plan> + 'a {
    let threads = (0..plan.threads.len()).rev().filter(|_| plan.threads.len() > 1).map(|thread| {
        let mut without = plan.clone();
        without.threads.remove(thread);
        settled(subject, without)
    });
    let count = plan.len();
    let singles = (0..count).rev().map(move |call| without(subject, plan, &[call]));
    let pairs = (0..count)
        .rev()
        .flat_map(move |last| (0..last).rev().map(move |first| without(subject, plan, &[first, last])));
    let moves = (0..plan.threads.len()).flat_map(move |thread| {
        [to_init(subject, plan, thread), to_post(subject, plan, thread)].into_iter().flatten()
    });
    let simpler = (0..count).flat_map(move |call| simpler_arguments(subject, plan, call));
    threads.chain(singles).chain(pairs).chain(moves).chain(simpler).filter(|plan| !plan.threads.is_empty())
}

fn without(subject: &Subject, plan: &Plan, calls: &[usize]) -> Plan {
    let mut number = 0;
    let mut kept = |part: &[Invocation]| -> Vec<Invocation> {
        let kept = part.iter().filter(|_| {
            number += 1;
            !calls.contains(&(number - 1))
        });
        kept.cloned().collect()
    };
    let plan = Plan {
        init: kept(&plan.init),
        threads: plan.threads.iter().map(|calls| kept(calls)).collect(),
        post: kept(&plan.post),
    };
    settled(subject, plan)
}

/// Removes threads without operations, and tells arguments that depend on it which thread they are in now.
fn settled(subject: &Subject, mut plan: Plan) -> Plan {
    plan.threads.retain(|calls| !calls.is_empty());
    let post = plan.threads.len() + 1;
    for (thread, calls) in plan.threads.iter_mut().enumerate() {
        calls.iter_mut().for_each(|call| *call = call.moved_to(subject, thread + 1));
    }
    plan.init.iter_mut().for_each(|call| *call = call.moved_to(subject, 0));
    plan.post.iter_mut().for_each(|call| *call = call.moved_to(subject, post));
    plan
}

fn to_init(subject: &Subject, plan: &Plan, thread: usize) -> Option<Plan> {
    if subject.operations[plan.threads[thread].first()?.operation].may_suspend() {
        return None;
    }
    let mut moved = plan.clone();
    let call = moved.threads[thread].remove(0);
    moved.init.push(call);
    Some(settled(subject, moved))
}

fn to_post(subject: &Subject, plan: &Plan, thread: usize) -> Option<Plan> {
    let suspends = |call: &Invocation| subject.operations[call.operation].may_suspend();
    if plan.threads.iter().flatten().any(suspends) {
        return None;
    }
    let mut moved = plan.clone();
    let call = moved.threads[thread].pop()?;
    moved.post.insert(0, call);
    Some(settled(subject, moved))
}

/// The plan with simpler arguments of one call: each number 0, half of what it is, or one less.
fn simpler_arguments<'a>(
    subject: &'a Subject,
    plan: &'a Plan,
    call: usize,
) -> impl Iterator<Item = Plan> + 'a {
    let invocation = plan.calls().nth(call).expect("a call of the plan").clone();
    let (numbers, thread) = match invocation.origin.clone() {
        Origin::Drawn { numbers, thread } => (numbers, thread),
        Origin::Given(_) => (Vec::new(), 0),
    };
    let choices = numbers.clone().into_iter().enumerate().flat_map(|(place, number)| {
        let mut smaller: Vec<u64> = [0, number / 2, number.saturating_sub(1)].into();
        smaller.retain(|&smaller| smaller < number);
        smaller.dedup();
        smaller.into_iter().map(move |smaller| (place, smaller))
    });
    choices.filter_map(move |(place, smaller)| {
        let mut changed = numbers.clone();
        changed[place] = smaller;
        let mut simpler = Invocation::drawn(subject, invocation.operation, &changed, thread);
        simpler.cancel = invocation.cancel;
        // A smaller number may lead to more of them; only what is smaller in all is simpler.
        let Origin::Drawn { numbers: drawn, .. } = &simpler.origin else { return None };
        let descends = drawn.len() < numbers.len() || (drawn.len() == numbers.len() && *drawn < numbers);
        descends.then(|| with(plan, call, simpler))
    })
}

fn with(plan: &Plan, call: usize, invocation: Invocation) -> Plan {
    let mut changed = plan.clone();
    let calls = changed.init.iter_mut().chain(changed.threads.iter_mut().flatten()).chain(&mut changed.post);
    if let Some(place) = calls.into_iter().nth(call) {
        *place = invocation;
    }
    changed
}
