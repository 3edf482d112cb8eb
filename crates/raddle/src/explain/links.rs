//! The edges of the execution graph: the engine's store numbers and vector clocks become rf, mo and sw edges between events.

use std::collections::HashMap;

use raddle_engine::op::ThreadId;
use raddle_engine::trace::{Event, Trace};
use raddle_engine::weak_memory::StoreId;
use raddle_report::failure::Write;

/// The edges that end in one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// The source of the event's read.
    pub(super) reads_from: Option<Write>,
    /// The immediate predecessor of the event's write in modification order.
    pub(super) overwrites: Option<Write>,
    /// The events of other threads that synchronise with the event.
    pub(super) synchronises_with: Vec<u32>,
}

/// The edges that end in each event of a trace.
pub(super) fn links(trace: &Trace) -> Vec<Links> {
    let stores = Stores::of(&trace.events);
    let mut clocks = EventClocks::default();
    let links = trace.events.iter().enumerate().map(|(at, event)| {
        let touched = event.links.touched;
        Links {
            reads_from: touched.and_then(|touched| touched.read).map(|store| stores.write(store)),
            overwrites: touched.and_then(|touched| touched.made).map(|[store, _]| stores.before(store)),
            synchronises_with: clocks.synchronises_with(at, event),
        }
    });
    links.collect()
}

/// The stores of a trace, in modification order.
#[derive(Default)]
struct Stores {
    /// The event of each store.
    events: HashMap<StoreId, u32>,
    /// The address of each location, and its stores in modification order. An uninstrumented write begins a new location at the same
    /// address.
    locations: Vec<(usize, Vec<StoreId>)>,
    /// The location of each store, as an index into `locations`.
    location_of: HashMap<StoreId, usize>,
}

impl Stores {
    fn of(events: &[Event]) -> Stores {
        let mut stores = Stores::default();
        for (at, event) in events.iter().enumerate() {
            let (Some(touched), Some(address)) = (event.links.touched, event.action.address()) else {
                continue;
            };
            if let Some(read) = touched.read {
                stores.location(address, read);
            }
            if let Some([made, before]) = touched.made {
                let location = stores.location(address, before);
                let order = &mut stores.locations[location].1;
                let rank =
                    order.iter().position(|&store| store == before).map_or(order.len(), |rank| rank + 1);
                order.insert(rank, made);
                stores.location_of.insert(made, location);
                stores.events.insert(made, at as u32);
            }
        }
        stores
    }

    /// The location of a store; a new one if the store is unknown.
    fn location(&mut self, address: usize, store: StoreId) -> usize {
        let Stores { locations, location_of, .. } = self;
        *location_of.entry(store).or_insert_with(|| {
            locations.push((address, vec![store]));
            locations.len() - 1
        })
    }

    fn write(&self, store: StoreId) -> Write {
        match self.events.get(&store) {
            Some(&event) => Write::Event(event),
            None => {
                // The first location at an address holds the initial value; later ones begin with an uninstrumented write.
                let location = self.location_of[&store];
                let address = self.locations[location].0;
                match self.locations[..location].iter().any(|(other, _)| *other == address) {
                    true => Write::Unseen,
                    false => Write::Initial,
                }
            }
        }
    }

    /// The immediate predecessor in modification order of a store that is an event.
    fn before(&self, store: StoreId) -> Write {
        let order = &self.locations[self.location_of[&store]].1;
        let rank = order
            .iter()
            .position(|&other| other == store)
            .expect("a store is in the modification order of its location");
        self.write(order[rank - 1])
    }
}

/// The vector clock of each event, with events as timestamps.
#[derive(Default)]
struct EventClocks {
    /// The events of each thread so far, with the engine's timestamps.
    made: HashMap<ThreadId, Vec<(u32, u32)>>,
    /// For each event so far, the last event of each thread that happened before it.
    known: Vec<HashMap<ThreadId, u32>>,
}

