//! The symbol table: names of functions without debug information, and of statics.
//!
//! The names of a program take megabytes, most of which nobody asks for: they stay in the file.

use crate::image::{Image, u16_at, u32_at, u64_at};

pub(crate) struct Symbols {
    functions: Places,
    objects: Places,
}

/// Where symbols of one kind are, by address. All else of a symbol stays in the file.
struct Places {
    lowest: u64,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The distance from the lowest address. A program of more than 4 GiB would be of a code model that Rust does not use.
    address: u32,
    /// The position in the table of symbols.
    index: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    size: u64,
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
const PIECE: usize = ENTRY << 9;

impl Symbols {
    pub(crate) fn read(image: &Image) -> Symbols {
        // Vectors that grow leave memory behind that nobody uses: the engine's arena gives none back.
        let (mut counts, mut lowest) = ([0; 2], [u64::MAX; 2]);
        each(image, |kind, _, symbol| {
            counts[kind as usize] += 1;
            lowest[kind as usize] = lowest[kind as usize].min(symbol.address);
        });
        let mut places = counts.map(Vec::with_capacity);
        each(image, |kind, index, symbol| {
            if let Ok(address) = u32::try_from(symbol.address - lowest[kind as usize]) {
                places[kind as usize].push(Place { address, index });
            }
        });
        places.iter_mut().for_each(|places| sort(places));
        let [objects, functions] = places;
        let [of_objects, of_functions] = lowest;
        Symbols {
            functions: Places { lowest: of_functions, places: functions },
            objects: Places { lowest: of_objects, places: objects },
        }
    }

    /// The address of an object whose name contains a text. There are few objects, so each name is read.
    pub(crate) fn find_object(image: &Image, text: &str) -> Option<u64> {
        let mut found = None;
        each(image, |kind, _, symbol| {
            if kind == Kind::Object && found.is_none() && symbol.name(image).contains(text) {
                found = Some(symbol.address);
            }
        });
        found
    }

    /// The function at an address; one without a size reaches to the next.
    pub(crate) fn function(&self, image: &Image, address: u64) -> Option<Symbol> {
        let of_size = |size: fn(u64) -> u64| self.functions.containing(image, address, size);
        of_size(|size| size.max(1)).or_else(|| of_size(|size| if size == 0 { 4096 } else { size }))
    }

    pub(crate) fn object(&self, image: &Image, address: u64) -> Option<Symbol> {
        self.objects.containing(image, address, |size| size)
    }
}

impl Places {
    fn containing(&self, image: &Image, address: u64, size: fn(u64) -> u64) -> Option<Symbol> {
        let distance = u32::try_from(address.checked_sub(self.lowest)?).ok()?;
        let after = self.places.partition_point(|place| place.address <= distance);
        // Aliases share an address: look at every one that begins where the nearest begins.
        let nearest = self.places[..after].last()?.address;
        self.places[..after]
            .iter()
            .rev()
            .take_while(|place| place.address == nearest)
            .filter_map(|place| {
                let entry = image.part(SYMBOLS, place.index as usize * ENTRY, ENTRY);
                (entry.len() == ENTRY).then(|| Symbol::of(&entry))
            })
            .find(|symbol| address - symbol.address < size(symbol.size))
    }
}

impl Symbol {
    fn of(entry: &[u8]) -> Symbol {
        Symbol { address: u64_at(entry, 8), size: u64_at(entry, 16), name: u32_at(entry, 0) }
    }

    pub(crate) fn name(self, image: &Image) -> String {
        image.text(NAMES, self.name as usize).unwrap_or_default()
    }
}

/// Visits the defined objects and functions with their positions, in the order of the table.
fn each(image: &Image, mut visit: impl FnMut(Kind, u32, Symbol)) {
    let mut index = 0;
    for piece in image.pieces(SYMBOLS, PIECE) {
        for entry in piece.chunks_exact(ENTRY) {
            let symbol = Symbol::of(entry);
            let defined = u16_at(entry, 6) != 0 && symbol.address != 0;
            match entry[4] & 0xf {
                1 if defined && symbol.size > 0 => visit(Kind::Object, index, symbol),
                2 if defined => visit(Kind::Function, index, symbol),
                _ => {}
            }
            index += 1;
        }
    }
}

/// Sorts places by address, where they are: first by the page, by counting. A general sort takes several milliseconds, because this library
/// is not well optimised, and programs have tens of thousands of symbols.
fn sort(places: &mut [Place]) {
    const PAGE: u32 = 12;
    let page = |place: &Place| (place.address >> PAGE) as usize;
    let pages = places.iter().map(page).max().map_or(0, |last| last + 1);
    if pages > 4 * places.len() {
        places.sort_unstable_by_key(|place| place.address);
        return;
    }
    // The ends of pages, then the positions of the first places that are not where they belong.
    let mut ends = vec![0; pages];
    for place in &*places {
        ends[page(place)] += 1;
    }
    let mut next = vec![0; pages];
    let mut before = 0;
    for (next, end) in next.iter_mut().zip(&mut ends) {
        *next = before;
        before += *end;
        *end = before;
    }
    let mut begin = 0;
    for this in 0..pages {
        while next[this] < ends[this] {
            let at = next[this];
            let other = page(&places[at]);
            if other != this {
                places.swap(at, next[other]);
            }
            next[other] += 1;
        }
        places[begin..ends[this]].sort_unstable_by_key(|place| place.address);
        begin = ends[this];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_sorted_by_address_wherever_they_are() {
        let mut random = 1u64;
        for (count, spread) in [(0, 1), (1, 1), (1000, 1), (1000, 300), (1000, 1 << 12), (1000, 1 << 22)] {
            let mut places: Vec<_> = (0..count)
                .map(|index| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    Place { address: ((random >> 20) % (spread * 1000)) as u32, index }
                })
                .collect();
            let mut expected: Vec<u32> = places.iter().map(|place| place.address).collect();
            expected.sort_unstable();
            sort(&mut places);
            assert!(places.iter().map(|place| place.address).eq(expected));
            let mut indices: Vec<u32> = places.iter().map(|place| place.index).collect();
            indices.sort_unstable();
            assert!(indices.into_iter().eq(0..count), "none is lost");
        }
    }
}
