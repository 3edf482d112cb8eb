//! Classification of atomic accesses, by the functions around them.
//!
//! Most atomic accesses of a small program are not its author's: references are counted, threads are spawned and
//! joined. They are inlined into the author's functions (or are generic, and so compiled with them) and are
//! instrumented like everything else. Only the innermost frame that is not plumbing decides: further out everything is
//! called by some `std::thread` closure, the author's own code included.

use crate::names::{first_argument, members, owner, shorten};

/// The class of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The program's own synchronisation, or a library's on its behalf.
    User,
    /// Code that the compiler merged from several sources, so that nothing tells them apart.
    Merged,
    /// The synchronisation of the standard library on the program's behalf.
    Std,
    /// Bookkeeping of the standard library about threads: spawn, names, join. No program can tell its order.
    ThreadBookkeeping,
    /// The load of `JoinHandle::is_finished`.
    IsFinished,
    /// Bookkeeping, too: a scope checks whether its threads have ended.
    ScopeEnd,
    /// The increment of a reference count (`Arc`, `Weak`).
    RefCountUp,
    /// The decrement of a strong count. The last one drops the value.
    RefCountDown,
    /// The decrement of a weak count, by a `Weak` or by the last `Arc`. The last one frees the memory.
    WeakCountDown,
    /// Code that the caller of [`Program::classify_with`](crate::Program::classify_with) knows to count references.
    MarkedCount,
    /// The compare-exchange with which a `std::sync::Mutex` is locked, and which the thread repeats until it succeeds.
    MutexLock,
    /// Part of locking a `std::sync::RwLock` by a thread that waits until it can.
    RwLockWait,
    /// Part of an attempt to lock a `std::sync::RwLock`.
    RwLockTry,
    /// Part of a loop of loads and compare-exchanges into which one operation (`fetch_min`, ...) was expanded. Only
    /// meant for loads and compare-exchanges: an operation that was not expanded has the same address.
    ExpandedRmw(&'static str),
    /// Plumbing (`AtomicUsize::fetch_sub`, ...): the caller decides the class. Unoptimised code does not inline it; ask
    /// again with the return address of the enclosing function.
    Plumbing,
}

/// The strength of a compare-exchange, by the functions of the standard library around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// It fails only if the location does not hold the expected value; or it is no compare-exchange.
    Strong,
    /// It may fail although the location holds the expected value.
    Weak,
    /// It may fail spuriously, and the standard library then tries again (`fetch_update`, ...).
    Repeated,
}

/// The strength of a compare-exchange within functions of these paths, innermost first.
pub(crate) fn exchange(paths: impl Iterator<Item = String>) -> Exchange {
    let mut found = Exchange::Strong;
    for path in paths.take_while(|path| owner(path).starts_with("core::sync::atomic")) {
        match members(&path).last() {
            Some("compare_exchange_weak" | "atomic_compare_exchange_weak") => found = Exchange::Weak,
            Some("fetch_update" | "try_update" | "update") => return Exchange::Repeated,
            _ => {}
        }
    }
    found
}

/// One function around an access, inlined or not.
pub(crate) struct Around<'a> {
    /// The demangled linkage name: full path, generic arguments perhaps only as `T`.
    pub(crate) path: String,
    /// The name in the debug information, with its generic arguments.
    pub(crate) name: &'a str,
}

