//! Frames of the stack, extents of functions and landing pads, from the tables of the unwinder.

use std::ffi::{c_int, c_void};
use std::ptr;

/// A frame of the stack: a function that waits for the return of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The return address of the call.
    pub(super) ip: usize,
    /// The stack pointer after the return.
    pub(super) stack: usize,
    /// The address of the function's exception table, or 0.
    table: usize,
}

/// The frames of the current thread, from the one with the return address `ip` to the outermost.
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
    // SAFETY: the callback gets a pointer to the walk, which outlives the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
    walk.frames
}

/// The code of a frame's function, its address and its landing pads.
pub(super) fn function_of(frame: &Frame) -> Option<(&'static [u8], usize, Pads)> {
    // The return address may be past the end of the function; the byte before it belongs to the call.
    let code = code_around(frame.ip - 1)?;
    let start = code.as_ptr().addr();
    Some((code, start, Pads::read(frame.table, start)?))
}

/// The code of the function that begins at an address.
pub(super) fn code_at(start: usize) -> Option<&'static [u8]> {
    code_around(start).filter(|code| code.as_ptr().addr() == start)
}

/// The code of the function around an address.
pub(super) fn code_around(address: usize) -> Option<&'static [u8]> {
    let mut bases = Bases { text: ptr::null(), data: ptr::null(), function: ptr::null() };
    // SAFETY: the unwinder only searches its tables for the address.
    let entry = unsafe { _Unwind_Find_FDE(ptr::without_provenance(address), &mut bases) };
    let start = bases.function.addr();
    if entry.is_null() || start == 0 {
        return None;
    }
    // SAFETY: an entry begins with its length, the distance to its common part and, in the encoding that all compilers use, the
    // function's distance and length.
    let [_, _, distance, length] = unsafe { entry.cast::<[i32; 4]>().read_unaligned() };
    if entry.addr().wrapping_add(8).wrapping_add_signed(distance as isize) != start || length <= 0 {
        return None;
    }
    // SAFETY: the table describes mapped code, which is never unmapped.
    Some(unsafe { std::slice::from_raw_parts(bases.function.cast::<u8>(), length as usize) })
}

/// The address of the function that continues unwinding. It does not return.
pub(super) fn resume() -> usize {
    _Unwind_Resume as *const () as usize
}

/// The landing pads of a function: for each range of calls the address at which the function continues if they unwind.
#[derive(Debug, Default)]
pub(super) struct Pads(Vec<(std::ops::Range<usize>, usize)>);

impl Pads {
    /// Reads an exception table in the format that Rust and C++ share. None if it has another format.
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

    /// The landing pad of the call at `ip`.
    pub(super) fn of(&self, ip: u64) -> Option<usize> {
        self.0.iter().find(|(calls, _)| calls.contains(&(ip as usize))).map(|(_, pad)| *pad)
    }
}

/// A reader of an exception table.
struct Reader(*const u8);

impl Reader {
    fn byte(&mut self) -> u8 {
        // SAFETY: the unwinder reads the same bytes of its table.
        unsafe {
            let byte = self.0.read();
            self.0 = self.0.add(1);
            byte
        }
    }

    /// An unsigned LEB128 number.
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