impl EventClocks {
    /// The events of other threads that happen before the next event, but not before its predecessor in program order, without
    /// those that another one implies.
    fn synchronises_with(&mut self, at: usize, event: &Event) -> Vec<u32> {
        let me = event.thread;
        let last = self.made.get(&me).and_then(|made| made.last());
        let mut known = last.map_or_else(HashMap::new, |&(last, _)| self.known[last as usize].clone());
        let mut new = Vec::new();
        let time = match &event.links.moment {
            Some((time, clock)) => {
                for (&thread, made) in self.made.iter().filter(|(thread, _)| **thread != me) {
                    let seen = clock.get(usize::from(thread)).copied().unwrap_or(0);
                    let before = made.partition_point(|&(_, time)| time <= seen);
                    let latest = made[..before].last().map(|&(event, _)| event);
                    if latest > known.get(&thread).copied() {
                        new.extend(latest.map(|latest| (thread, latest)));
                    }
                }
                *time
            }
            // An event without a clock has that of its predecessor in program order.
            None => last.map_or(0, |&(_, time)| time),
        };
        let implied = |&(thread, event): &(ThreadId, u32)| {
            new.iter().any(|&(other, by)| {
                other != thread && self.known[by as usize].get(&thread).is_some_and(|&known| known >= event)
            })
        };
        let mut edges: Vec<u32> = new.iter().filter(|edge| !implied(edge)).map(|&(_, event)| event).collect();
        edges.sort_unstable();
        known.extend(new);
        known.insert(me, at as u32);
        self.known.push(known);
        self.made.entry(me).or_default().push((at as u32, time));
        edges
    }
}

#[cfg(test)]
mod tests {
    use raddle_engine::op::Order;
    use raddle_engine::trace::{self, Action};
    use raddle_engine::weak_memory::Touched;

    use super::*;

    fn event(thread: ThreadId, address: usize, links: trace::Links) -> Event {
        let action = Action::Load { address, size: 4, order: Order::Relaxed, value: 0, newest: 0 };
        Event { thread, action, name: None, stack: Vec::new(), switch: None, links }
    }

    fn access(address: usize, read: Option<StoreId>, made: Option<[StoreId; 2]>) -> Event {
        let touched = Some(Touched { order: Order::Relaxed, read, made });
        event(0, address, trace::Links { touched, moment: None })
    }

    #[track_caller]
    fn check(events: Vec<Event>, expected: &[(Option<Write>, Option<Write>)]) {
        let mut trace = Trace::new(100, 0);
        trace.events = events;
        let found: Vec<_> =
            links(&trace).into_iter().map(|links| (links.reads_from, links.overwrites)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn numbers_of_stores_become_numbers_of_events() {
        use Write::*;
        check(
            vec![
                access(8, Some(1), None),
                access(8, None, Some([2, 1])),
                access(16, None, Some([4, 3])),
                access(8, Some(2), Some([5, 2])),
                access(8, Some(1), None),
            ],
            &[
                (Some(Initial), None),
                (None, Some(Initial)),
                (None, Some(Initial)),
                (Some(Event(1)), Some(Event(1))),
                (Some(Initial), None),
            ],
        );
    }

    /// A store inserted between two others becomes the predecessor of the second.
    #[test]
    fn modification_order_is_that_of_the_end() {
        use Write::*;
        check(
            vec![access(8, None, Some([2, 1])), access(8, None, Some([3, 2])), access(8, None, Some([4, 2]))],
            &[(None, Some(Initial)), (None, Some(Event(2))), (None, Some(Event(0)))],
        );
    }

    /// A value that no recorded store left comes from an uninstrumented write.
    #[test]
    fn what_nobody_wrote_is_unseen() {
        use Write::*;
        check(
            vec![access(8, None, Some([2, 1])), access(8, Some(7), None), access(8, None, Some([8, 7]))],
            &[(None, Some(Initial)), (Some(Unseen), None), (None, Some(Unseen))],
        );
    }

    #[test]
    fn only_the_latest_of_what_is_new_is_named() {
        let at = |thread: ThreadId, time: u32, clock: &[u32]| {
            let moment = Some((time, clock.to_vec()));
            event(thread, 8, trace::Links { touched: None, moment })
        };
        let mut trace = Trace::new(100, 0);
        trace.events = vec![
            at(0, 1, &[1, 0, 0]),
            at(0, 1, &[2, 0, 0]),
            // Knows both, names the second.
            at(1, 1, &[1, 1, 0]),
            at(1, 1, &[1, 2, 0]),
            // Happens after the first thread's event because of the second thread's.
            at(2, 1, &[1, 1, 1]),
            // Happens after more events than its predecessor in program order.
            at(0, 2, &[3, 0, 0]),
            at(2, 1, &[2, 1, 1]),
            at(2, 1, &[2, 1, 1]),
        ];
        let found: Vec<_> = links(&trace).into_iter().map(|links| links.synchronises_with).collect();
        let none = Vec::new;
        assert_eq!(found, [none(), none(), vec![1], none(), vec![3], none(), vec![5], none()]);
    }
}
