//! The reach of an exploration: its threads, the sites in the code that it reached, and how threads met there.

use std::fmt::{self, Display, Formatter};

/// What an exploration reached of the code under test.
///
/// A *site* is a place in the code that accesses an atomic or takes a lock. A site is *contended* if some memory that it accesses is
/// accessed by several threads: only such sites can behave in one way under one schedule and in another way under another.
/// Without instrumentation no site is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// The largest number of threads of an execution, that of the closure among them.
    pub threads: u32,
    /// The sites that were reached.
    pub sites: usize,
    /// The sites that several threads reached.
    pub shared: usize,
    /// The sites that are contended.
    pub contended: usize,
    /// The pairs of sites at which two threads accessed the same memory, one directly after the other.
    pub pairs: u64,
}

/// `3 threads, 9 sites, 2 of them never contended`
impl Display for Reach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        write!(f, "{} thread{}", self.threads, plural(self.threads as usize))?;
        match (self.sites, self.sites - self.contended) {
            (0, _) => write!(f, ", no atomic access and no lock"),
            (sites, 0) => write!(f, ", {sites} site{}", plural(sites)),
            (sites, alone) if alone == sites => write!(f, ", {sites} site{}, none contended", plural(sites)),
            (sites, alone) => write!(f, ", {sites} sites, {alone} of them never contended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_in_words() {
        let text =
            |threads, sites, contended| Reach { threads, sites, contended, ..Reach::default() }.to_string();
        assert_eq!(text(1, 0, 0), "1 thread, no atomic access and no lock");
        assert_eq!(text(2, 1, 1), "2 threads, 1 site");
        assert_eq!(text(2, 3, 0), "2 threads, 3 sites, none contended");
        assert_eq!(text(3, 9, 7), "3 threads, 9 sites, 2 of them never contended");
    }
}
