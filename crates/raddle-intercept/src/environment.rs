//! `setenv` and its relatives: an execution changes an environment of its own, because the C library would keep its
//! allocations for it.

use std::ffi::{CStr, c_char, c_int, c_void};

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface;
use raddle_engine::platform::sys;

#[unsafe(no_mangle)]
unsafe extern "C" fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    // SAFETY: the contract of `setenv`.
    unsafe {
        let Some(engine) = engine_of_virtual_thread() else {
            type Real = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
            let real = std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"setenv"));
            return real(name, value, overwrite);
        };
        let Some(name) = checked(name) else { return -1 };
        interface::set_variable(engine, name, Some(CStr::from_ptr(value).to_bytes()), overwrite != 0);
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the contract of `unsetenv`.
    unsafe {
        let Some(engine) = engine_of_virtual_thread() else {
            type Real = unsafe extern "C" fn(*const c_char) -> c_int;
            return std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"unsetenv"))(name);
        };
        let Some(name) = checked(name) else { return -1 };
        interface::set_variable(engine, name, None, true);
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn putenv(entry: *mut c_char) -> c_int {
    // SAFETY: the contract of `putenv`. The text is copied: later changes of it have no effect.
    unsafe {
        let Some(engine) = engine_of_virtual_thread() else {
            type Real = unsafe extern "C" fn(*mut c_char) -> c_int;
            return std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"putenv"))(entry);
        };
        let text = CStr::from_ptr(entry).to_bytes();
        match text.iter().position(|&byte| byte == b'=') {
            Some(end) => interface::set_variable(engine, &text[..end], Some(&text[end + 1..]), true),
            None => interface::set_variable(engine, text, None, true),
        }
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clearenv() -> c_int {
    // SAFETY: the contract of `clearenv`.
    unsafe {
        let Some(engine) = engine_of_virtual_thread() else {
            type Real = unsafe extern "C" fn() -> c_int;
            return std::mem::transmute::<*mut c_void, Real>(sys::real_symbol(c"clearenv"))();
        };
        interface::clear_variables(engine);
        0
    }
}

/// The name of a variable, if it can be one.
unsafe fn checked<'a>(name: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's: null or a C string.
    let text = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes());
    let text = text.filter(|text| !text.is_empty() && !text.contains(&b'='));
    if text.is_none() {
        // SAFETY: every thread has an `errno`.
        unsafe { *libc::__errno_location() = libc::EINVAL };
    }
    text
}
