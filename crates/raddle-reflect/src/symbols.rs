//! The symbol table: names of functions without debug information, and of statics.

use crate::image::{Image, text_at, u16_at, u32_at, u64_at};

pub(crate) struct Symbols {
    /// By address.
    functions: Vec<Symbol>,
    /// By address.
    objects: Vec<Symbol>,
    names: Vec<u8>,
}

#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    name: u32,
}

impl Symbols {
    pub(crate) fn read(image: &Image) -> Symbols {
        let (mut functions, mut objects) = (Vec::new(), Vec::new());
        for entry in image.section(".symtab").chunks_exact(24) {
            let symbol =
                Symbol { address: u64_at(entry, 8), size: u64_at(entry, 16), name: u32_at(entry, 0) };
            let defined = u16_at(entry, 6) != 0 && symbol.address != 0;
            match entry[4] & 0xf {
                1 if defined && symbol.size > 0 => objects.push(symbol),
                2 if defined => functions.push(symbol),
                _ => {}
            }
        }
        functions.sort_unstable_by_key(|s| s.address);
        objects.sort_unstable_by_key(|s| s.address);
        Symbols { functions, objects, names: image.section(".strtab") }
    }

    pub(crate) fn name(&self, symbol: Symbol) -> &str {
        text_at(&self.names, symbol.name as usize)
    }

    /// The function at an address; one without a size reaches to the next.
    pub(crate) fn function(&self, address: u64) -> Option<Symbol> {
        containing(&self.functions, address, |s| s.size.max(1))
            .or_else(|| containing(&self.functions, address, |s| if s.size == 0 { 4096 } else { s.size }))
    }

    pub(crate) fn object_named(&self, part: &str) -> Option<Symbol> {
        self.objects.iter().copied().find(|&symbol| self.name(symbol).contains(part))
    }

    pub(crate) fn object(&self, address: u64) -> Option<Symbol> {
        containing(&self.objects, address, |s| s.size)
    }
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
