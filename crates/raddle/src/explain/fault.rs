//! Memory errors and data races in the terms of the report.

use raddle_engine::Outcome;
use raddle_engine::detect::fault::{Access, AccessKind, Fault};
use raddle_engine::isolate::heap;
use raddle_engine::trace::{Action, Event, Trace};
use raddle_report::Kind;
use raddle_report::failure::{self, Block, Did, FaultStep, Location};

use super::Explainer;

/// The class of a fault.
pub(super) fn kind(fault: &Fault) -> Kind {
    match fault {
        Fault::DataRace { .. } => Kind::DataRace,
        Fault::UseAfterFree { .. } => Kind::UseAfterFree,
        Fault::DoubleFree { .. } => Kind::DoubleFree,
        Fault::InvalidFree { .. } => Kind::InvalidFree,
        Fault::Leak { .. } => Kind::MemoryLeak,
    }
}

/// The message of a fault: one sentence.
pub(super) fn message(fault: &Fault, place: Option<&Location>) -> String {
    let name = place.and_then(|place| place.name.as_deref());
    match fault {
        Fault::DataRace { first, second, .. } => {
            let what = match name {
                _ if second.kind == AccessKind::Free => format!("a block of {}", bytes(second.size)),
                Some(name) => format!("`{name}`"),
                None => bytes(second.size.min(first.size)),
            };
            let (before, now) = (past(first.kind), present(second.kind));
            let (one, other) = (first.thread, second.thread);
            format!("T{other} {now} {what}, which T{one} {before}, and nothing orders the two")
        }
        Fault::UseAfterFree { access, block } => format!(
            "T{} {} {} at offset {} of a block of {}, which T{} has freed",
            access.thread,
            present(access.kind),
            bytes(access.size),
            access.address - block.start,
            bytes(block.size),
            block.freed_by.unwrap_or_default()
        ),
        Fault::DoubleFree { thread, block } => format!(
            "T{thread} frees a block of {} that T{} has freed already",
            bytes(block.size),
            block.freed_by.unwrap_or_default()
        ),
        Fault::InvalidFree { thread, address, block: Some(block) } => format!(
            "T{thread} frees {address:#x}, which lies {} within a block of {}",
            bytes(address - block.start),
            bytes(block.size)
        ),
        Fault::InvalidFree { thread, address, block: None } => {
            format!("T{thread} frees {address:#x}, which was never allocated")
        }
        Fault::Leak { blocks } => format!(
            "{} of {} in all {} not freed, and nothing refers to {} any more",
            if blocks.len() == 1 { "a block".to_owned() } else { format!("{} blocks", blocks.len()) },
            bytes(blocks.iter().map(|block| block.size).sum()),
            if blocks.len() == 1 { "was" } else { "were" },
            if blocks.len() == 1 { "it" } else { "them" },
        ),
    }
}

/// The position of an access among the recorded evidence.
#[derive(Clone, Copy)]
enum Position {
    /// The access may be the last piece of evidence.
    Last,
    /// The access precedes the last piece of evidence: it is the first of a data race.
    BeforeLast,
}

