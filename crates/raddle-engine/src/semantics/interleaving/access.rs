//! Atomic accesses of interleavings, step by step: scheduling point, checks, memory model, effect, record, races, spinloops.

use crate::detect::fault::AccessKind;
use crate::execution::Engine;
use crate::op::{Caller, Effect, Int, Pending};
use crate::semantics::unobserved::access_of;
use crate::semantics::{AtomicKind, AtomicOp};
use crate::site::Site;
use crate::spinloop::watch::Read;

/// Makes an atomic access of the current thread; returns the value that it reads.
#[inline(always)]
pub(super) fn access<T: Int>(engine: &mut Engine, op: AtomicOp<T>) -> T {
    let location = op.memory_location();
    // The compiler expanded one read-modify-write into a loop that first reads without a callback. Only the first
    // attempt is a scheduling point; if the value was out of date, the second attempt follows at once and succeeds.
    let is_expanded = op.site == Site::ExpandedRmw && matches!(op.kind, AtomicKind::Cas { .. });
    let is_retry = is_expanded && std::mem::take(&mut engine.current().in_expanded_rmw);
    // 1. Others may go first.
    if !is_retry {
        engine.comes_to_access(&op);
        let effect = if matches!(op.kind, AtomicKind::Load) { Effect::Read } else { Effect::Write };
        engine.point(Pending { address: op.address(), effect });
    }
    // 2. The memory must be there.
    let time = engine.reach(location, op.access_kind());
    // SAFETY: the location is valid, and one OS thread runs all virtual threads, so that plain accesses are atomic; they are
    // volatile because the compiler must not move them over a switch.
    let newest = unsafe { op.location.read_volatile() };
    if let AtomicKind::Cas { expected, .. } = op.kind
        && is_expanded
        && newest != expected
    {
        engine.current().in_expanded_rmw = true;
        return newest;
    }
    // 3. The memory model decides which value the access reads, and whether its own is the newest.
    let (read, written) = values(engine, &op, newest);
    // 4. The effect.
    let newest_then = match op.kind {
        AtomicKind::Store(value) if written.is_some() => value,
        _ => newest,
    };
    if let Some(value) = written {
        engine.tell_debugger_before(|| op.action(read, newest_then));
        // SAFETY: as above.
        unsafe { op.location.write_volatile(value) };
    }
    // 5. The record.
    engine.record(|| op.action(read, newest_then));
    engine.hash_event(&op, read, written);
    // 6. Races.
    let kind = match op.kind {
        AtomicKind::Cas { .. } if written.is_none() => AccessKind::AtomicRead,
        _ => op.access_kind(),
    };
    engine.accessed(location, op.site, kind, op.caller, time);
    // 7. Spinloops: of this thread, and of those that wait for the value.
    match (op.kind, written) {
        (_, Some(value)) => wrote(engine, op.caller, op.address(), read, value),
        (AtomicKind::Store(_), None) => engine.current().spin.reset(),
        (_, None) => has_read(engine, op.caller, op.address(), read, newest),
    }
    read
}

/// The value that an access reads, and the new value of memory, if it changes.
#[inline(always)]
fn values<T: Int>(engine: &mut Engine, op: &AtomicOp<T>, newest: T) -> (T, Option<T>) {
    if !engine.keeps_clocks() {
        return (newest, op.written(newest));
    }
    let access = access_of(engine, op.site, op.location, op.order, newest);
    match op.kind {
        AtomicKind::Load => (T::narrow(engine.load_from_history(access)), None),
        AtomicKind::Store(value) => {
            let is_newest = engine.store_in_history(access, value.widen());
            (newest, is_newest.then_some(value))
        }
        AtomicKind::Rmw(rmw, operand) => {
            let written = newest.apply(rmw, operand);
            engine.rmw_in_history(access, written.widen());
            (newest, Some(written))
        }
        AtomicKind::Cas { expected, new, failure } => {
            let values = [expected.widen(), new.widen()];
            let read = T::narrow(engine.cas_in_history(access, failure, values));
            (read, (read == expected).then_some(new))
        }
    }
}

/// The current thread has read. A thread with a stale read does not spin: it will read a newer value.
#[inline(always)]
fn has_read<T: Int>(engine: &mut Engine, caller: Caller, address: usize, value: T, newest: T) {
    if value == newest {
        engine.has_read(Read { pc: caller.pc, address, value: value.widen() as u64 });
    } else {
        engine.current().spin.reset();
    }
}

/// The current thread has written. A write of the same value, such as the swap of a taken spin lock, counts as a read
/// for spinloops.
#[inline(always)]
fn wrote<T: Int>(engine: &mut Engine, caller: Caller, address: usize, before: T, after: T) {
    if before != after {
        engine.has_written(address);
    } else {
        engine.current().spin.wrote_the_same();
        engine.has_read(Read { pc: caller.pc, address, value: after.widen() as u64 });
    }
}
