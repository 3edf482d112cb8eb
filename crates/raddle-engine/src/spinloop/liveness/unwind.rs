//! The frames of a stack and the extent of functions, as the unwinder knows them.

use std::ffi::{c_int, c_void};
use std::ptr;

/// A function that has been called and waits for the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Where it goes on.
    pub(super) ip: usize,
    /// The stack pointer there.
    pub(super) stack: usize,
    /// Where the table is that says what happens if its callees unwind.
    table: usize,
}

/// The frames of the current thread from the one that a call returns to at `ip` to the beginning of the thread.
pub(super) fn frames(ip: usize) -> Vec<Frame> {
    struct Walk {
        ip: usize,
        frames: Vec<Frame>,
    }
    extern "C" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes the context of a live frame and the pointer given below.
        unsafe {
            let walk = &mut *walk.cast::<Walk>();
            let ip = _Unwind_GetIP(context);
            if ip == walk.ip || !walk.frames.is_empty() {
                let table = _Unwind_GetLanguageSpecificData(context).addr();
                walk.frames.push(Frame { ip, stack: _Unwind_GetCFA(context), table });
            }
        }
        0
    }
    let mut walk = Walk { ip, frames: Vec::with_capacity(32) };
    // SAFETY: the callback gets the walk it expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
    walk.frames
}

/// The code of the function that goes on at a frame, its address, and where it lands when callees unwind.
pub(super) fn function_of(frame: &Frame) -> Option<(&'static [u8], usize, Pads)> {
    // The address before the one where a call returns to is part of it.
    let code = code_around(frame.ip - 1)?;
    let start = code.as_ptr().addr();
    Some((code, start, Pads::read(frame.table, start)?))
}

/// The code of the function that begins at an address.
pub(super) fn code_at(start: usize) -> Option<&'static [u8]> {
    code_around(start).filter(|code| code.as_ptr().addr() == start)
}

fn code_around(address: usize) -> Option<&'static [u8]> {
    let mut bases = Bases { text: ptr::null(), data: ptr::null(), function: ptr::null() };
    // SAFETY: the unwinder looks for the address in tables.
    let entry = unsafe { _Unwind_Find_FDE(ptr::without_provenance(address), &mut bases) };
    let start = bases.function.addr();
    if entry.is_null() || start == 0 {
        return None;
    }
    // SAFETY: an entry has a length, its distance to what it shares with others, and, as all compilers write it, the
    // function's distance and its length.
    let [_, _, distance, length] = unsafe { entry.cast::<[i32; 4]>().read_unaligned() };
    if entry.addr().wrapping_add(8).wrapping_add_signed(distance as isize) != start || length <= 0 {
        return None;
    }
    // SAFETY: the table says that code is there, and code stays.
    Some(unsafe { std::slice::from_raw_parts(bases.function.cast::<u8>(), length as usize) })
}

/// The function that goes on with unwinding, and does not return.
pub(super) fn resume() -> usize {
    _Unwind_Resume as *const () as usize
}

/// Where a function goes on when what it calls unwinds.
#[derive(Debug, Default)]
pub(super) struct Pads(Vec<(std::ops::Range<usize>, usize)>);

impl Pads {
    /// Reads a table of the kind that Rust and C++ share. None if it is of another kind.
    fn read(table: usize, function: usize) -> Option<Pads> {
        const OMITTED: u8 = 0xff;
        const UNSIGNED_LEB128: u8 = 0x01;
        const FOUR_BYTES: u8 = 0x03;
        if table == 0 {
            return Some(Pads::default());
        }
        let mut reader = Reader(ptr::with_exposed_provenance(table));
        if reader.byte() != OMITTED {
            return None;
        }
        if reader.byte() != OMITTED {
            reader.number();
        }
        let encoding = reader.byte();
        let length = reader.number();
        let end = reader.0.addr() + length;
        let mut pads = Vec::new();
        while reader.0.addr() < end {
            let mut field = || match encoding {
                UNSIGNED_LEB128 => Some(reader.number()),
                FOUR_BYTES => Some(u32::from_le_bytes([(); 4].map(|()| reader.byte())) as usize),
                _ => None,
            };
            let (start, length, pad) = (field()?, field()?, field()?);
            reader.number();
            if pad != 0 {
                pads.push((function + start..function + start + length, function + pad));
            }
        }
        Some(Pads(pads))
    }

    /// Where the function goes on when the call at `ip` unwinds.
    pub(super) fn of(&self, ip: u64) -> Option<usize> {
        self.0.iter().find(|(calls, _)| calls.contains(&(ip as usize))).map(|(_, pad)| *pad)
    }
}

/// Reads a table of the unwinder.
struct Reader(*const u8);

impl Reader {
    fn byte(&mut self) -> u8 {
        // SAFETY: the unwinder reads its table in the same way.
        unsafe {
            let byte = self.0.read();
            self.0 = self.0.add(1);
            byte
        }
    }

    /// A number of as many bytes as it needs.
    fn number(&mut self) -> usize {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return number;
            }
        }
    }
}

#[repr(C)]
struct Bases {
    text: *const c_void,
    data: *const c_void,
    function: *const c_void,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_Resume(exception: *mut c_void) -> !;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetLanguageSpecificData(context: *mut c_void) -> *mut c_void;
    fn _Unwind_Find_FDE(pc: *const c_void, bases: *mut Bases) -> *const u8;
}
