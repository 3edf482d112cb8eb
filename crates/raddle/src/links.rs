//! What the events of a trace have to do with each other: the engine's numbers of stores and its clocks become numbers of events.

use std::collections::HashMap;

use raddle_engine::memory::StoreId;
use raddle_engine::thread::ThreadId;
use raddle_engine::trace::{Event, Trace};
use raddle_report::failure::Write;

/// What one event has to do with others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) reads_from: Option<Write>,
    pub(crate) overwrites: Option<Write>,
    pub(crate) synchronises_with: Vec<u32>,
}

/// What each event of a trace has to do with others.
pub(crate) fn links(trace: &Trace) -> Vec<Links> {
    let stores = Stores::of(&trace.events);
    let mut ordered = Ordered::default();
    let links = trace.events.iter().enumerate().map(|(at, event)| {
        let touched = event.links.touched;
        Links {
            reads_from: touched.and_then(|touched| touched.read).map(|store| stores.write(store)),
            overwrites: touched.and_then(|touched| touched.made).map(|[store, _]| stores.before(store)),
            synchronises_with: ordered.next(at, event),
        }
    });
    links.collect()
}

/// The stores of a trace.
#[derive(Default)]
struct Stores {
    /// The events that made them.
    events: HashMap<StoreId, u32>,
    /// The stores to each place in modification order, with the address; a place begins anew where it was written unseen.
    places: Vec<(usize, Vec<StoreId>)>,
    /// Which of the places a store is to.
    place_of: HashMap<StoreId, usize>,
}

impl Stores {
    fn of(events: &[Event]) -> Stores {
        let mut stores = Stores::default();
        for (at, event) in events.iter().enumerate() {
            let (Some(touched), Some(address)) = (event.links.touched, event.action.address()) else {
                continue;
            };
            if let Some(read) = touched.read {
                stores.place(address, read);
            }
            if let Some([made, before]) = touched.made {
                let place = stores.place(address, before);
                let order = &mut stores.places[place].1;
                let rank =
                    order.iter().position(|&store| store == before).map_or(order.len(), |rank| rank + 1);
                order.insert(rank, made);
                stores.place_of.insert(made, place);
                stores.events.insert(made, at as u32);
            }
        }
        stores
    }

    /// The place of a store; a new one if nothing is known of the store.
    fn place(&mut self, address: usize, store: StoreId) -> usize {
        let Stores { places, place_of, .. } = self;
        *place_of.entry(store).or_insert_with(|| {
            places.push((address, vec![store]));
            places.len() - 1
        })
    }

    fn write(&self, store: StoreId) -> Write {
        match self.events.get(&store) {
            Some(&event) => Write::Event(event),
            None => {
                // What is found when an address is first accessed was there before.
                let place = self.place_of[&store];
                let address = self.places[place].0;
                match self.places[..place].iter().any(|(other, _)| *other == address) {
                    true => Write::Unseen,
                    false => Write::Initial,
                }
            }
        }
    }

    /// What comes before a store that an event made.
    fn before(&self, store: StoreId) -> Write {
        let order = &self.places[self.place_of[&store]].1;
        let rank = order.iter().position(|&other| other == store).expect("it is a store of its place");
        self.write(order[rank - 1])
    }
}

/// What of other threads each event knows, as events.
#[derive(Default)]
struct Ordered {
    /// The events of each thread so far, with their times.
    made: HashMap<ThreadId, Vec<(u32, u32)>>,
    /// For each event so far, the last event of each thread that happened before it.
    known: Vec<HashMap<ThreadId, u32>>,
}

impl Ordered {
    /// The events of other threads that the next event is the first of its thread to know of, without those that follow
    /// from others.
    fn next(&mut self, at: usize, event: &Event) -> Vec<u32> {
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
            // It knows what its thread knew.
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
    use raddle_engine::event::Order;
    use raddle_engine::memory::Touched;
    use raddle_engine::trace::{self, Action};

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

    /// A store that comes between two others changes what the second one overwrites.
    #[test]
    fn modification_order_is_that_of_the_end() {
        use Write::*;
        check(
            vec![access(8, None, Some([2, 1])), access(8, None, Some([3, 2])), access(8, None, Some([4, 2]))],
            &[(None, Some(Initial)), (None, Some(Event(2))), (None, Some(Event(0)))],
        );
    }

    /// A value that no event left where events had been is the work of something else.
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
            // Knows the first thread by way of the second.
            at(2, 1, &[1, 1, 1]),
            // Knows what its thread knew, and what came later.
            at(0, 2, &[3, 0, 0]),
            at(2, 1, &[2, 1, 1]),
            at(2, 1, &[2, 1, 1]),
        ];
        let found: Vec<_> = links(&trace).into_iter().map(|links| links.synchronises_with).collect();
        let none = Vec::new;
        assert_eq!(found, [none(), none(), vec![1], none(), vec![3], none(), vec![5], none()]);
    }
}
