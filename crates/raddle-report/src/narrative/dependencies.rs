//! Dependencies in a trace: what happens inside of them is folded where the failure is about the user's own objects.
//!
//! A trace through a dependency can be a hundred lines of its insides for one line of the user's. Three kinds of events are told
//! apart. Events about memory that the user's variables do not lead to are the dependency's own business: they are folded, with
//! its name. Events about an object of the user's own type get the user's line. Events about an object of the dependency's type
//! stay as they are: the test is about the dependency.

use std::collections::BTreeSet;

use super::calls::Calls;
use super::locations::awaited;
use crate::failure::{Action, Failure, Kind, Location, Object};

/// Crates whose types are nobody's in particular.
const STANDARD: [&str; 3] = ["alloc", "core", "std"];

/// Leaves out the insides of dependencies from the calls around events.
pub(crate) fn fold(failure: &Failure, around: &mut [Calls]) {
    let Some(view) = View::of(failure, around) else { return };
    for (event, calls) in failure.trace.events.iter().zip(around) {
        let Some(dependency) = &calls.dependency else { continue };
        let owner = match (&event.action, event.action.place()) {
            (_, Some(place)) => view.owner(place),
            (Action::Fence { .. } | Action::Yield, None) => Owner::Hidden,
            _ => continue,
        };
        match owner {
            Owner::User => calls.leave_dependency(),
            Owner::Hidden => {
                calls.inside = Some(dependency.name.clone());
                calls.leave_dependency();
            }
            Owner::Other => {}
        }
    }
}

/// Whose a location is.
enum Owner {
    /// It is part of an object whose type the user declares.
    User,
    /// It is part of another object that the user's variables lead to, or some thread waits for it at the end.
    Other,
    /// The user's variables do not lead to it.
    Hidden,
}

/// What the user's variables lead to.
struct View<'a> {
    objects: &'a [Object],
    /// The crates of dependencies.
    dependencies: BTreeSet<&'a str>,
    /// The addresses that the user's own code accesses, or that threads wait for at the end.
    known: BTreeSet<u64>,
}

impl<'a> View<'a> {
    /// None if the failure may be about the inside of a dependency.
    fn of(failure: &'a Failure, around: &[Calls]) -> Option<View<'a>> {
        let is_about_results = matches!(
            failure.kind,
            Kind::Panic | Kind::Deadlock | Kind::IncorrectResults | Kind::Validation | Kind::LostWakeUp
        );
        let events = || failure.trace.events.iter().zip(around);
        let panics_inside = events()
            .any(|(event, calls)| matches!(event.action, Action::Panic { .. }) && calls.dependency.is_some());
        if !is_about_results || panics_inside {
            return None;
        }
        let frames = failure.trace.frames.iter().filter(|frame| frame.dependency);
        let dependencies = frames.filter_map(|frame| crate_of(&frame.function)).collect();
        let own = events().filter(|(_, calls)| calls.dependency.is_none());
        let mut known: BTreeSet<u64> =
            own.filter_map(|(event, _)| Some(event.action.place()?.address)).collect();
        known.extend(awaited(failure));
        let objects = failure.objects.as_ref()?;
        let view = View { objects: &objects.list, dependencies, known };
        let roots = objects.roots.iter().filter_map(|root| objects.list.get(root.object as usize));
        roots.into_iter().any(|root| !view.is_of_dependency(root)).then_some(view)
    }

    fn is_of_dependency(&self, object: &Object) -> bool {
        object.in_crate.as_deref().is_some_and(|name| self.dependencies.contains(name))
    }

    fn owner(&self, place: &Location) -> Owner {
        let holds =
            |object: &&Object| place.address.checked_sub(object.address).is_some_and(|at| at < object.size);
        match self.objects.iter().rfind(holds) {
            Some(object) if self.is_of_dependency(object) => Owner::Other,
            Some(object) if object.in_crate.as_deref().is_some_and(|name| !STANDARD.contains(&name)) => {
                Owner::User
            }
            Some(_) => Owner::Other,
            None if self.known.contains(&place.address) => Owner::Other,
            None => Owner::Hidden,
        }
    }
}

/// The crate of a function: the first name of its path.
fn crate_of(function: &str) -> Option<&str> {
    let path = function.trim_start_matches(['<', '&']);
    path.split_once("::").map(|(name, _)| name)
}
