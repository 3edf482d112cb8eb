//! The layout of the data in which `std::thread::scope` counts its threads.

use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread::{self, Scope};

use raddle_engine::interface::StdCall;

use crate::std_calls::{inner, parker};

/// Offsets of the parts, in bytes.
struct Layout {
    /// The number of running threads.
    count: usize,
    /// A handle of the thread that owns the scope.
    owner: usize,
    /// Whether a thread has panicked.
    panicked: usize,
}

/// The call by which a scope counts one thread more.
pub(crate) fn enter(scope: *mut u8) -> StdCall {
    let layout = layout();
    // SAFETY: the scope counts its threads there, and has a handle of its owner.
    unsafe {
        let owner = &*scope.add(layout.owner).cast();
        StdCall::EnterScope { count: scope.add(layout.count).cast(), parker: parker(owner).addr() }
    }
}

/// The call by which a scope counts one thread less, with whether it has panicked.
pub(crate) fn leave(scope: *mut u8, panics: bool) -> StdCall {
    let layout = layout();
    // SAFETY: as above.
    unsafe {
        let owner = &*scope.add(layout.owner).cast();
        StdCall::LeaveScope {
            count: scope.add(layout.count).cast(),
            parker: parker(owner).addr(),
            panicked: panics.then(|| scope.add(layout.panicked).cast()),
        }
    }
}

/// Finds the layout, before any exploration.
pub(crate) fn look() {
    layout();
}

fn layout() -> &'static Layout {
    static LAYOUT: OnceLock<Layout> = OnceLock::new();
    LAYOUT.get_or_init(|| find().expect("a scope has a number, a handle of its owner and a flag"))
}

fn find() -> Option<Layout> {
    const WORD: usize = size_of::<usize>();
    const { assert!(size_of::<Scope<'_, '_>>() == WORD, "a scope is a pointer") };
    let owner = inner(&thread::current()).addr();
    thread::scope(|scope| {
        // SAFETY: the pointer is that of an `Arc`: two counts come first, then three words.
        let words = unsafe { (*std::ptr::from_ref(scope).cast::<*const usize>()).add(2) };
        // SAFETY: as above.
        let read = || [0, 1, 2].map(|word| unsafe { words.add(word).read_volatile() });
        let before = read();
        let (send, receive) = channel::<()>();
        scope.spawn(move || receive.recv());
        let with_thread = read();
        drop(send);
        let count = (0..3).find(|&word| before[word] == 0 && with_thread[word] == 1)?;
        let owner = before.iter().position(|&word| word == owner)?;
        let panicked = (0..3).find(|&word| word != count && word != owner)?;
        Some(Layout { count: count * WORD, owner: owner * WORD, panicked: panicked * WORD })
    })
}
