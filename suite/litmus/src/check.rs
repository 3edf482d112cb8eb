//! Holds Raddle against the oracle.
