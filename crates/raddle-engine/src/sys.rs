//! The few machine-level things that the engine needs from Linux on x86-64.

use std::ffi::{CStr, c_void};
use std::ptr;

/// The size of a page.
pub const PAGE: usize = 4096;

/// Reads the base of the FS segment: the address of the running thread's control block.
#[inline(always)]
pub fn fs_base() -> usize {
    let base: usize;
    // SAFETY: `supported` was checked before any exploration; the instruction only reads a register.
    unsafe { std::arch::asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// Gives the running code the thread-locals of another thread.
///
/// # Safety
/// `base` must be the FS base of a live, parked thread (see [`crate::lender`]) or the caller's own, and no reference to
/// a thread-local may be held across the call.
#[inline(always)]
pub unsafe fn set_fs_base(base: usize) {
    // SAFETY: the caller's.
    unsafe { std::arch::asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// Whether the kernel lets user code change the FS base (Linux 5.9 and later on processors that can).
pub fn fs_base_writable() -> bool {
    const HWCAP2_FSGSBASE: u64 = 1 << 1;
    // SAFETY: a plain query.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & HWCAP2_FSGSBASE != 0 }
}

/// Starts the program again so that everything lies at the same addresses in every process. Returns if it was.
///
/// # Errors
/// If the system does not allow it.
pub fn fix_addresses() -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: concerns nothing but what the process executes next.
    unsafe {
        let current = libc::personality(ASK);
        if current >= 0 && current & libc::ADDR_NO_RANDOMIZE != 0 {
            return Ok(());
        }
        if current < 0 || libc::personality((current | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) < 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    let error = std::process::Command::new(std::env::current_exe()?).args(std::env::args_os().skip(1)).exec();
    Err(error)
}

/// A system call, past every interception. Returns the kernel's answer: a negated error number on failure.
///
/// # Safety
/// As for the call itself.
#[inline]
pub unsafe fn raw_syscall(number: i64, args: [i64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the registers are those of the kernel's convention; memory effects are the caller's concern.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _, options(nostack)
        )
    };
    result
}

/// The next definition of a symbol after ours: the C library's.
///
/// # Panics
/// If the C library has no such symbol, which means that it is not one Raddle knows.
pub fn real_symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a look-up by a valid C string.
    let symbol = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(
        !symbol.is_null(),
        "raddle: the C library has no `{}`; only glibc is supported",
        name.to_string_lossy()
    );
    symbol
}

/// The type of the C library's `pthread_create`.
pub type PthreadCreate = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> std::ffi::c_int;

/// Reserves `len` bytes at exactly `address`, so that addresses are equal in every process; memory is committed as it is
/// touched.
///
/// # Panics
/// If the range is taken.
pub fn reserve(address: usize, len: usize) {
    // SAFETY: MAP_FIXED_NOREPLACE never replaces a mapping.
    let got = unsafe {
        libc::mmap(
            ptr::without_provenance_mut(address),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    assert!(
        got.addr() == address,
        "raddle: cannot reserve {len} bytes at {address:#x}: something else lives there or the address space is limited (ulimit -v)"
    );
}

/// Changes the protection of whole pages.
///
/// # Safety
/// The pages must be mapped, and code that relies on the old protection must be prepared for the new one.
pub unsafe fn protect(address: usize, len: usize, protection: i32) {
    // SAFETY: the caller's.
    let result = unsafe { libc::mprotect(ptr::without_provenance_mut(address), len, protection) };
    assert!(result == 0, "raddle: cannot change the protection of {len} bytes at {address:#x}");
}
