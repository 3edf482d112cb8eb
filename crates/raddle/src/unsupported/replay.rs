//! Replays, of which there are none.

/// The failure that is to be replayed.
pub(crate) fn requested() -> Option<std::convert::Infallible> {
    None
}
