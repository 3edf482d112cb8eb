//! The ends of processes and threads: `abort`, `exit`, panics, and functions registered to be called then.
//!
//! The C library keeps functions to be called at exit or fork in memory of its own, which is not rolled back. Those of
//! executions would accumulate, with dangling arguments. The process ends after the exploration, and nothing observes
//! the fork handlers of a test: so such functions are not registered.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::platform::sys;
use raddle_engine::{ThreadId, interface};

#[unsafe(no_mangle)]
unsafe extern "C" fn abort() -> ! {
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::end_process(engine, Some(libc::SIGABRT), 0) }
    }
    // SAFETY: the C library's function never returns.
    unsafe {
        let real = sys::real_symbol(c"abort");
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> !>(real)()
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn exit(code: c_int) -> ! {
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: a virtual thread of the running engine.
        unsafe { interface::end_process(engine, None, code) }
    }
    // SAFETY: the C library's function never returns.
    unsafe {
        let real = sys::real_symbol(c"exit");
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> !>(real)(code)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_atexit(
    function: *mut c_void,
    argument: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if engine_of_virtual_thread().is_some() {
        return 0;
    }
    type Real = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the contract of `__cxa_atexit`.
    unsafe {
        std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"__cxa_atexit"))(
            function, argument, library,
        )
    }
}

/// The copy of `atexit` in the C library's archive calls the former, too.
#[unsafe(no_mangle)]
unsafe extern "C" fn atexit(function: *mut c_void) -> c_int {
    // SAFETY: the contract of `atexit`; a function without arguments may be called with some.
    unsafe { __cxa_atexit(function, std::ptr::null_mut(), std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn on_exit(function: *mut c_void, argument: *mut c_void) -> c_int {
    if engine_of_virtual_thread().is_some() {
        return 0;
    }
    type Real = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    // SAFETY: the contract of `on_exit`.
    unsafe { std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"on_exit"))(function, argument) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __register_atfork(
    prepare: *mut c_void,
    parent: *mut c_void,
    child: *mut c_void,
    library: *mut c_void,
) -> c_int {
    if engine_of_virtual_thread().is_some() {
        return 0;
    }
    type Real = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the contract of `__register_atfork`.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"__register_atfork"));
        real(prepare, parent, child, library)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_atfork(prepare: *mut c_void, parent: *mut c_void, child: *mut c_void) -> c_int {
    // SAFETY: the contract of `pthread_atfork`.
    unsafe { __register_atfork(prepare, parent, child, std::ptr::null_mut()) }
}

/// Every Rust panic that unwinds comes through here. It ends its thread if only the outermost handler on the thread's
/// stack catches it, which is std's own or that of the exploration.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Unwind_RaiseException(exception: *mut c_void) -> c_int {
    // SAFETY: the contract of `_Unwind_RaiseException`, which is passed on.
    unsafe {
        if let Some(engine) = engine_of_virtual_thread()
            && handlers_on_stack(exception, interface::current_stack(engine)) <= OUTERMOST
        {
            interface::panic_ends_thread(engine);
        }
        let real = sys::real_symbol(c"_Unwind_RaiseException");
        std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(*mut c_void) -> c_int>(real)(exception)
    }
}

/// Number of handlers around the whole of a thread: the one that catches, and the guard of the C function in which
/// every thread begins.
const OUTERMOST: usize = 2;

/// Number of frames of the calling thread that would catch the exception, if inner ones did not.
unsafe fn handlers_on_stack(exception: *mut c_void, (_, bottom, len): (ThreadId, usize, usize)) -> usize {
    const SEARCH_PHASE: c_int = 1;
    const HANDLER_FOUND: c_int = 6;
    const STOP: c_int = 5;
    /// `MOZ\0RUST`, the class of Rust's exceptions.
    const RUST: u64 = 0x4d4f_5a00_5255_5354;

    struct Count {
        exception: *mut c_void,
        stack: Range<usize>,
        handlers: usize,
    }
    extern "C" fn visit(context: *mut c_void, count: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes the context of a live frame and the pointer given below. Frames without data for a
        // personality routine catch nothing.
        unsafe {
            let count = &mut *count.cast::<Count>();
            if !count.stack.contains(&_Unwind_GetCFA(context)) {
                return STOP;
            }
            if !_Unwind_GetLanguageSpecificData(context).is_null()
                && rust_eh_personality(1, SEARCH_PHASE, RUST, count.exception, context) == HANDLER_FOUND
            {
                count.handlers += 1;
            }
        }
        0
    }
    let mut count = Count { exception, stack: bottom..bottom + len, handlers: 0 };
    // SAFETY: the callback gets the pointer that it expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut count).cast()) };
    count.handlers
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetLanguageSpecificData(context: *mut c_void) -> *mut c_void;
    fn rust_eh_personality(
        version: c_int,
        actions: c_int,
        class: u64,
        exception: *mut c_void,
        context: *mut c_void,
    ) -> c_int;
}
