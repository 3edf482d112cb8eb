//! Three and four threads: causality, and whether all see writes in the same order.

use std::sync::atomic::Ordering::*;
use std::sync::atomic::fence;

use hardware::classics;

/// IRIW: two readers see two independent writes in opposite orders.
mod independent_reads {
    use super::*;

    classics! {
        relaxed: |s| s.x.w(1, Relaxed), |s| s.y.w(1, Relaxed), |s| (s.x.r(Relaxed), s.y.r(Relaxed)), |s| (s.y.r(Relaxed), s.x.r(Relaxed))
            => "1, 0, 1, 0", allowed;
        release_acquire: |s| s.x.w(1, Release), |s| s.y.w(1, Release), |s| (s.x.r(Acquire), s.y.r(Acquire)), |s| (s.y.r(Acquire), s.x.r(Acquire))
            => "1, 0, 1, 0", allowed;
        sequentially_consistent: |s| s.x.w(1, SeqCst), |s| s.y.w(1, SeqCst), |s| (s.x.r(SeqCst), s.y.r(SeqCst)), |s| (s.y.r(SeqCst), s.x.r(SeqCst))
            => "1, 0, 1, 0", forbidden;
        fences: |s| s.x.w(1, Relaxed), |s| s.y.w(1, Relaxed),
            |s| { let x = s.x.r(Relaxed); fence(SeqCst); (x, s.y.r(Relaxed)) }, |s| { let y = s.y.r(Relaxed); fence(SeqCst); (y, s.x.r(Relaxed)) }
            => "1, 0, 1, 0", forbidden;
    }
}

/// WRC: a message that is handed on.
mod write_to_read_causality {
    use super::*;

    classics! {
        relaxed: |s| s.x.w(1, Relaxed), |s| { let x = s.x.r(Relaxed); s.y.w(1, Relaxed); x }, |s| (s.y.r(Relaxed), s.x.r(Relaxed)) => "1, 1, 0", allowed;
        release_acquire: |s| s.x.w(1, Release), |s| { let x = s.x.r(Acquire); s.y.w(1, Release); x }, |s| (s.y.r(Acquire), s.x.r(Relaxed)) => "1, 1, 0", forbidden;
    }
}

/// ISA2: message passing through a third thread.
mod isa2 {
    use super::*;

    classics! {
        relaxed: |s| { s.x.w(1, Relaxed); s.y.w(1, Relaxed) }, |s| { let y = s.y.r(Relaxed); s.z.w(1, Relaxed); y }, |s| (s.z.r(Relaxed), s.x.r(Relaxed))
            => "1, 1, 0", allowed;
        release_acquire: |s| { s.x.w(1, Relaxed); s.y.w(1, Release) }, |s| { let y = s.y.r(Acquire); s.z.w(1, Release); y }, |s| (s.z.r(Acquire), s.x.r(Relaxed))
            => "1, 1, 0", forbidden;
    }
}

/// RWC: a read against a write that another thread has not seen yet.
mod read_to_write_causality {
    use super::*;

    classics! {
        relaxed: |s| s.x.w(1, Relaxed), |s| (s.x.r(Relaxed), s.y.r(Relaxed)), |s| { s.y.w(1, Relaxed); s.x.r(Relaxed) } => "1, 0, 0", allowed;
        release_acquire: |s| s.x.w(1, Release), |s| (s.x.r(Acquire), s.y.r(Acquire)), |s| { s.y.w(1, Release); s.x.r(Acquire) } => "1, 0, 0", allowed;
        sequentially_consistent: |s| s.x.w(1, SeqCst), |s| (s.x.r(SeqCst), s.y.r(SeqCst)), |s| { s.y.w(1, SeqCst); s.x.r(SeqCst) } => "1, 0, 0", forbidden;
        fences: |s| s.x.w(1, Relaxed), |s| { let x = s.x.r(Relaxed); fence(SeqCst); (x, s.y.r(Relaxed)) }, |s| { s.y.w(1, Relaxed); fence(SeqCst); s.x.r(Relaxed) }
            => "1, 0, 0", forbidden;
    }
}
