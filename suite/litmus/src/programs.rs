//! Programs that the language cannot express.