/// Classifies an access by the functions around it, innermost first. `is_marked` is called with paths of functions, and
/// of the type that is cloned or dropped.
pub(crate) fn classify<'a>(
    frames: impl IntoIterator<Item = Around<'a>>,
    is_marked: &dyn Fn(&str) -> bool,
) -> Site {
    for (depth, frame) in frames.into_iter().enumerate() {
        let owner = owner(&frame.path);
        if owner.starts_with("core::sync::atomic") {
            if let Some(operation) = expanded(&frame.path)
                && depth <= 1
            {
                return Site::ExpandedRmw(operation);
            }
        } else if owner.starts_with("alloc::sync::") || owner == "alloc::sync" {
            let role = members(&frame.path).find_map(counting);
            match role {
                // Joining reads a count, and so does `is_finished`: the caller decides.
                Some(Site::User) if pointee_is_of_thread(&frame) => {}
                Some(_) if pointee_is_of_thread(&frame) => return Site::ThreadBookkeeping,
                Some(Site::RefCountDown) if owner.starts_with("alloc::sync::Weak") => {
                    return Site::WeakCountDown;
                }
                Some(role) => return role,
                None => {}
            }
        } else if owner.starts_with("std::thread::") || owner == "std::thread" {
            match members(&frame.path).find_map(thread_role) {
                Some(ThreadRole::Asked) => return Site::Std,
                Some(ThreadRole::AskedForEnd) => return Site::IsFinished,
                Some(ThreadRole::Local) => {}
                None if members(&frame.path).last() == Some("scope") => return Site::ScopeEnd,
                None => return Site::ThreadBookkeeping,
            }
        } else if owner.starts_with("std::sys::sync::mutex::futex::Mutex") {
            return match members(&frame.path).last() {
                Some("lock") => Site::MutexLock,
                _ => Site::Std,
            };
        } else if owner.starts_with("std::sys::sync::rwlock::futex::RwLock") {
            return members(&frame.path).find_map(locking).unwrap_or(Site::Std);
        } else if owner.starts_with("std::sync::poison::Flag") {
            // Locking and unlocking read the flag while they hold the lock; only `is_poisoned` reads it without.
            if let Some("guard" | "done" | "borrow") = members(&frame.path).last() {
                return Site::ThreadBookkeeping;
            }
        } else if is_bookkeeping(owner) {
            return Site::ThreadBookkeeping;
        } else if !is_plumbing(owner) {
            let of_handle =
                || members(&frame.path).any(|member| member == "clone" || member.starts_with("drop"));
            return if is_marked(&shorten(&frame.path)) || (of_handle() && is_marked(owner)) {
                Site::MarkedCount
            } else if within(owner, "std") {
                Site::Std
            } else {
                Site::User
            };
        }
    }
    Site::Plumbing
}

/// Classifies an access by the function that was called and has not returned. None if that function only passes the
/// access on, so that its caller decides.
pub(crate) fn classify_tail_call(function: Around<'_>, is_marked: &dyn Fn(&str) -> bool) -> Option<Site> {
    // Other code is inlined into these: destructors into drop glue, closures into their callers.
    const HOLDS_OTHERS: [&str; 4] = ["core::ptr", "core::ops::function", "std::panic", "std::sys::backtrace"];
    let of_others = {
        let owner = owner(&function.path);
        !owner.contains("::") || HOLDS_OTHERS.iter().any(|module| within(owner, module))
    };
    match classify([function], is_marked) {
        Site::Plumbing if of_others => Some(Site::User),
        Site::Plumbing | Site::ExpandedRmw(_) => None,
        site => Some(site),
    }
}

fn expanded(path: &str) -> Option<&'static str> {
    Some(match path.rsplit("::").next()?.split('<').next()? {
        "atomic_min" | "atomic_umin" | "fetch_min" => "fetch_min",
        "atomic_max" | "atomic_umax" | "fetch_max" => "fetch_max",
        "atomic_nand" | "fetch_nand" => "fetch_nand",
        "atomic_and" | "fetch_and" => "fetch_and",
        "atomic_or" | "fetch_or" => "fetch_or",
        "atomic_xor" | "fetch_xor" => "fetch_xor",
        _ => return None,
    })
}

