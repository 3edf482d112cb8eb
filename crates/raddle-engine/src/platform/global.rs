//! The state that every intercepted call reads first: whether the thread is part of an exploration.
//!
//! There are two pieces of state. [`ROLE`] is a thread-local: [`NO_ROLE`] on threads that have nothing to do with an
//! exploration, which then pay one load and one branch per intercepted call. [`GLOBAL`] holds the rest.
//!
//! **Invariant:** a mutable static of the engine fills pages of its own, because the pages of all other statics are rolled back
//! after each execution (see [`crate::isolate::pages`]).

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicUsize};

/// A destructor of a thread-specific value.
pub type KeyDestructor = unsafe extern "C" fn(*mut c_void);

/// The target of [`Global::current`] while no exploration runs.
pub(crate) static NO_THREAD: u16 = 0;

/// As many keys as glibc has (`PTHREAD_KEYS_MAX`).
pub(crate) const MAX_KEYS: usize = 1024;

/// The binary logarithm of the length of a line, in bytes.
pub const LINE: u32 = 6;

/// Number of distinguished lines.
pub const LINES: usize = 1 << 16;

/// The state of the process's exploration for intercepted calls and signal handlers.
#[repr(C, align(4096))]
#[allow(missing_debug_implementations, reason = "never printed")]
pub struct Global {
    /// Whether the engine's code runs, rather than the code under test. Decides where memory comes from.
    pub in_engine: Cell<bool>,
    /// Whether the exploring code is instrumented: set when its load of [`PROBE`] arrives.
    pub instrumented: Cell<bool>,
    /// Whether plain accesses are instrumented: set when the callback of its volatile read of [`PROBE`] arrives.
    pub announced: Cell<bool>,
    /// The callbacks of plain accesses that are of interest, while an exploration runs.
    pub wanted_announcements: Cell<Wanted>,
    /// The number of callbacks until one of them takes its call out of the code: see [`super::idle_calls`].
    pub until_taken_out: AtomicI32,
    /// For each line of stacks and thread-locals, by [`Global::line`]: whether another thread than the owner has
    /// accessed it.
    pub shared_lines: [Cell<bool>; LINES],
    /// Whether allocations are of interest: while data races are detected, or an execution is recorded.
    pub wants_allocations: Cell<bool>,
    /// Whether atomic accesses save their callers' registers: while the search is exhaustive.
    pub wants_registers: Cell<bool>,
    /// The end of the mapped heaps of executions.
    pub heaps_end: Cell<usize>,
    /// The registers of the caller of the latest atomic access.
    pub registers: Cell<Registers>,
    /// The latest callback of a plain access, until something else happens: to look at a repetition would tell nothing.
    pub last_announced: Cell<usize>,
    /// The latest volatile access, as the callback of a plain one, until that comes: code announces volatile accesses as both, one right
    /// after the other. 0 if there is none.
    pub volatile: Cell<usize>,
    /// The vector registers, which callbacks of plain accesses have to keep.
    pub vectors: Cell<Vectors>,
    /// Whether the next call of `park` is Raddle's own, which checks its condition again.
    pub own_park: Cell<bool>,
    /// Called by a signal handler, with the given argument, when an execution and its verdict exceed the time limit.
    pub overdue: Cell<Option<Overdue>>,
    /// The exploring OS thread, by its number in the kernel.
    pub(crate) explorer: AtomicU32,
    /// Called by a signal handler with the return addresses of the exploring thread, innermost first, when `cargo
    /// raddle` asks for them.
    pub tell_stack: Cell<Option<TellStack>>,
    /// Whether the user wants the search to end (Ctrl-C).
    pub(crate) interrupted: Cell<bool>,
    /// The engine of the running exploration, whose type this layer does not know; null if there is none.
    pub(crate) engine: Cell<*mut ()>,
    /// The address of the current thread's number.
    pub(crate) current: Cell<*const u16>,
    /// Whether unmanaged threads are held.
    pub(crate) unmanaged_held: AtomicU32,
    /// The lock of the turns of explorations: see [`crate::exploration::turn`].
    pub(crate) turn: AtomicU32,
    /// The thread whose turn it is, by its FS base, which a fork does not change.
    pub(crate) turn_of: AtomicUsize,
    /// How often that thread has taken its turn.
    pub(crate) turns: Cell<u32>,
    /// Destructors of the thread-specific keys that exist outside executions.
    pub(crate) key_destructors: [Cell<Option<KeyDestructor>>; MAX_KEYS],
    /// First address of the program's code.
    pub text_start: Cell<usize>,
    /// Length of the program's code.
    pub text_len: Cell<usize>,
    /// One byte per byte of code: the [`crate::site::Code`] of the call that returns there.
    pub sites: Cell<*mut u8>,
    /// One byte per byte of code, too: see [`crate::site::PlainAccessCounter`].
    pub looks: Cell<*mut u8>,
    /// One byte per byte of code, and further tables: see [`crate::coverage`].
    pub(crate) covered: Cell<*mut u8>,
    pub(crate) coverage: Cell<*mut c_void>,
    /// The instrumentation callbacks of plain accesses, which do not read the accessed memory.
    pub announcements: Cell<&'static [Announcements]>,
    /// The instrumentation callbacks of compare-exchanges.
    pub attempts: Cell<&'static [[unsafe extern "C" fn(); 3]]>,
    /// How often pages of files were given back: see [`crate::platform::file_pages`].
    pub(crate) given_back: AtomicU32,
}

