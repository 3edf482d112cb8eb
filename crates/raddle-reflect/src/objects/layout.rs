//! Types as debug information describes them: sizes, members, variants. Each type is read once, when a value of it is met.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use gimli::AttributeValue;

use super::rules::Rule;
use crate::Program;
use crate::dwarf::{Dwarf, Entry, Offset, Unit, number, reference};
use crate::types::Types;
use crate::units::UnitTable;

/// A type of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type(u32);

/// The position of a type in the debug information.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Entity {
    /// The unit, as an offset into `.debug_info`.
    pub(crate) unit: usize,
    pub(crate) entry: Offset,
}

/// The types that were met so far.
#[derive(Default)]
pub(super) struct Layouts {
    types: Vec<(Entity, Option<Rc<Layout>>)>,
    known: HashMap<Entity, Type>,
    /// The number of types that are being read because another one needs their size.
    depth: u32,
}

/// A type.
#[derive(Clone)]
pub(super) struct Layout {
    /// The name in the debug information, with paths of arguments but without the type's own.
    pub(super) name: String,
    /// The crate that declares the type; none for types without a path.
    pub(super) in_crate: Option<String>,
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) shape: Shape,
    /// The generic arguments.
    pub(super) arguments: Vec<Type>,
    pub(super) rule: Rule,
}

#[derive(Clone)]
pub(super) enum Shape {
    Bool,
    Char,
    Float,
    Signed,
    Unsigned,
    Pointer(Option<Type>),
    /// The code of a function.
    Function,
    Structure(Vec<Member>),
    Union(Vec<Member>),
    Enum {
        tag: Option<Tag>,
        variants: Vec<Variant>,
    },
    /// An enum whose variants have no fields.
    Names {
        names: Vec<(u64, String)>,
    },
    Array {
        of: Type,
        count: u64,
    },
    Unknown,
}

#[derive(Clone)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) of: Type,
}

/// The position of an enum's discriminant or niche.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) offset: u64,
    pub(super) size: u64,
}

#[derive(Clone)]
pub(super) struct Variant {
    /// The value of the tag; none for the variant that all other values belong to.
    pub(super) tag: Option<u64>,
    pub(super) name: String,
    pub(super) of: Type,
}

/// Depth limit of types whose size needs others: deeper than any that a person wrote; damaged information may form circles.
const DEPTH: u32 = 24;

impl Layouts {
    /// The type at a position of the debug information.
    pub(super) fn intern(&mut self, entity: Entity) -> Type {
        let next = Type(self.types.len() as u32);
        let of = *self.known.entry(entity).or_insert(next);
        if of == next {
            self.types.push((entity, None));
        }
        of
    }

    pub(super) fn entity(&self, of: Type) -> Entity {
        self.types[of.0 as usize].0
    }

    /// What is known about a type.
    pub(super) fn get(&mut self, program: &Program, of: Type) -> Rc<Layout> {
        let (entity, known) = &self.types[of.0 as usize];
        if let Some(layout) = known {
            return layout.clone();
        }
        let entity = *entity;
        if self.depth == DEPTH {
            return Rc::new(Layout::unknown());
        }
        self.depth += 1;
        let layout = Rc::new(self.read(program, entity).unwrap_or_else(Layout::unknown));
        self.depth -= 1;
        self.types[of.0 as usize].1 = Some(layout.clone());
        layout
    }

    fn read(&mut self, program: &Program, entity: Entity) -> Option<Layout> {
        let dwarf = program.dwarf();
        let table = program.table(&dwarf, entity.unit)?;
        let unit = table.unit(&dwarf).ok()?;
        Reader { layouts: self, program, dwarf: &dwarf, unit: &unit, table: &table }.layout(entity.entry)
    }
}

impl Layout {
    fn unknown() -> Layout {
        Layout {
            name: String::new(),
            in_crate: None,
            size: 0,
            align: 1,
            shape: Shape::Unknown,
            arguments: Vec::new(),
            rule: Rule::Plain,
        }
    }

    /// The members of a structure or union.
    pub(super) fn members(&self) -> &[Member] {
        match &self.shape {
            Shape::Structure(members) | Shape::Union(members) => members,
            _ => &[],
        }
    }

    /// The value behind reference counts.
    pub(super) fn counted(&self) -> Option<&Member> {
        self.member("data").or_else(|| self.member("value"))
    }

    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.name == name)
    }
}

/// Reads the entries of one unit.
struct Reader<'a, 'd> {
    layouts: &'a mut Layouts,
    program: &'a Program,
    dwarf: &'a Dwarf<'d>,
    unit: &'a Unit<'d>,
    table: &'a Arc<UnitTable>,
}

