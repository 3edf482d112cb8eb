//! Tests that make no sense, told in one sentence.

use super::definition::Definition;
use super::scenario::{Call, Cancel, Invocation, Origin, Plan, Scenario};
use super::subject::Subject;

/// What is wrong with a test.
pub(crate) fn check(definition: &Definition) -> Result<(), String> {
    let subject = &definition.subject;
    if subject.operations.is_empty() {
        return Err(
            "the test has no operations: add some with `.operation(name, |object: &T, ..| ..)`".to_owned()
        );
    }
    for (index, operation) in subject.operations.iter().enumerate() {
        if subject.find(&operation.name) != Some(index) {
            return Err(format!(
                "there are two operations `{}`: give one of them another name",
                operation.name
            ));
        }
        if operation.blocking && !operation.is_future() && !definition.has_spec {
            return Err(format!(
                "operation `{0}` is blocking, so only a specification can say when it may go on: add \
                 `.spec(Spec::new(..).blocking({0:?}, ..))`",
                operation.name
            ));
        }
    }
    if subject.operations.iter().all(|operation| operation.weight == 0) {
        return Err(
            "all operations have weight 0, so none can be called: give one a greater weight".to_owned()
        );
    }
    if definition.size.threads == 0 || definition.size.per_thread == 0 {
        return Err("a scenario needs a thread with an operation: set `threads` and `operations_per_thread` to 1 or more"
            .to_owned());
    }
    check_groups(definition)?;
    let keyed = subject.operations.iter().filter(|operation| operation.key.is_some()).count();
    if keyed != 0 && keyed != subject.operations.len() {
        let without = subject.operations.iter().find(|operation| operation.key.is_none());
        let name = without.map_or("", |operation| &operation.name);
        return Err(format!("operation `{name}` has no key, but others have: give all of them one, or none"));
    }
    Ok(())
}

/// With groups only, two threads need two groups.
fn check_groups(definition: &Definition) -> Result<(), String> {
    let operations = &definition.subject.operations;
    let mut groups: Vec<&str> =
        operations.iter().filter_map(|operation| operation.group.as_deref()).collect();
    groups.sort_unstable();
    groups.dedup();
    let all_grouped = operations.iter().all(|operation| operation.group.is_some());
    if all_grouped && groups.len() == 1 && definition.size.threads > 1 && definition.iterations != Some(0) {
        return Err(format!(
            "all operations are in group `{}`, so no two of them can run in parallel: add an operation outside of it",
            groups[0]
        ));
    }
    Ok(())
}

/// The custom scenarios.
pub(crate) fn plans(definition: &Definition) -> Result<Vec<Plan>, String> {
    let mut number = 0;
    definition.scenarios.iter().map(|scenario| plan(definition, scenario, &mut number)).collect()
}

fn plan(definition: &Definition, scenario: &Scenario, number: &mut usize) -> Result<Plan, String> {
    let subject = &definition.subject;
    let mut invocations = |calls: &[Call]| -> Result<Vec<Invocation>, String> {
        let invocations = calls.iter().map(|call| {
            *number += 1;
            invocation(subject, call, *number - 1)
        });
        invocations.collect()
    };
    let plan = Plan {
        init: invocations(&scenario.init)?,
        threads: scenario.threads.iter().map(|calls| invocations(calls)).collect::<Result<_, _>>()?,
        post: invocations(&scenario.post)?,
    };
    let suspends = |call: &&Invocation| subject.operations[call.operation].may_suspend();
    if plan.threads.iter().all(Vec::is_empty) {
        return Err(format!(
            "scenario {} has no parallel part: add a thread with `.thread([..])`",
            plan.text(subject)
        ));
    }
    if let Some(call) = plan.init.iter().find(suspends) {
        return Err(format!(
            "`{}` may suspend, and in the init part nobody could wake it: move it to a thread",
            call.text(subject)
        ));
    }
    let waits = plan.threads.iter().flatten().find(suspends);
    if let (Some(call), false) = (waits, plan.post.is_empty()) {
        return Err(format!(
            "`{}` may suspend, so the post part might never begin: move its calls to a thread",
            call.text(subject)
        ));
    }
    if let Some(call) = plan.post.iter().find(suspends) {
        return Err(format!(
            "`{}` may suspend, and in the post part nobody could wake it: move it to a thread",
            call.text(subject)
        ));
    }
    Ok(plan)
}

fn invocation(subject: &Subject, call: &Call, number: usize) -> Result<Invocation, String> {
    let name = &call.operation;
    let Some(operation) = subject.find(name) else {
        return Err(format!(
            "a scenario calls `{name}`, which the test does not have: there are {}",
            subject.names()
        ));
    };
    let described = &subject.operations[operation];
    if described.arguments != call.arguments {
        return Err(format!(
            "a scenario calls `{name}` with `{}`, but it takes `{}`",
            call.arguments.name, described.arguments.name
        ));
    }
    if call.cancel != Cancel::Never && !described.is_future() {
        return Err(format!("a scenario cancels `{name}`, which is no future"));
    }
    Ok(Invocation { operation, args: call.args.clone(), origin: Origin::Given(number), cancel: call.cancel })
}