/// The effect of a method of `Arc` or `Weak` on the counts; none for methods without one.
fn counting(method: &str) -> Option<Site> {
    match method {
        "clone" | "downgrade" | "increment_strong_count" | "increment_strong_count_in" => {
            Some(Site::RefCountUp)
        }
        "drop" | "drop_slow" | "decrement_strong_count" | "decrement_strong_count_in" => {
            Some(Site::RefCountDown)
        }
        // These read a count and act on it.
        "upgrade" | "get_mut" | "try_unwrap" | "into_inner" | "unwrap_or_clone" | "make_mut"
        | "is_unique" | "strong_count" | "weak_count" => Some(Site::User),
        _ => None,
    }
}

/// The way in which a method of `RwLock` takes the lock; none for methods that do not.
fn locking(method: &str) -> Option<Site> {
    match method {
        "read" | "write" => Some(Site::RwLockWait),
        "try_read" | "try_write" => Some(Site::RwLockTry),
        _ => None,
    }
}

/// `Arc<std::thread::Packet<()>>` and the like: the thread's own data, shared by its handles.
fn pointee_is_of_thread(frame: &Around<'_>) -> bool {
    let of_thread = |pointee: &str| pointee.starts_with("std::thread::");
    first_argument(frame.name).is_some_and(of_thread)
        || frame
            .path
            .split_once("alloc::sync::")
            .and_then(|(_, rest)| first_argument(rest))
            .is_some_and(of_thread)
}

enum ThreadRole {
    /// The program asked for this: a token, or a question about another thread.
    Asked,
    /// The program asked whether a thread has ended.
    AskedForEnd,
    /// Thread-locals: a way into the program's own code.
    Local,
}

fn thread_role(member: &str) -> Option<ThreadRole> {
    match member {
        "park" | "park_timeout" | "park_timeout_ms" | "unpark" => Some(ThreadRole::Asked),
        "is_finished" => Some(ThreadRole::AskedForEnd),
        "local" | "LocalKey" | "with" | "try_with" => Some(ThreadRole::Local),
        _ => None,
    }
}

/// Parts of the standard library besides `std::thread` that keep accounts of threads: output capture, panic counts, who holds the
/// lock of a handle for output.
fn is_bookkeeping(owner: &str) -> bool {
    ["std::panicking", "std::io::stdio", "std::sync::reentrant_lock", "std::rt", "std::sys::thread"]
        .iter()
        .any(|module| within(owner, module))
}

/// Plumbing: code that only passes an access on.
fn is_plumbing(owner: &str) -> bool {
    // An unmangled or generated function without any path, such as a shim, tells nothing.
    !owner.contains("::")
        || within(owner, "core")
        || [
            "alloc::boxed",
            "alloc::vec",
            "alloc::rc",
            "std::panic",
            "std::sys::thread_local",
            "std::sys::backtrace",
        ]
        .iter()
        .any(|module| within(owner, module))
}