impl<'d> Reader<'_, 'd> {
    fn layout(&mut self, of: Offset) -> Option<Layout> {
        let entry = self.unit.entry(of).ok()?;
        let name = self.dwarf.text(self.unit, &entry, gimli::DW_AT_name).unwrap_or_default();
        let in_crate = self.table.crate_of(of).map(str::to_owned);
        let mut layout = Layout { name, in_crate, ..Layout::unknown() };
        layout.size = number(&entry, gimli::DW_AT_byte_size).unwrap_or(0);
        layout.align = number(&entry, gimli::DW_AT_alignment).unwrap_or(0);
        layout.shape = match entry.tag() {
            gimli::DW_TAG_base_type => base(entry.attr_value(gimli::DW_AT_encoding)),
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                layout.size = 8;
                match self.type_of(&entry) {
                    Some(to) if self.is_code(to) => Shape::Function,
                    to => Shape::Pointer(to),
                }
            }
            gimli::DW_TAG_subroutine_type => Shape::Function,
            gimli::DW_TAG_structure_type => self.structure(of, &mut layout.arguments),
            gimli::DW_TAG_union_type => match self.structure(of, &mut layout.arguments) {
                Shape::Structure(members) => Shape::Union(members),
                other => other,
            },
            gimli::DW_TAG_enumeration_type => Shape::Names { names: self.names(of) },
            gimli::DW_TAG_array_type => {
                let element = self.type_of(&entry)?;
                let count = Types { dwarf: self.dwarf, unit: self.unit, table: self.table }.count(of)?;
                let inner = self.layouts.get(self.program, element);
                (layout.size, layout.align) = (count.checked_mul(inner.size)?, inner.align);
                Shape::Array { of: element, count }
            }
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                let same = self.type_of(&entry)?;
                let inner = self.layouts.get(self.program, same);
                return Some((*inner).clone());
            }
            _ => Shape::Unknown,
        };
        if layout.align == 0 {
            layout.align = match layout.shape {
                Shape::Structure(_) | Shape::Union(_) | Shape::Unknown => 1,
                _ => layout.size.clamp(1, 16),
            };
        }
        if !layout.align.is_power_of_two() {
            layout.align = 1;
        }
        let owner = self.table.crate_of(of).unwrap_or_default();
        layout.rule = Rule::of(owner, &layout);
        Some(layout)
    }

    /// The type that an entry refers to.
    fn type_of(&mut self, entry: &Entry<'d>) -> Option<Type> {
        let entity = self.program.referred(self.table.offset, entry, gimli::DW_AT_type)?;
        Some(self.layouts.intern(entity))
    }

    fn is_code(&mut self, of: Type) -> bool {
        // The target may be the type that is being read, so only its kind is looked at.
        let entity = self.layouts.entity(of);
        let kind = |unit: &Unit<'_>| unit.entry(entity.entry).ok().map(|entry| entry.tag());
        let tag = if entity.unit == self.table.offset {
            kind(self.unit)
        } else {
            self.program.table(self.dwarf, entity.unit).and_then(|table| kind(&table.unit(self.dwarf).ok()?))
        };
        tag == Some(gimli::DW_TAG_subroutine_type)
    }

    /// The members of a structure, or the variants of an enum.
    fn structure(&mut self, of: Offset, arguments: &mut Vec<Type>) -> Shape {
        let mut members = Vec::new();
        let mut parts = None;
        for child in self.children(of) {
            match child.tag() {
                gimli::DW_TAG_member => members.extend(self.member(&child)),
                gimli::DW_TAG_variant_part => parts = Some(child.offset()),
                gimli::DW_TAG_template_type_parameter => {
                    arguments.extend(self.type_of(&child));
                }
                _ => {}
            }
        }
        match parts {
            Some(parts) => self.variants(parts),
            None => Shape::Structure(members),
        }
    }

    fn member(&mut self, entry: &Entry<'d>) -> Option<Member> {
        let name = self.dwarf.text(self.unit, entry, gimli::DW_AT_name).unwrap_or_default();
        let offset = number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
        Some(Member { name, offset, of: self.type_of(entry)? })
    }

    fn variants(&mut self, part: Offset) -> Shape {
        let tag = self.unit.entry(part).ok().and_then(|part| reference(&part, gimli::DW_AT_discr));
        let tag = tag.and_then(|tag| {
            let tag = self.unit.entry(tag).ok()?;
            let offset = number(&tag, gimli::DW_AT_data_member_location).unwrap_or(0);
            let of = self.type_of(&tag)?;
            Some(Tag { offset, size: self.layouts.get(self.program, of).size })
        });
        let mut variants = Vec::new();
        for child in self.children(part) {
            if child.tag() != gimli::DW_TAG_variant {
                continue;
            }
            let value = child.attr_value(gimli::DW_AT_discr_value);
            let value = value.and_then(|value| match value {
                AttributeValue::Sdata(value) => Some(value as u64),
                value => value.udata_value(),
            });
            for part in self.children(child.offset()) {
                if part.tag() == gimli::DW_TAG_member
                    && let Some(Member { name, of, .. }) = self.member(&part)
                {
                    variants.push(Variant { tag: value, name, of });
                }
            }
        }
        Shape::Enum { tag, variants }
    }

    fn names(&mut self, of: Offset) -> Vec<(u64, String)> {
        let mut names = Vec::new();
        for child in self.children(of) {
            let value = child.attr_value(gimli::DW_AT_const_value).and_then(|value| match value {
                AttributeValue::Sdata(value) => Some(value as u64),
                value => value.udata_value(),
            });
            let name = self.dwarf.text(self.unit, &child, gimli::DW_AT_name);
            names.extend(value.zip(name));
        }
        names
    }

    fn children(&self, of: Offset) -> Vec<Entry<'d>> {
        let mut children = Vec::new();
        Types { dwarf: self.dwarf, unit: self.unit, table: self.table }
            .for_children(of, |entry| children.push(entry.clone()));
        children
    }
}

fn base(encoding: Option<AttributeValue<crate::dwarf::Slice<'_>>>) -> Shape {
    let Some(AttributeValue::Encoding(encoding)) = encoding else { return Shape::Unknown };
    match encoding {
        gimli::DW_ATE_boolean => Shape::Bool,
        gimli::DW_ATE_float => Shape::Float,
        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Shape::Signed,
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char => Shape::Unsigned,
        gimli::DW_ATE_UTF => Shape::Char,
        _ => Shape::Unknown,
    }
}
