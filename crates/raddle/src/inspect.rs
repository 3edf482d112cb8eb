//! Objects that show themselves in reports, instead of being shown by their fields.
//!
//! A view is called while the execution that a report is made of stands still, on the explorer's stack: what it does is no event. The
//! recorder of snapshots learns of a view by two messages, which go through the engine as objects that are introduced.
//! **Invariant:** the end is told before the view or its object goes away, and a view is not called after that.

use std::fmt::Debug;
use std::marker::PhantomData;

use crate::engine::execution::engine_of_virtual_thread;
use crate::engine::interface;
use crate::engine::trace::Introduced;

use crate::Test;
use crate::declarative::subject::{Anchor, anchor};

/// How an object is shown in reports, where its fields say too much or too little.
///
/// Without it, an object is shown by its fields, from debug information: nothing has to be written for that. Implement this for an
/// object whose fields do not say what it holds: slots that are claimed by bits of a word, pointers that are disguised as numbers.
///
/// ```
/// use std::fmt::Debug;
/// use std::sync::atomic::{AtomicU32, Ordering::{Relaxed, SeqCst}};
///
/// /// A set of small numbers: one bit each.
/// #[derive(Default)]
/// struct SmallSet(AtomicU32);
///
/// impl raddle::Inspect for SmallSet {
///     fn inspect(&self) -> impl Debug {
///         let bits = self.0.load(Relaxed);
///         (0..32).filter(|bit| bits >> bit & 1 == 1).collect::<Vec<u32>>()
///     }
/// }
///
/// #[raddle::test]
/// impl SmallSet {
///     #[operation]
///     fn insert(&self, #[arg(0..=2)] item: u32) -> bool {
///         self.0.fetch_or(1 << item, SeqCst) >> item & 1 == 0
///     }
/// }
/// ```
///
/// A test of the attribute [`test`](macro@crate::test) uses it if its type has it; [`Test::inspect`] gives a function to any other
/// test, and [`inspect`](fn@inspect) shows an object of a closure.
///
/// `inspect` is called after every event of the failing execution, from outside of its threads: what it does is no event and races with
/// nothing. An operation of another thread may be half done, as for any code that looks at the object meanwhile. It must change
/// nothing and must not wait: a lock may be held (`try_lock`). If it panics, the report says so and does not ask again.
pub trait Inspect {
    /// What is shown: anything that `Debug` prints. Fields, elements and entries stay apart, so that reports can say which of them
    /// changed.
    fn inspect(&self) -> impl Debug;
}

/// Calls a closure, and shows an object as it shows itself meanwhile, if a report is made.
///
/// ```
/// use std::fmt::Debug;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// struct Flags(AtomicU32);
///
/// impl raddle::Inspect for Flags {
///     fn inspect(&self) -> impl Debug {
///         format!("{:04b}", self.0.load(SeqCst))
///     }
/// }
///
/// raddle::explore(|| {
///     let flags = Flags(AtomicU32::new(0));
///     raddle::inspect(&flags, || {
///         std::thread::scope(|scope| {
///             scope.spawn(|| flags.0.fetch_or(1, SeqCst));
///             scope.spawn(|| flags.0.fetch_or(2, SeqCst));
///         });
///     });
///     assert_eq!(flags.0.into_inner(), 3);
/// });
/// ```
pub fn inspect<T: Inspect, R>(object: &T, work: impl FnOnce() -> R) -> R {
    let show = || format!("{:?}", object.inspect());
    let view = View {
        address: (&raw const *object).addr(),
        size: size_of::<T>(),
        anchor: anchor::<T>,
        prefers_fields: false,
        show: &show,
    };
    view.during(work)
}

/// An object that shows itself.
pub(crate) struct View<'a> {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// The anchor of the object's type.
    pub(crate) anchor: Anchor,
    /// Whether its fields are shown, if debug information knows them.
    pub(crate) prefers_fields: bool,
    /// The object as `Debug` prints it.
    pub(crate) show: &'a dyn Fn() -> String,
}

impl View<'_> {
    /// Calls a closure, during which the object shows itself.
    pub(crate) fn during<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Tells the end, whatever happens.
        struct End(usize);
        impl Drop for End {
            fn drop(&mut self) {
                tell(Introduced { address: self.0, anchor: Change::END });
            }
        }
        let address = std::ptr::from_ref(self).expose_provenance();
        tell(Introduced { address, anchor: Change::BEGIN });
        let _end = End(address);
        work()
    }
}

fn tell(message: Introduced) {
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: the engine runs and this is a virtual thread.
        unsafe { interface::introduce(engine, message) };
    }
}

/// What an introduced object means for views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The view at this address begins.
    Begin(usize),
    /// It ends.
    End(usize),
}

impl Change {
    // No function, which is what anchors are, is at these addresses.
    const BEGIN: usize = 1;
    const END: usize = 2;

    /// None for an object that is introduced by itself.
    pub(crate) fn of(introduced: Introduced) -> Option<Change> {
        match introduced.anchor {
            Change::BEGIN => Some(Change::Begin(introduced.address)),
            Change::END => Some(Change::End(introduced.address)),
            _ => None,
        }
    }
}

/// The object of a test that the attribute makes, asked how it can be shown: by the first of these traits that it has.
///
/// Method calls prefer fewer references taken away: `(&&&object).shown(test)` finds [`ByInspect`] if its type implements [`Inspect`],
/// else [`ByDebug`] if it implements `Debug`, else [`ByFields`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Showable<T>(PhantomData<T>);

impl<T> Showable<T> {
    #[allow(clippy::new_without_default, reason = "only the attribute calls it")]
    /// The object of a test.
    pub const fn new() -> Showable<T> {
        Showable(PhantomData)
    }
}

#[doc(hidden)]
pub trait ByInspect<T> {
    fn shown(&self, test: Test<T>) -> Test<T>;
}

impl<T: Inspect + Send + Sync + 'static> ByInspect<T> for &&Showable<T> {
    fn shown(&self, test: Test<T>) -> Test<T> {
        test.shown_by(|object| format!("{:?}", object.inspect()), false)
    }
}

#[doc(hidden)]
pub trait ByDebug<T> {
    fn shown(&self, test: Test<T>) -> Test<T>;
}

impl<T: Debug + Send + Sync + 'static> ByDebug<T> for &Showable<T> {
    fn shown(&self, test: Test<T>) -> Test<T> {
        test.debug()
    }
}

#[doc(hidden)]
pub trait ByFields<T> {
    fn shown(&self, test: Test<T>) -> Test<T>;
}

impl<T> ByFields<T> for Showable<T> {
    fn shown(&self, test: Test<T>) -> Test<T> {
        test
    }
}
