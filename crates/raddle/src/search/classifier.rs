//! Debug information for the engine: the site of a return address, and the name of a memory location.

use std::collections::HashMap;
use std::rc::Rc;

use raddle_engine::Config;
use raddle_engine::platform::unwind::CallFrame;
use raddle_engine::site::{Classify, Code, Exchange, Site};
use raddle_engine::trace::Namer;
use raddle_reflect::{Memory, Program};

use crate::suppress::matches;

/// The classifier of code by the program's debug information. Without debug information, all code is the user's.
pub(crate) fn classifier(config: &Config) -> impl FnOnce() -> Classify {
    || {
        let program = Program::current().ok();
        let marked = config.reference_counts.clone();
        Box::new(move |return_address| {
            let Some(program) = &program else { return Code::from(Site::User) };
            let is_marked = |name: &str| marked.iter().any(|pattern| matches(pattern, name));
            let return_address = return_address as u64;
            let exchange = match program.exchange(return_address) {
                raddle_reflect::Exchange::Strong => Exchange::Strong,
                raddle_reflect::Exchange::Weak => Exchange::Weak,
                raddle_reflect::Exchange::Repeated => Exchange::Repeated,
            };
            Code { site: site(program.classify_with(return_address, &is_marked)), exchange }
        })
    }
}

/// The site in the engine's terms. The engine does not depend on `raddle-reflect`.
fn site(site: raddle_reflect::Site) -> Site {
    match site {
        raddle_reflect::Site::User => Site::User,
        raddle_reflect::Site::Merged => Site::Merged,
        raddle_reflect::Site::Std => Site::Std,
        raddle_reflect::Site::ThreadBookkeeping => Site::ThreadBookkeeping,
        raddle_reflect::Site::ScopeEnd => Site::ScopeEnd,
        raddle_reflect::Site::IsFinished => Site::IsFinished,
        raddle_reflect::Site::RefCountUp => Site::RefCountUp,
        raddle_reflect::Site::RefCountDown => Site::RefCountDown,
        raddle_reflect::Site::WeakCountDown => Site::WeakCountDown,
        raddle_reflect::Site::ExpandedRmw(_) => Site::ExpandedRmw,
        raddle_reflect::Site::MutexLock => Site::MutexLock,
        raddle_reflect::Site::RwLockWait => Site::RwLockWait,
        raddle_reflect::Site::RwLockTry => Site::RwLockTry,
        raddle_reflect::Site::Plumbing => Site::Plumbing,
        raddle_reflect::Site::MarkedCount => Site::MarkedCount,
    }
}

/// The namer of memory locations by the program's debug information.
pub(crate) fn namer(program: Option<Rc<Program>>) -> Namer {
    let memory = Memory::own().ok();
    let mut known: HashMap<usize, String> = HashMap::new();
    Box::new(move |stack, address| {
        if let Some(name) = known.get(&address) {
            return Some(name.clone());
        }
        let program = program.as_ref()?;
        let local = |frame: &CallFrame| {
            let (pc, fp) = (frame.return_address as u64, frame.frame_pointer as u64);
            program.local_name_via(pc, fp, address as u64, |at| memory.as_ref()?.read(at))
        };
        let name = program.static_name(address as u64).or_else(|| stack.iter().find_map(local))?;
        known.insert(address, name.clone());
        Some(name)
    })
}
