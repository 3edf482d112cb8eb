//! The symbol table: names of functions without debug information, and of statics.
//!
//! The names of a program take megabytes, most of which nobody asks for: they stay in the file.

use crate::image::{Image, u16_at, u32_at, u64_at};

pub(crate) struct Symbols {
    /// By address.
    functions: Vec<Symbol>,
    /// By address.
    objects: Vec<Symbol>,
}

#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The position in the table of names.
    name: u32,
}

/// The kind of a symbol that counts: one that is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Function,
}

const SYMBOLS: &str = ".symtab";
const NAMES: &str = ".strtab";

/// The size of an entry of the table, and of the pieces in which the table is read.
const ENTRY: usize = 24;
const PIECE: usize = ENTRY << 11;

impl Symbols {
    pub(crate) fn read(image: &Image) -> Symbols {
        // Vectors that grow leave memory behind that nobody uses: the engine's arena gives none back.
        let mut counts = [0; 2];
        each(image, |kind, _| counts[kind as usize] += 1);
        let [mut objects, mut functions] = counts.map(Vec::with_capacity);
        each(image, |kind, symbol| match kind {
            Kind::Object => objects.push(symbol),
            Kind::Function => functions.push(symbol),
        });
        Symbols { functions: by_address(functions), objects: by_address(objects) }
    }

    /// The address of an object whose name contains a text. There are few objects, so each name is read.
    pub(crate) fn find_object(image: &Image, text: &str) -> Option<u64> {
        let mut found = None;
        each(image, |kind, symbol| {
            if kind == Kind::Object && found.is_none() && symbol.name(image).contains(text) {
                found = Some(symbol.address);
            }
        });
        found
    }

    /// The function at an address; one without a size reaches to the next.
    pub(crate) fn function(&self, address: u64) -> Option<Symbol> {
        containing(&self.functions, address, |s| s.size.max(1))
            .or_else(|| containing(&self.functions, address, |s| if s.size == 0 { 4096 } else { s.size }))
    }

    pub(crate) fn object(&self, address: u64) -> Option<Symbol> {
        containing(&self.objects, address, |s| s.size)
    }
}

impl Symbol {
    pub(crate) fn name(self, image: &Image) -> String {
        image.text(NAMES, self.name as usize).unwrap_or_default()
    }
}

/// Visits the defined objects and functions, in the order of the table.
fn each(image: &Image, mut visit: impl FnMut(Kind, Symbol)) {
    for piece in image.pieces(SYMBOLS, PIECE) {
        for entry in piece.chunks_exact(ENTRY) {
            let symbol =
                Symbol { address: u64_at(entry, 8), size: u64_at(entry, 16), name: u32_at(entry, 0) };
            let defined = u16_at(entry, 6) != 0 && symbol.address != 0;
            match entry[4] & 0xf {
                1 if defined && symbol.size > 0 => visit(Kind::Object, symbol),
                2 if defined => visit(Kind::Function, symbol),
                _ => {}
            }
        }
    }
}

/// Sorts symbols by address: first by the page, by counting. A general sort takes several milliseconds, because this library is not well
/// optimised, and programs have tens of thousands of symbols.
fn by_address(symbols: Vec<Symbol>) -> Vec<Symbol> {
    const PAGE: u32 = 12;
    let Some(lowest) = symbols.iter().map(|symbol| symbol.address).min() else { return symbols };
    let page = |symbol: &Symbol| ((symbol.address - lowest) >> PAGE) as usize;
    let pages = symbols.iter().map(page).max().map_or(0, |last| last + 1);
    let mut sorted = symbols.clone();
    if pages <= 4 * symbols.len() {
        // The position of the next symbol of each page.
        let mut next = vec![0; pages];
        for symbol in &symbols {
            next[page(symbol)] += 1;
        }
        let mut before = 0;
        for next in &mut next {
            before += std::mem::replace(next, before);
        }
        for symbol in &symbols {
            let next = &mut next[page(symbol)];
            sorted[*next] = *symbol;
            *next += 1;
        }
        let mut begin = 0;
        for end in next {
            sorted[begin..end].sort_unstable_by_key(|symbol| symbol.address);
            begin = end;
        }
    } else {
        sorted.sort_unstable_by_key(|symbol| symbol.address);
    }
    sorted
}

fn containing(symbols: &[Symbol], address: u64, size: impl Fn(&Symbol) -> u64) -> Option<Symbol> {
    let after = symbols.partition_point(|s| s.address <= address);
    // Aliases share an address: look at every one that begins where the nearest begins.
    let nearest = symbols[..after].last()?.address;
    symbols[..after]
        .iter()
        .rev()
        .take_while(|s| s.address == nearest)
        .find(|s| address - s.address < size(s))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_sorted_by_address_wherever_they_are() {
        let mut address = 1u64;
        for (count, spread) in [(0, 1), (1, 1), (1000, 1), (1000, 300), (1000, 1 << 20), (1000, 1 << 40)] {
            let symbols: Vec<_> = (0..count)
                .map(|name| {
                    address = address.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    Symbol { address: (1 << 30) | ((address >> 20) % (spread * 1000)), size: 1, name }
                })
                .collect();
            let mut expected: Vec<u64> = symbols.iter().map(|symbol| symbol.address).collect();
            expected.sort_unstable();
            let sorted = by_address(symbols);
            assert!(sorted.iter().map(|symbol| symbol.address).eq(expected));
            let mut names: Vec<u32> = sorted.iter().map(|symbol| symbol.name).collect();
            names.sort_unstable();
            assert!(names.into_iter().eq(0..count), "none is lost");
        }
    }
}
