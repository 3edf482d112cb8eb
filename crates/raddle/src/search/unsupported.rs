//! What reports of explorations have, without the searches.

pub(crate) mod reach;
pub(crate) mod summary;

/// Where explorations begin.
pub(crate) mod exploration {
    /// How the caller was built makes no difference.
    #[inline(always)]
    pub(crate) fn probe() {}
}

/// Lines to `cargo raddle`.
pub(crate) mod progress {
    /// Nobody reads them.
    pub(crate) fn write_line(_: &str) {}
}
