//! The points of executions at which others begin, as far as the search decides: which are kept, and with which of them an
//! execution begins. What a point holds of the machine, the engine copies.

use std::any::Any;
use std::rc::Rc;

use super::refcounts;
use super::{Branch, ModelChecker};
use crate::graph::event::EventId;
use crate::graph::locations;

/// A point of an execution at which others can begin: those whose graphs begin with the same events.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// How many events there were.
    pub(crate) made: usize,
    places: locations::SoFar,
    counts: refcounts::SoFar,
    /// Everything else, which the engine copies; the search does not look at it.
    machine: Option<Box<dyn Any>>,
}

impl Checkpoint {
    /// What the engine has copied.
    pub(crate) fn machine<M: 'static>(&self) -> &M {
        let machine = self.machine.as_deref().and_then(<dyn Any>::downcast_ref);
        machine.expect("the engine copies everything into a checkpoint before it is kept")
    }

    /// Where the engine copies everything to: what an earlier copy left there is used again.
    pub(crate) fn machine_mut<M: Default + 'static>(&mut self) -> &mut M {
        let machine = self.machine.get_or_insert_with(|| Box::<M>::default());
        machine.downcast_mut().expect("one engine uses a search")
    }
}

/// At most so many are kept: each is about as large as the memory of an execution.
const MOST_KEPT: usize = if cfg!(debug_assertions) { 16 } else { 256 };

impl Branch {
    /// Whether the event can be made in another way.
    pub(crate) fn has_work_at(&self, id: EventId) -> bool {
        // The latest work is that on the latest events.
        self.work.last().is_some_and(|last| {
            last.at == id || last.at > id && self.work.binary_search_by_key(&id, |work| work.at).is_ok()
        })
    }

    /// How many points are kept that the frame below does not have.
    pub(crate) fn own_points(&self) -> usize {
        match self.same {
            usize::MAX => self.kept.len(),
            same => self.kept.iter().filter(|kept| kept.made > same).count(),
        }
    }

    /// Executions then make a few events again.
    pub(crate) fn forget_every_other_point(&mut self, spare: &mut Vec<Rc<Checkpoint>>) {
        let mut goes = false;
        let forgotten = self.kept.extract_if(.., |_| {
            goes = !goes;
            goes
        });
        spare.extend(forgotten.filter(|kept| Rc::strong_count(kept) == 1));
    }

    pub(crate) fn forget_points_beyond(&mut self, len: usize, spare: &mut Vec<Rc<Checkpoint>>) {
        while let Some(kept) = self.kept.pop_if(|kept| kept.made > len) {
            spare.extend(Some(kept).filter(|kept| Rc::strong_count(kept) == 1));
        }
    }
}

impl ModelChecker {
    /// Whether the event, which was just made, can be made in another way, so that executions will begin before it.
    pub(crate) fn is_branch(&self, id: EventId) -> bool {
        let frame = self.frames.last().expect("an execution has a graph");
        self.foreseen.is_none_or(|effect| effect < id)
            && (frame.same == id as usize || frame.has_work_at(id))
            && frame.kept.last().is_none_or(|kept| kept.made < id as usize)
    }

    /// A point that is not needed any more, to be made another.
    pub(crate) fn spare_point(&mut self) -> Rc<Checkpoint> {
        let all = || self.frames.iter().map(Branch::own_points).sum::<usize>();
        if self.spare_kept.is_empty() && all() >= MOST_KEPT {
            self.frames.iter_mut().for_each(|frame| frame.forget_every_other_point(&mut self.spare_kept));
        }
        self.spare_kept.pop().unwrap_or_default()
    }

    /// Keeps how everything stands before the latest event, which has this number, for executions that begin with the same ones.
    /// What is not known here is in the point already.
    pub(crate) fn keep(&mut self, id: EventId, mut point: Rc<Checkpoint>) {
        let kept = Rc::get_mut(&mut point).expect("it is spare");
        kept.made = id as usize;
        self.places.before_latest(&mut kept.places);
        kept.counts.clone_from(&self.references.so_far);
        for frame in self.frames.iter_mut().rev() {
            let at = frame.kept.partition_point(|other| other.made < point.made);
            if frame.kept.get(at).is_none_or(|other| other.made > point.made) {
                frame.kept.insert(at, Rc::clone(&point));
            }
            if point.made > frame.same {
                break;
            }
        }
    }

    /// Lets the execution, which has just begun, begin as late as possible: with the events that an earlier one had made at a
    /// point that was kept.
    pub(crate) fn take_up(&mut self) -> Option<Rc<Checkpoint>> {
        let kept = Rc::clone(self.frames.last()?.kept.last()?);
        self.made = kept.made;
        self.places.take_up(&kept.places);
        self.references.so_far.clone_from(&kept.counts);
        Some(kept)
    }

    /// Forgets the points that were kept: executions begin at the beginning.
    pub(crate) fn forget_kept(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.kept.clear());
    }
}