/// Callbacks of plain accesses that are of interest. **Invariant:** machine code compares them as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Wanted {
    /// None: no exploration has begun. Calls are taken out of the code.
    Idle = 0,
    /// None: no exploration runs.
    Nothing = 1,
    /// Those to freed memory.
    Freed = 2,
    /// All.
    All = 3,
}

/// The vector registers of the processor. **Invariant:** machine code compares them as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Vectors {
    /// Nobody has looked yet.
    Unknown = 0,
    /// 16 of 16 bytes.
    Short = 1,
    /// More, or longer ones.
    Long = 2,
}

/// The callbacks of plain accesses to the address in one register.
#[derive(Clone, Copy, Debug)]
pub struct Announcements {
    /// The number of the register, as in machine code.
    pub register: u8,
    /// Callbacks for each kind and size. They change `r10`, `r11` and the flags only.
    pub callbacks: [unsafe extern "C" fn(); 10],
}

impl Global {
    /// The number of the line at an address. Lines with the same number share their state.
    #[inline(always)]
    pub const fn line(address: usize) -> usize {
        (address >> LINE) % LINES
    }
}

/// The registers of a function at a call: the stack pointer, and the callee-saved ones.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Registers {
    /// The stack pointer, after the call.
    pub rsp: usize,
    /// rbp, rbx, and r12 to r15.
    pub preserved: [usize; 6],
}

impl Registers {
    /// No registers saved.
    pub const EMPTY: Registers = Registers { rsp: 0, preserved: [0; 6] };
}

/// A receiver of return addresses.
pub type TellStack = fn(&[usize]);

/// A function and its argument.
pub type Overdue = (fn(usize), usize);

// SAFETY: the cells are written by the exploring OS thread only, while it holds the exploration lock, except for
// `instrumented` and `announced`, which only ever become true, and `announcements` and `attempts`, which are only ever
// set to one value.
unsafe impl Sync for Global {}

/// See [`Global`].
#[unsafe(link_section = ".raddle")]
pub static GLOBAL: Global = Global {
    in_engine: Cell::new(false),
    instrumented: Cell::new(false),
    announced: Cell::new(false),
    wanted_announcements: Cell::new(Wanted::Idle),
    until_taken_out: AtomicI32::new(0),
    shared_lines: [const { Cell::new(false) }; LINES],
    wants_allocations: Cell::new(false),
    wants_registers: Cell::new(false),
    heaps_end: Cell::new(0),
    registers: Cell::new(Registers::EMPTY),
    last_announced: Cell::new(0),
    volatile: Cell::new(0),
    vectors: Cell::new(Vectors::Unknown),
    own_park: Cell::new(false),
    overdue: Cell::new(None),
    explorer: AtomicU32::new(0),
    tell_stack: Cell::new(None),
    interrupted: Cell::new(false),
    engine: Cell::new(ptr::null_mut()),
    current: Cell::new(&raw const NO_THREAD),
    unmanaged_held: AtomicU32::new(0),
    turn: AtomicU32::new(0),
    turn_of: AtomicUsize::new(0),
    turns: Cell::new(0),
    key_destructors: [const { Cell::new(None) }; MAX_KEYS],
    text_start: Cell::new(0),
    text_len: Cell::new(0),
    sites: Cell::new(ptr::null_mut()),
    looks: Cell::new(ptr::null_mut()),
    covered: Cell::new(ptr::null_mut()),
    coverage: Cell::new(ptr::null_mut()),
    announcements: Cell::new(&[]),
    attempts: Cell::new(&[]),
    given_back: AtomicU32::new(0),
};

thread_local! {
    /// The role of the current thread: 0 none, 1 the exploring OS thread itself, 2 a virtual thread.
    pub static ROLE: Cell<u8> = const { Cell::new(NO_ROLE) };
}

/// [`ROLE`] of a thread outside every exploration.
pub const NO_ROLE: u8 = 0;
/// [`ROLE`] of the OS thread that explores, while the engine runs on it.
pub const EXPLORER: u8 = 1;
/// [`ROLE`] of a virtual thread.
pub const VIRTUAL: u8 = 2;

/// Loaded by code to find out whether it is instrumented.
pub static PROBE: AtomicU8 = AtomicU8::new(0);

/// Whether the caller is a virtual thread that runs code under test.
#[inline(always)]
pub fn is_virtual_thread() -> bool {
    ROLE.get() == VIRTUAL && !GLOBAL.in_engine.get()
}
