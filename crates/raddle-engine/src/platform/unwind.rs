//! Call stacks, by the unwinder.

use std::ffi::{c_int, c_void};

use super::words::{hash_memory, mix};

/// A frame of a native call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFrame {
    /// The return address.
    pub return_address: usize,
    /// The frame pointer of the function there; zero if the function uses the register for something else.
    pub frame_pointer: usize,
}

/// A hash of everything that the function at the return address `pc` can depend on besides shared memory: its
/// callee-saved registers and the stack from its frame to the thread's beginning. None if its frame is not found.
pub(crate) fn machine_state(pc: usize, stack_top: usize) -> Option<u64> {
    struct Search {
        pc: usize,
        top: usize,
        hash: Option<u64>,
    }
    extern "C" fn visit(context: *mut c_void, search: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes the context of a live frame and the pointer given below.
        unsafe {
            let search = &mut *search.cast::<Search>();
            if _Unwind_GetIP(context) != search.pc {
                return CONTINUE;
            }
            // rbx, rbp, r12 to r15: the callee-saved registers.
            let registers = [3, 6, 12, 13, 14, 15].map(|register| _Unwind_GetGR(context, register) as u64);
            let frame = _Unwind_GetCFA(context);
            let hash = registers.into_iter().fold(frame as u64, mix);
            search.hash = Some(hash.wrapping_add(hash_memory(frame..search.top)));
        }
        STOP
    }
    let mut search = Search { pc, top: stack_top, hash: None };
    // SAFETY: the callback gets the search it expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut search).cast()) };
    search.hash
}

/// The call stack of the caller, innermost first, including the frames of this crate.
pub fn call_stack() -> Vec<CallFrame> {
    const DEEPEST: usize = 256;
    struct Found {
        frames: Vec<CallFrame>,
        /// Where the stack of the last frame ends.
        stack_pointer: usize,
    }
    extern "C" fn visit(context: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes the context of a live frame and the pointer given below.
        let (found, stack_pointer, frame) = unsafe {
            let frame = CallFrame {
                return_address: _Unwind_GetIP(context),
                frame_pointer: _Unwind_GetGR(context, 6),
            };
            (&mut *found.cast::<Found>(), _Unwind_GetCFA(context), frame)
        };
        // A frame pointer points into its frame, which lies between the stack pointers of the function and of its caller.
        if let Some(last) = found.frames.last_mut()
            && !(found.stack_pointer..stack_pointer).contains(&last.frame_pointer)
        {
            last.frame_pointer = 0;
        }
        found.stack_pointer = stack_pointer;
        found.frames.push(frame);
        if found.frames.len() < DEEPEST { CONTINUE } else { STOP }
    }
    let mut found = Found { frames: Vec::with_capacity(32), stack_pointer: 0 };
    // SAFETY: the callback gets what it expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut found).cast()) };
    // Nothing is above the outermost frame to compare with.
    if let Some(last) = found.frames.last_mut().filter(|last| last.frame_pointer < found.stack_pointer) {
        last.frame_pointer = 0;
    }
    found.frames
}

/// The return addresses of the caller, innermost first, as many as fit. Allocates nothing.
pub(crate) fn return_addresses(room: &mut [usize]) -> &[usize] {
    struct Found<'a> {
        room: &'a mut [usize],
        count: usize,
    }
    extern "C" fn visit(context: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes the context of a live frame and the pointer given below.
        unsafe {
            let found = &mut *found.cast::<Found<'_>>();
            let Some(slot) = found.room.get_mut(found.count) else { return STOP };
            *slot = _Unwind_GetIP(context);
            found.count += 1;
        }
        CONTINUE
    }
    let mut found = Found { room, count: 0 };
    // SAFETY: the callback gets what it expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut found).cast()) };
    let Found { room, count } = found;
    &room[..count]
}

/// The end of the outermost frame of the calling thread.
pub(crate) fn outermost_frame() -> usize {
    extern "C" fn visit(context: *mut c_void, end: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes the context of a live frame and the pointer given below.
        unsafe {
            let end = &mut *end.cast::<usize>();
            *end = (*end).max(_Unwind_GetCFA(context));
        }
        CONTINUE
    }
    let mut end = 0usize;
    // SAFETY: the callback gets the number it expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut end).cast()) };
    end
}

const CONTINUE: c_int = 0;
const STOP: c_int = 5;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetGR(context: *mut c_void, register: c_int) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}
