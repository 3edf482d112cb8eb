//! Mistakes in a `course.toml`, with their places.

use std::fmt;
use std::path::{Path, PathBuf};

/// A mistake in a `course.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line and column, from 1.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// All mistakes in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    /// The file.
    pub path: PathBuf,
    /// The mistakes, at least one.
    pub list: Vec<Mistake>,
}

impl Mistakes {
    /// One mistake.
    pub fn one(path: &Path, mistake: Mistake) -> Mistakes {
        Mistakes { path: path.to_owned(), list: vec![mistake] }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Mistake { position, message }) in self.list.iter().enumerate() {
            if number > 0 {
                f.write_str("\n       ")?;
            }
            write!(f, "{}", self.path.display())?;
            if let Some((line, column)) = position {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// The line and column of a byte of a text, from 1.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        assert_eq!(position("ab\ncd", 0), (1, 1));
        assert_eq!(position("ab\ncd", 3), (2, 1));
        assert_eq!(position("äb\ncd", 2), (1, 2));
        assert_eq!(position("ab", 99), (1, 3));
    }
}
