//! Roots: the variable of the program that leads to a location.

use super::Space;
use super::layout::{Entity, Type};
use super::recorder::Recorder;
use super::rules::Rule;
use crate::dwarf::Offset;
use crate::function::At;
use crate::types::Types;
use crate::units::Part;
use crate::{Program, locals, names};

/// Pointers between a variable and its object: a reference to a handle to the object.
const POINTERS: u32 = 3;

/// A variable that leads to an object.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The address of the object.
    pub address: u64,
    /// The type of the object.
    pub of: Type,
    /// What the object lives as long as.
    pub owner: Owner,
    /// Whether the name is that of the type, because the variable is called `self`.
    pub is_poor: bool,
}

/// What an object lives as long as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The program, or the block of the heap that it lies in.
    Program,
    /// A call that is not known yet, if it lies on a stack.
    PerhapsStack,
    /// A call of a function.
    Frame {
        /// The thread of the call.
        thread: u32,
        /// The frame pointer of the call.
        frame_pointer: u64,
    },
}

/// A location, and the call stack of the access by which it was found: return addresses and frame pointers, innermost first.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The address.
    pub address: u64,
    /// The thread of the access.
    pub thread: u32,
    /// The call stack.
    pub stack: &'a [(u64, u64)],
}

/// A variable as debug information has it.
struct Candidate {
    name: String,
    entity: Entity,
    address: u64,
    frame: Option<u64>,
}

impl Recorder {
    pub(super) fn variable(
        &mut self,
        program: &Program,
        found: Found<'_>,
        space: &dyn Space,
    ) -> Option<Variable> {
        let mut read = |address: u64| {
            let mut bytes = [0; 8];
            space.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
        };
        let in_static = program.static_at(found.address);
        if in_static.as_ref().is_some_and(|(_, _, entity)| program.is_of_registry(entity.unit)) {
            return None;
        }
        let mut best = in_static.map(|(name, address, entity)| {
            let name = name.rsplit("::").next().unwrap_or(&name).to_owned();
            Candidate { name, entity, address, frame: None }
        });
        if best.is_none() {
            for &(return_address, frame_pointer) in found.stack {
                let candidates = program.candidates(return_address, frame_pointer, found.address, &mut read);
                for candidate in candidates {
                    // The outermost variable is the one that the test knows; `self` tells least.
                    if best.is_none() || candidate.name != "self" {
                        best = Some(candidate);
                    }
                }
            }
        }
        let Candidate { mut name, entity, mut address, frame } = best?;
        let mut of = self.layouts.intern(entity);
        let layout = self.layouts.get(program, of);
        if layout.rule == Rule::Counted
            && let Some(data) = layout.counted()
        {
            (address, of) = (address.wrapping_add(data.offset), data.of);
        }
        let is_poor = name == "self";
        if is_poor {
            name = super::names::of_value(&self.layouts.get(program, of).name);
        }
        let owner = match frame {
            Some(frame_pointer) => Owner::Frame { thread: found.thread, frame_pointer },
            None => Owner::PerhapsStack,
        };
        Some(Variable { name, address, of, owner, is_poor })
    }
}

impl Program {
    /// The variables of a call that hold a location, or lead to it.
    fn candidates(
        &self,
        return_address: u64,
        frame_pointer: u64,
        address: u64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Vec<Candidate> {
        let Some(code) = self.in_file(return_address) else { return Vec::new() };
        let candidates = self.at(code, |at| {
            if is_foreign(at) {
                return Vec::new();
            }
            let Ok(unit) = at.table.unit(at.dwarf) else { return Vec::new() };
            let types = Types { dwarf: at.dwarf, unit: &unit, table: at.table };
            let entity = |entry: Offset| Entity { unit: at.table.offset, entry };
            let mut candidates = Vec::new();
            for local in locals::in_scope(&types, at.function.start, code).into_iter().rev() {
                let Some(base) = local.address(frame_pointer, &mut *read) else { continue };
                let inside =
                    address.checked_sub(base).is_some_and(|at| at < types.size(local.of).unwrap_or(0));
                let (target, of) = if inside {
                    (base, local.of)
                } else if types.path_via(local.of, base, address, read).is_some() {
                    let Some(target) = types.target(local.of, base, read, POINTERS) else { continue };
                    target
                } else {
                    continue;
                };
                let frame = (inside && local.is_in_frame()).then_some(frame_pointer);
                candidates.push(Candidate { name: local.name, entity: entity(of), address: target, frame });
            }
            candidates
        });
        candidates.unwrap_or_default()
    }
}

/// Whether a function is Raddle's own, or that of a dependency: the user does not know its variables.
fn is_foreign(at: &At<'_, '_>) -> bool {
    let path = at.chain().pop().map(|call| call.path()).unwrap_or_default();
    let of = names::owner(&path).split("::").next().unwrap_or_default();
    Part::of_crate(of) == Some(Part::Raddle) || at.is_of_registry()
}
