//! Tables in plain text.

use crate::record;

/// A column: its name and the width of its cells. Without a width it holds text, which begins at the left.
pub(crate) type Column = (&'static str, usize);

/// Prints rows as they come, so that a long run shows how far it is.
pub(crate) struct Table {
    columns: Vec<Column>,
}

const TEXT_WIDTH: usize = 15;

impl Table {
    /// Prints a title and the head.
    pub(crate) fn new(title: &str, columns: &[Column]) -> Table {
        let table = Table { columns: columns.to_vec() };
        record::begin(title, columns);
        println!("\n{title}");
        let names: Vec<_> = columns.iter().map(|column| column.0.to_owned()).collect();
        table.print(&names);
        println!("{}", "-".repeat(columns.iter().map(|column| width(*column) + 2).sum::<usize>() - 2));
        table
    }

    /// Prints a row, and notes it.
    pub(crate) fn row(&self, cells: &[String]) {
        record::row(cells);
        self.print(cells);
    }

    fn print(&self, cells: &[String]) {
        let padded = cells.iter().zip(&self.columns).map(|(cell, &column)| {
            let width = width(column);
            if column.1 == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        println!("{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
}

fn width((name, width): Column) -> usize {
    if width == 0 { TEXT_WIDTH } else { width.max(name.len()) }
}

/// A number with groups of three digits.
pub(crate) fn count(value: Option<f64>) -> String {
    let Some(value) = value else { return none() };
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in nanoseconds.
pub(crate) fn ns(value: Option<f64>) -> String {
    value.map_or_else(none, |value| if value < 1000.0 { format!("{value:.1}") } else { count(Some(value)) })
}

/// A factor.
pub(crate) fn times(value: Option<f64>) -> String {
    value.map_or_else(none, |value| format!("{value:.1}x"))
}

/// Whether a goal is met.
pub(crate) fn verdict(met: Option<bool>) -> String {
    match met {
        Some(true) => "met".into(),
        Some(false) => "missed".into(),
        None => none(),
    }
}

/// KiB as MiB.
pub(crate) fn mib(kib: Option<f64>) -> String {
    kib.map_or_else(none, |kib| format!("{:.1} MiB", kib / 1024.0))
}

/// What is not known or not possible.
pub(crate) fn none() -> String {
    "-".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        let texts = [1.0, 999.6, 12345.0, 1234567.0].map(|value| count(Some(value)));
        assert_eq!(texts, ["1", "1,000", "12,345", "1,234,567"]);
        assert_eq!(count(None), "-");
    }
}