impl Explainer<'_> {
    /// The memory error or data race that ended the execution, if one did.
    pub(super) fn fault(&mut self, outcome: &Outcome, trace: &Trace) -> Option<failure::Fault> {
        let Outcome::Fault(fault) = outcome else { return None };
        Some(match fault {
            Fault::DataRace { first, second, block } => {
                let watched = fault.watch().bytes;
                let mut steps = Vec::new();
                steps.extend(block.as_ref().and_then(|block| self.allocation(trace, block)));
                steps.push(self.access(trace, first, Position::BeforeLast));
                steps.push(self.access(trace, second, Position::Last));
                let name = trace.evidence.iter().rev().find_map(|event| event.name.clone());
                let place =
                    Location { name, address: watched.start as u64, size: watched.len().min(255) as u8 };
                failure::Fault { place: Some(place), blocks: block.iter().map(of).collect(), steps }
            }
            Fault::UseAfterFree { access, block } => {
                let mut steps = self.life(trace, block);
                steps.push(self.access(trace, access, Position::Last));
                let (address, size) = (access.address as u64, access.size.min(255) as u8);
                let place = Location { name: None, address, size };
                failure::Fault { place: Some(place), blocks: vec![of(block)], steps }
            }
            Fault::DoubleFree { thread, block } => {
                let mut steps = self.life(trace, block);
                steps.push(self.last_free(trace, *thread, block.start, block.size));
                failure::Fault { place: None, blocks: vec![of(block)], steps }
            }
            Fault::InvalidFree { thread, address, block } => {
                let mut steps = Vec::new();
                steps.extend(block.as_ref().and_then(|block| self.allocation(trace, block)));
                steps.push(self.last_free(trace, *thread, *address, 0));
                failure::Fault { place: None, blocks: block.iter().map(of).collect(), steps }
            }
            Fault::Leak { blocks } => {
                let steps = blocks.iter().filter_map(|block| self.allocation(trace, block)).collect();
                failure::Fault { place: None, blocks: blocks.iter().map(of).collect(), steps }
            }
        })
    }

    /// The allocation and the free of a block.
    fn life(&mut self, trace: &Trace, block: &heap::Block) -> Vec<FaultStep> {
        let mut steps = Vec::from_iter(self.allocation(trace, block));
        let freed = |event: &&Event| event.action == Action::Free { address: block.start };
        if let Some(event) = trace.evidence.iter().find(freed) {
            steps.push(self.step(event, Did::Free, block.start, block.size));
        }
        steps
    }

    fn allocation(&mut self, trace: &Trace, block: &heap::Block) -> Option<FaultStep> {
        let allocates = |event: &&Event| matches!(event.action, Action::Allocate { address, .. } if address == block.start);
        let event = trace.evidence.iter().rev().find(allocates)?;
        Some(self.step(event, Did::Allocate, block.start, block.size))
    }

    fn last_free(&mut self, trace: &Trace, thread: u16, address: usize, size: usize) -> FaultStep {
        let event = trace.events.iter().rev().find(|event| event.action == Action::Free { address });
        let at = event.and_then(|event| self.stack(&event.stack));
        FaultStep { thread: thread.into(), did: Did::Free, address: address as u64, size: size as u64, at }
    }

    /// The step of an access: the latest recorded one of this kind by its thread.
    fn access(&mut self, trace: &Trace, access: &Access, position: Position) -> FaultStep {
        let did = did(access.kind);
        let is_it = |event: &&Event| {
            event.thread == access.thread
                && match event.action {
                    Action::Free { address } => access.kind == AccessKind::Free && address == access.address,
                    Action::Access { kind, .. } => kind == access.kind,
                    Action::Load { .. } => access.kind == AccessKind::AtomicRead,
                    Action::Cas { .. } => access.kind.is_atomic(),
                    Action::Store { .. } | Action::Rmw { .. } => access.kind == AccessKind::AtomicWrite,
                    _ => false,
                }
                && (access.kind == AccessKind::Free || event.action.overlaps(&access.bytes()))
        };
        let evidence = match position {
            Position::Last => &trace.evidence[..],
            Position::BeforeLast => &trace.evidence[..trace.evidence.len().saturating_sub(1)],
        };
        let event = evidence.iter().rev().find(is_it);
        // An access that could not be made is the last event of the trace.
        let event = event.or_else(|| trace.events.last().filter(is_it));
        let at = event.and_then(|event| self.stack(&event.stack));
        FaultStep {
            thread: access.thread.into(),
            did,
            address: access.address as u64,
            size: access.size as u64,
            at,
        }
    }

    fn step(&mut self, event: &Event, did: Did, address: usize, size: usize) -> FaultStep {
        let at = self.stack(&event.stack);
        FaultStep { thread: event.thread.into(), did, address: address as u64, size: size as u64, at }
    }
}

/// The report's term for a kind of access.
pub(super) fn did(kind: AccessKind) -> Did {
    match kind {
        AccessKind::Read => Did::Read,
        AccessKind::Write => Did::Write,
        AccessKind::AtomicRead => Did::AtomicRead,
        AccessKind::AtomicWrite => Did::AtomicWrite,
        AccessKind::Free => Did::Free,
    }
}

fn of(block: &heap::Block) -> Block {
    Block { address: block.start as u64, size: block.size as u64, holds: None }
}

fn present(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::AtomicRead => "atomically reads",
        AccessKind::AtomicWrite => "atomically writes",
        AccessKind::Free => "frees",
    }
}

fn past(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "wrote",
        AccessKind::AtomicRead => "read atomically",
        AccessKind::AtomicWrite => "wrote atomically",
        AccessKind::Free => "freed",
    }
}

fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}
