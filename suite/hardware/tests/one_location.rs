//! One location: coherence, and atomicity of read-modify-writes. Every order forbids the weak outcomes.

use std::sync::atomic::Ordering::*;

use hardware::classics;

mod coherence {
    use super::*;

    classics! {
        /// Reads do not go back.
        of_two_reads: |s| { s.x.w(1, Relaxed); s.x.w(2, Relaxed) }, |s| (s.x.r(Relaxed), s.x.r(Relaxed)) => "2, 1", forbidden;
        /// A thread does not miss its own write.
        of_a_write_and_a_read: |s| { s.x.w(1, Relaxed); s.x.r(Relaxed) }, |s| s.x.w(2, Relaxed); arbiter |s| s.x.r(Relaxed) => "2, 1", forbidden;
        /// A write comes after the one that was read before it.
        of_a_read_and_a_write: |s| { let read = s.x.r(Relaxed); s.x.w(1, Relaxed); read }, |s| s.x.w(2, Relaxed);
            arbiter |s| s.x.r(Relaxed) => "2, 2", forbidden;
        /// Writes of one thread keep their order.
        of_two_writes: |s| { s.x.w(1, Relaxed); s.x.w(2, Relaxed) }, |s| s.x.r(Relaxed); arbiter |s| s.x.r(Relaxed) => "0, 1", forbidden;
        /// All agree on the order of two writes.
        of_two_readers: |s| s.x.w(1, Relaxed), |s| s.x.w(2, Relaxed), |s| (s.x.r(Relaxed), s.x.r(Relaxed)), |s| (s.x.r(Relaxed), s.x.r(Relaxed))
            => "1, 2, 2, 1", forbidden;
    }
}

mod atomicity {
    use super::*;

    classics! {
        of_additions: |s| s.x.0.fetch_add(1, Relaxed), |s| s.x.0.fetch_add(1, Relaxed); arbiter |s| s.x.r(Relaxed) => "0, 0, 1", forbidden;
        of_exchanges: |s| s.x.0.swap(1, Relaxed), |s| s.x.0.swap(2, Relaxed); arbiter |s| s.x.r(Relaxed) => "0, 0, 2", forbidden;
        of_compare_exchanges: |s| u32::from(s.x.0.compare_exchange(0, 1, Relaxed, Relaxed).is_ok()),
            |s| u32::from(s.x.0.compare_exchange(0, 2, Relaxed, Relaxed).is_ok()) => "1, 1", forbidden;
    }
}