fn within(owner: &str, module: &str) -> bool {
    owner.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(frames: &[(&str, &str)], expected: Site) {
        let frames = frames.iter().map(|&(path, name)| Around { path: path.to_owned(), name });
        assert_eq!(classify(frames, &|name| name == "my::Handle" || name == "my::release"), expected);
    }

    const FETCH_SUB: (&str, &str) = ("core::sync::atomic::AtomicUsize::fetch_sub", "fetch_sub");
    const BODY: (&str, &str) = ("std::thread::Builder::spawn_unchecked_::{{closure}}", "{closure#1}<(), ()>");

    #[test]
    fn counts_are_told_from_what_is_counted() {
        let drop =
            ("<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop", "drop<my::Queue, alloc::Global>");
        check(&[FETCH_SUB, drop, ("my::main", "main")], Site::RefCountDown);
        check(&[FETCH_SUB, ("<my::Queue as core::ops::drop::Drop>::drop", "drop"), drop], Site::User);
        let weak =
            ("<alloc::sync::Weak<T,A> as core::ops::drop::Drop>::drop", "drop<my::Queue, alloc::Global>");
        check(&[FETCH_SUB, weak, drop, ("my::main", "main")], Site::WeakCountDown);
        check(&[("alloc::sync::Arc<T,A>::get_mut", "get_mut<u8>"), ("my::main", "main")], Site::User);
        check(&[("alloc::sync::Weak<T,A>::upgrade::{{closure}}", "{closure#0}<u8>")], Site::User);
    }

    #[test]
    fn the_data_of_threads_is_bookkeeping_unless_asked_for() {
        let count =
            ("alloc::sync::Arc<T,A>::strong_count", "strong_count<std::thread::Packet<()>, alloc::Global>");
        check(&[count, ("std::thread::JoinInner<T>::join", "join<()>")], Site::ThreadBookkeeping);
        check(&[count, ("std::thread::JoinHandle<T>::is_finished", "is_finished<()>")], Site::IsFinished);
        let v0 = "<alloc::sync::Arc<std::thread::Packet<()>> as core::ops::drop::Drop>::drop";
        check(&[FETCH_SUB, (v0, "drop"), ("my::main", "main")], Site::ThreadBookkeeping);
    }

    #[test]
    fn locking_a_mutex_is_told_from_trying_and_from_its_poison_flag() {
        let within = ("std::sync::poison::mutex::Mutex<T>::lock", "lock<u8>");
        check(&[("std::sys::sync::mutex::futex::Mutex::lock", "lock"), within], Site::MutexLock);
        check(&[("<std::sys::sync::mutex::futex::Mutex>::lock", "lock"), within], Site::MutexLock);
        check(&[("std::sys::sync::mutex::futex::Mutex::try_lock", "try_lock"), within], Site::Std);
        check(&[("std::sync::poison::Flag::guard", "guard"), within], Site::ThreadBookkeeping);
        let guard = "<std::sync::reentrant_lock::ReentrantLockGuard<T> as core::ops::drop::Drop>::drop";
        let guard = (guard, "drop<u8>");
        check(&[("std::sys::sync::mutex::futex::Mutex::unlock", "unlock"), guard], Site::Std);
        check(&[("std::sync::reentrant_lock::Tid::set", "set"), guard], Site::ThreadBookkeeping);
        let asked = ("std::sync::poison::mutex::Mutex<T>::is_poisoned", "is_poisoned<u8>");
        check(&[("std::sync::poison::Flag::get", "get"), asked], Site::Std);
    }

    #[test]
    fn locking_a_rwlock_is_told_from_trying_and_from_unlocking() {
        let check_function = |name: &'static str, expected| {
            let path = format!("std::sys::sync::rwlock::futex::RwLock::{name}");
            check(&[FETCH_SUB, (&path, name), ("my::main", "main")], expected);
        };
        check_function("read", Site::RwLockWait);
        check_function("write", Site::RwLockWait);
        check_function("try_read", Site::RwLockTry);
        check_function("try_write::{{closure}}", Site::RwLockTry);
        check_function("read_unlock", Site::Std);
        check_function("downgrade", Site::Std);
    }

    #[test]
    fn what_is_marked_counts_references() {
        let drop = ("<my::Handle<T> as core::ops::drop::Drop>::drop", "drop<u8>");
        check(&[FETCH_SUB, drop, ("my::main", "main")], Site::MarkedCount);
        check(&[FETCH_SUB, ("my::Handle<T>::drop_inner", "drop_inner<u8>")], Site::MarkedCount);
        check(&[FETCH_SUB, ("my::release", "release")], Site::MarkedCount);
        check(&[FETCH_SUB, ("my::Handle<T>::into_inner", "into_inner<u8>")], Site::User);
        check(&[FETCH_SUB, ("my::other", "other"), drop], Site::User);
    }

    #[test]
    fn only_the_innermost_frame_decides() {
        check(&[FETCH_SUB, ("my::work::{{closure}}", "{closure#0}"), BODY], Site::User);
        check(&[FETCH_SUB, BODY, ("my::main", "main")], Site::ThreadBookkeeping);
        check(&[FETCH_SUB], Site::Plumbing);
    }
}
