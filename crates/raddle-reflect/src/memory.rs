use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The memory of the running program, read through the system: an address that is not mapped is an answer, not a fault.
///
/// ```
/// let memory = raddle_reflect::Memory::own().unwrap();
/// let word = 42_u64;
/// assert_eq!(memory.read(&raw const word as u64), Some(42));
/// assert_eq!(memory.read(8), None);
/// ```
pub struct Memory(File);

impl Memory {
    /// Opens the running program's memory.
    pub fn own() -> io::Result<Memory> {
        File::open("/proc/self/mem").map(Memory)
    }

    /// The eight bytes at an address, if they can be read. Takes about a microsecond.
    pub fn read(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// Reads the bytes at an address; false if not all of them can be read.
    pub fn read_bytes(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.0.read_exact_at(bytes, address).is_ok()
    }
}
