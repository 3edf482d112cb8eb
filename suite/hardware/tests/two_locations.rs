//! Two threads and two locations.

use std::sync::atomic::Ordering::*;
use std::sync::atomic::fence;

use hardware::classics;

mod store_buffering {
    use super::*;

    classics! {
        relaxed: |s| { s.x.w(1, Relaxed); s.y.r(Relaxed) }, |s| { s.y.w(1, Relaxed); s.x.r(Relaxed) } => "0, 0", allowed;
        release_acquire: |s| { s.x.w(1, Release); s.y.r(Acquire) }, |s| { s.y.w(1, Release); s.x.r(Acquire) } => "0, 0", allowed;
        sequentially_consistent: |s| { s.x.w(1, SeqCst); s.y.r(SeqCst) }, |s| { s.y.w(1, SeqCst); s.x.r(SeqCst) } => "0, 0", forbidden;
        one_access_is_weaker: |s| { s.x.w(1, SeqCst); s.y.r(SeqCst) }, |s| { s.y.w(1, Release); s.x.r(SeqCst) } => "0, 0", allowed;
        fences: |s| { s.x.w(1, Relaxed); fence(SeqCst); s.y.r(Relaxed) }, |s| { s.y.w(1, Relaxed); fence(SeqCst); s.x.r(Relaxed) } => "0, 0", forbidden;
        one_fence: |s| { s.x.w(1, Relaxed); fence(SeqCst); s.y.r(Relaxed) }, |s| { s.y.w(1, Relaxed); s.x.r(Relaxed) } => "0, 0", allowed;
    }
}

/// Dekker's entry protocol: both threads raise their flag and enter if the other's is down.
mod dekker {
    use super::*;

    classics! {
        without_fences: |s| { s.x.w(1, Release); u32::from(s.y.r(Acquire) == 0) }, |s| { s.y.w(1, Release); u32::from(s.x.r(Acquire) == 0) } => "1, 1", allowed;
        with_fences: |s| { s.x.w(1, Relaxed); fence(SeqCst); u32::from(s.y.r(Relaxed) == 0) },
            |s| { s.y.w(1, Relaxed); fence(SeqCst); u32::from(s.x.r(Relaxed) == 0) } => "1, 1", forbidden;
        with_exchanges: |s| { s.x.0.swap(1, SeqCst); u32::from(s.y.r(SeqCst) == 0) }, |s| { s.y.0.swap(1, SeqCst); u32::from(s.x.r(SeqCst) == 0) } => "1, 1", forbidden;
    }
}

mod message_passing {
    use super::*;

    classics! {
        relaxed: |s| { s.x.w(1, Relaxed); s.y.w(1, Relaxed) }, |s| (s.y.r(Relaxed), s.x.r(Relaxed)) => "1, 0", allowed;
        release_acquire: |s| { s.x.w(1, Relaxed); s.y.w(1, Release) }, |s| (s.y.r(Acquire), s.x.r(Relaxed)) => "1, 0", forbidden;
        release_only: |s| { s.x.w(1, Relaxed); s.y.w(1, Release) }, |s| (s.y.r(Relaxed), s.x.r(Relaxed)) => "1, 0", allowed;
        acquire_only: |s| { s.x.w(1, Relaxed); s.y.w(1, Relaxed) }, |s| (s.y.r(Acquire), s.x.r(Relaxed)) => "1, 0", allowed;
        sequentially_consistent: |s| { s.x.w(1, SeqCst); s.y.w(1, SeqCst) }, |s| (s.y.r(SeqCst), s.x.r(SeqCst)) => "1, 0", forbidden;
        fences: |s| { s.x.w(1, Relaxed); fence(Release); s.y.w(1, Relaxed) },
            |s| { let flag = s.y.r(Relaxed); fence(Acquire); (flag, s.x.r(Relaxed)) } => "1, 0", forbidden;
    }
}

mod load_buffering {
    use super::*;

    classics! {
        relaxed: |s| { let read = s.x.r(Relaxed); s.y.w(1, Relaxed); read }, |s| { let read = s.y.r(Relaxed); s.x.w(1, Relaxed); read } => "1, 1", forbidden;
        release_acquire: |s| { let read = s.x.r(Acquire); s.y.w(1, Release); read }, |s| { let read = s.y.r(Acquire); s.x.w(1, Release); read } => "1, 1", forbidden;
    }
}

/// 2+2W: the order of two writes to each of two locations.
mod two_and_two_writes {
    use super::*;

    classics! {
        relaxed: |s| { s.x.w(1, Relaxed); s.y.w(2, Relaxed) }, |s| { s.y.w(1, Relaxed); s.x.w(2, Relaxed) };
            arbiter |s| (s.x.r(Relaxed), s.y.r(Relaxed)) => "1, 1", allowed;
        release: |s| { s.x.w(1, Release); s.y.w(2, Release) }, |s| { s.y.w(1, Release); s.x.w(2, Release) };
            arbiter |s| (s.x.r(Relaxed), s.y.r(Relaxed)) => "1, 1", allowed;
        sequentially_consistent: |s| { s.x.w(1, SeqCst); s.y.w(2, SeqCst) }, |s| { s.y.w(1, SeqCst); s.x.w(2, SeqCst) };
            arbiter |s| (s.x.r(Relaxed), s.y.r(Relaxed)) => "1, 1", forbidden;
    }
}

/// S: a read of one location against the order of writes to another. The outcome is the read and the last value of `x`.
mod s {
    use super::*;

    classics! {
        relaxed: |s| { s.x.w(2, Relaxed); s.y.w(1, Relaxed) }, |s| { let read = s.y.r(Relaxed); s.x.w(1, Relaxed); read };
            arbiter |s| s.x.r(Relaxed) => "1, 2", allowed;
        release_acquire: |s| { s.x.w(2, Relaxed); s.y.w(1, Release) }, |s| { let read = s.y.r(Acquire); s.x.w(1, Relaxed); read };
            arbiter |s| s.x.r(Relaxed) => "1, 2", forbidden;
    }
}

/// R: the order of writes to one location against a read of another. The outcome is the read and the last value of `y`.
mod r {
    use super::*;

    classics! {
        relaxed: |s| { s.x.w(1, Relaxed); s.y.w(1, Relaxed) }, |s| { s.y.w(2, Relaxed); s.x.r(Relaxed) }; arbiter |s| s.y.r(Relaxed) => "0, 2", allowed;
        release_acquire: |s| { s.x.w(1, Release); s.y.w(1, Release) }, |s| { s.y.w(2, Release); s.x.r(Acquire) }; arbiter |s| s.y.r(Relaxed) => "0, 2", allowed;
        sequentially_consistent: |s| { s.x.w(1, SeqCst); s.y.w(1, SeqCst) }, |s| { s.y.w(2, SeqCst); s.x.r(SeqCst) };
            arbiter |s| s.y.r(Relaxed) => "0, 2", forbidden;
    }
}
