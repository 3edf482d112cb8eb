//! System calls, the FS base, and symbols of the C library: Linux on x86-64.

use std::ffi::{CStr, c_void};
use std::ptr;

/// The size of a page.
pub const PAGE: usize = 4096;

/// The base of the FS segment: the address of the running thread's control block.
#[inline(always)]
pub fn fs_base() -> usize {
    let base: usize;
    // SAFETY: the first word of a thread's control block is its own address (the ABI of thread-locals on x86-64).
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly)) };
    base
}

/// The way to change the FS base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsBase {
    /// The instruction `wrfsbase`.
    Instruction,
    /// The system call `arch_prctl`, where the kernel does not allow the instruction: before Linux 5.9, and in some sandboxes.
    SystemCall,
}

impl FsBase {
    /// The way that the kernel allows.
    pub fn of_kernel() -> FsBase {
        // SAFETY: a plain query.
        FsBase::of_capabilities(unsafe { libc::getauxval(libc::AT_HWCAP2) })
    }

    fn of_capabilities(hwcap2: u64) -> FsBase {
        const FSGSBASE: u64 = 1 << 1;
        if hwcap2 & FSGSBASE != 0 { FsBase::Instruction } else { FsBase::SystemCall }
    }

    /// Sets the FS base, which gives the running code the thread-locals of another thread.
    ///
    /// # Safety
    /// `self` must be the result of [`FsBase::of_kernel`], or the system call. `base` must be the FS base of a live,
    /// parked thread (see [`crate::platform::tls_donor`]) or the caller's own, and no reference to a thread-local may
    /// be held across the call.
    #[inline(always)]
    pub unsafe fn set(self, base: usize) {
        // SAFETY: the caller's.
        unsafe {
            match self {
                FsBase::Instruction => {
                    std::arch::asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags));
                }
                FsBase::SystemCall => {
                    const ARCH_SET_FS: i64 = 0x1002;
                    raw_syscall(libc::SYS_arch_prctl, [ARCH_SET_FS, base as i64, 0, 0, 0, 0]);
                }
            }
        }
    }
}

/// Restarts the program without address randomisation, so that all addresses are the same in every process. Returns if
/// it already was so started.
///
/// # Errors
/// If the system does not allow it.
pub fn fix_addresses() -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: affects only the program that the process executes next.
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

/// A system call that nothing intercepts. Returns the kernel's result: a negated error number on failure.
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
/// If the C library has no such symbol, and so is not one that Raddle supports.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fs_base_is_set_in_the_way_that_the_kernel_allows() {
        assert_eq!(FsBase::of_capabilities(0b10), FsBase::Instruction);
        assert_eq!(FsBase::of_capabilities(0b101), FsBase::SystemCall);
        thread_local! {
            static MINE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        for way in [FsBase::of_kernel(), FsBase::SystemCall] {
            MINE.set(1);
            let (mine, parked) = (fs_base(), std::sync::Barrier::new(2));
            std::thread::scope(|scope| {
                let (send, receive) = std::sync::mpsc::channel();
                let parked = &parked;
                scope.spawn(move || {
                    MINE.set(2);
                    send.send(fs_base()).unwrap();
                    parked.wait();
                });
                let other = receive.recv().unwrap();
                // SAFETY: the other thread waits.
                let seen = unsafe {
                    way.set(other);
                    let seen = std::hint::black_box(fs_base());
                    way.set(mine);
                    seen
                };
                assert_eq!(seen, other, "{way:?}");
                parked.wait();
            });
            assert_eq!(MINE.get(), 1);
        }
    }
}
