//! POSIX threads: a virtual thread spawns, joins and detaches virtual threads.

use std::ffi::{CStr, c_char, c_int, c_void};

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface;
use raddle_engine::op::ThreadId;
use raddle_engine::platform::sys;
use raddle_engine::thread::{KeyDestructor, StartRoutine};

/// The handle of the virtual thread with number 0; no pointer that `pthread_create` returns lies there.
const HANDLES: libc::pthread_t = 0x7261_6464_0000;

fn handle(thread: ThreadId) -> libc::pthread_t {
    HANDLES + libc::pthread_t::from(thread)
}

fn thread_of(handle: libc::pthread_t) -> Option<ThreadId> {
    handle.checked_sub(HANDLES).and_then(|thread| ThreadId::try_from(thread).ok())
}

/// Calls the C library's definition of the enclosing function.
macro_rules! real {
    ($name:literal, fn($($type:ty),*) $(-> $result:ty)?, $($argument:expr),*) => {{
        type Real = unsafe extern "C" fn($($type),*) $(-> $result)?;
        let real = std::mem::transmute::<*mut c_void, Real>(sys::real_symbol($name));
        real($($argument),*)
    }};
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    out: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: StartRoutine,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the contract of `pthread_create`.
    unsafe {
        match engine_of_virtual_thread() {
            Some(engine) => {
                // The handle is written first: the new thread may run before this call returns.
                let thread = interface::spawn(engine, routine, argument, |thread| out.write(handle(thread)));
                debug_assert_eq!(thread_of(out.read()), Some(thread));
                0
            }
            None => real!(
                c"pthread_create",
                fn(*mut libc::pthread_t, *const libc::pthread_attr_t, StartRoutine, *mut c_void) -> c_int,
                out,
                attributes,
                routine,
                argument
            ),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    // SAFETY: the contract of `pthread_join`.
    unsafe {
        match (engine_of_virtual_thread(), thread_of(thread)) {
            (Some(engine), Some(thread)) => match interface::join(engine, thread) {
                Some(value) => {
                    if !result.is_null() {
                        result.write(value);
                    }
                    0
                }
                None => libc::ESRCH,
            },
            _ => real!(c"pthread_join", fn(libc::pthread_t, *mut *mut c_void) -> c_int, thread, result),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: libc::pthread_t) -> c_int {
    // SAFETY: the contract of `pthread_detach`.
    unsafe {
        match (engine_of_virtual_thread(), thread_of(thread)) {
            (Some(engine), Some(thread)) => {
                interface::detach(engine, thread);
                0
            }
            _ => real!(c"pthread_detach", fn(libc::pthread_t) -> c_int, thread),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: libc::pthread_t, name: *const c_char) -> c_int {
    // SAFETY: the contract of `pthread_setname_np`.
    unsafe {
        match engine_of_virtual_thread() {
            // std names a thread from within, where `pthread_self` is the TLS donor's.
            Some(engine) => {
                interface::name_thread(engine, &CStr::from_ptr(name).to_string_lossy());
                0
            }
            None => real!(c"pthread_setname_np", fn(libc::pthread_t, *const c_char) -> c_int, thread, name),
        }
    }
}

/// `pthread_getattr_np`: std asks for the bounds of a new thread's stack. The virtual thread's are at hand; asking the
/// kernel takes microseconds.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(
    thread: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    // SAFETY: the contract of `pthread_getattr_np`.
    unsafe {
        match engine_of_virtual_thread() {
            Some(engine) => {
                let (_, bottom, len) = interface::current_stack(engine);
                libc::pthread_attr_init(attributes);
                libc::pthread_attr_setstack(attributes, bottom as *mut c_void, len)
            }
            None => {
                real!(
                    c"pthread_getattr_np",
                    fn(libc::pthread_t, *mut libc::pthread_attr_t) -> c_int,
                    thread,
                    attributes
                )
            }
        }
    }
}

/// `sigaltstack`: std gives each thread an alternate signal stack unless it has one. A virtual thread shares its OS
/// thread's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: the contract of `sigaltstack`.
    unsafe {
        if engine_of_virtual_thread().is_some() {
            if !old.is_null() {
                old.write(libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 });
            }
            return 0;
        }
        real!(c"sigaltstack", fn(*const libc::stack_t, *mut libc::stack_t) -> c_int, new, old)
    }
}

/// Adds the caller, as the atomic accesses do.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    std::arch::naked_asm!("mov rdi, [rsp]", "jmp {}", sym sched_yield_from)
}

unsafe extern "C" fn sched_yield_from(pc: usize) -> c_int {
    // SAFETY: no arguments.
    unsafe {
        match engine_of_virtual_thread() {
            Some(engine) => interface::yield_now(engine, pc),
            None => _ = sys::raw_syscall(libc::SYS_sched_yield, [0; 6]),
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(
    key: *mut libc::pthread_key_t,
    destructor: Option<KeyDestructor>,
) -> c_int {
    // SAFETY: the contract of `pthread_key_create`.
    unsafe {
        if let Some(engine) = engine_of_virtual_thread() {
            key.write(interface::make_key(engine, destructor));
            return 0;
        }
        let error = real!(
            c"pthread_key_create",
            fn(*mut libc::pthread_key_t, Option<KeyDestructor>) -> c_int,
            key,
            destructor
        );
        if error == 0 {
            interface::note_key(key.read(), destructor);
        }
        error
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(key: libc::pthread_key_t) -> c_int {
    if engine_of_virtual_thread().is_some() {
        // Keys of the process outlive the execution; its own go with it.
        return 0;
    }
    interface::note_key(key, None);
    // SAFETY: the contract of `pthread_key_delete`.
    unsafe { real!(c"pthread_key_delete", fn(libc::pthread_key_t) -> c_int, key) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getspecific(key: libc::pthread_key_t) -> *mut c_void {
    // SAFETY: the contract of `pthread_getspecific`.
    unsafe {
        match engine_of_virtual_thread() {
            Some(engine) => interface::specific(engine, key),
            None => real!(c"pthread_getspecific", fn(libc::pthread_key_t) -> *mut c_void, key),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(key: libc::pthread_key_t, value: *const c_void) -> c_int {
    // SAFETY: the contract of `pthread_setspecific`.
    unsafe {
        match engine_of_virtual_thread() {
            Some(engine) => {
                interface::set_specific(engine, key, value.cast_mut());
                0
            }
            None => {
                real!(c"pthread_setspecific", fn(libc::pthread_key_t, *const c_void) -> c_int, key, value)
            }
        }
    }
}

/// The function by which std registers the destructors of thread-locals.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    destructor: unsafe extern "C" fn(*mut u8),
    object: *mut u8,
    library: *mut c_void,
) -> c_int {
    // SAFETY: the contract of `__cxa_thread_atexit_impl`.
    unsafe {
        match engine_of_virtual_thread() {
            Some(engine) => {
                interface::at_thread_exit(engine, (destructor, object));
                0
            }
            None => real!(
                c"__cxa_thread_atexit_impl",
                fn(unsafe extern "C" fn(*mut u8), *mut u8, *mut c_void) -> c_int,
                destructor,
                object,
                library
            ),
        }
    }
}
