//! Which types are not shown member by member: wrappers, pointers in disguise, locks and collections.
//!
//! Rules go by the crate and the name of a type, and each looks for the members that it needs: a version of a library that is
//! built otherwise is shown member by member.

use super::layout::{Layout, Member, Shape};

/// How values of a type are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// By its members.
    Plain,
    /// As its member of interest.
    Folded,
    /// As its only member, if there is only one with a size.
    Wrapper,
    AtomicBool,
    Vec,
    VecDeque,
    String,
    /// Bytes that are a name of the system.
    SystemString,
    /// A pointer to elements and their number.
    Slice,
    Str,
    /// A pointer and a table of methods.
    Dynamic,
    /// A pointer whose target is the first generic argument.
    Tagged,
    Mutex,
    RwLock,
    ParkingLotMutex,
    ParkingLotRwLock,
    Once,
    RefCell,
    HashTable,
    HashSet,
    BTreeMap,
    BTreeSet,
    Duration,
    /// A reference count and the counted value.
    Counted,
    Closure,
}

impl Rule {
    /// The rule of a type of some crate.
    pub(super) fn of(owner: &str, layout: &Layout) -> Rule {
        let base = base_name(&layout.name);
        let has = |names: &[&str]| names.iter().all(|name| layout.member(name).is_some());
        let is_std = matches!(owner, "core" | "alloc" | "std");
        match (owner, base) {
            ("alloc", "Vec") if has(&["buf", "len"]) => Rule::Vec,
            ("alloc", "VecDeque") if has(&["head", "len", "buf"]) => Rule::VecDeque,
            ("alloc", "String") if has(&["vec"]) => Rule::String,
            ("std", "Buf") if has(&["inner"]) => Rule::SystemString,
            ("alloc", "ArcInner" | "RcInner" | "RcBox") => Rule::Counted,
            ("alloc", "BTreeMap") if has(&["root", "length"]) => Rule::BTreeMap,
            ("alloc", "BTreeSet") if has(&["map"]) => Rule::BTreeSet,
            ("core", "AtomicBool") => Rule::AtomicBool,
            ("core", "RefCell") if has(&["value"]) => Rule::RefCell,
            ("core", "Duration") if has(&["secs", "nanos"]) => Rule::Duration,
            ("std", "Mutex") if has(&["inner", "poison", "data"]) => Rule::Mutex,
            ("std", "RwLock") if has(&["inner", "poison", "data"]) => Rule::RwLock,
            ("std", "OnceLock") if has(&["once", "value"]) => Rule::Once,
            ("std", "LazyLock") if has(&["once", "data"]) => Rule::Once,
            ("std", "HashSet") => Rule::HashSet,
            ("hashbrown", "HashSet") => Rule::HashSet,
            ("hashbrown", "RawTable") if has(&["table"]) => Rule::HashTable,
            ("hashbrown", "HashMap") if has(&["table"]) => Rule::Folded,
            ("std", "HashMap") if has(&["base"]) => Rule::Folded,
            ("lock_api", "Mutex") if has(&["raw", "data"]) => Rule::ParkingLotMutex,
            ("lock_api", "RwLock") if has(&["raw", "data"]) => Rule::ParkingLotRwLock,
            ("crossbeam_epoch", "Atomic" | "Shared" | "Owned") if has(&["data"]) => Rule::Tagged,
            (_, "CachePadded") => Rule::Folded,
            _ if has(&["data_ptr", "length"]) && layout.size == 16 => match is_str(&layout.name) {
                true => Rule::Str,
                false => Rule::Slice,
            },
            _ if has(&["pointer", "vtable"]) && layout.size == 16 => Rule::Dynamic,
            _ if base.starts_with("{closure_env") => Rule::Closure,
            _ if is_std || is_tuple(layout) => Rule::Wrapper,
            _ => Rule::Plain,
        }
    }
}

/// The member that a value is shown as, among the members that have a size.
pub(super) fn folded<'a>(layout: &Layout, sized: &[&'a Member]) -> Option<&'a Member> {
    const INTERESTING: [&str; 4] = ["value", "table", "base", "map"];
    match (layout.rule, sized) {
        (Rule::Wrapper | Rule::Folded, [only]) => Some(only),
        (Rule::Folded, several) => {
            several.iter().find(|member| INTERESTING.contains(&member.name.as_str())).copied()
        }
        _ => None,
    }
}

/// Whether a type is a structure whose fields have no names.
fn is_tuple(layout: &Layout) -> bool {
    matches!(layout.shape, Shape::Structure(_))
        && layout.members().iter().all(|member| member.name.starts_with("__"))
}

fn is_str(name: &str) -> bool {
    matches!(name, "&str" | "&mut str" | "*const str" | "*mut str")
        || name.starts_with("alloc::boxed::Box<str")
        || name.ends_with("Inner<str>")
        || name.ends_with("Inner<str>>")
}

/// A type's own name, without generic arguments.
pub(super) fn base_name(name: &str) -> &str {
    match name.find('<') {
        Some(0) | None => name,
        Some(at) => &name[..at],
    }
}
