//! Tables in plain text, the first column to the left and the others to the right.

/// Prints rows as they come, so that a long run shows how far it is.
pub(crate) struct Table {
    widths: Vec<usize>,
}

impl Table {
    /// Prints a title and the head. The widths are those of the column names, with room for their cells.
    pub(crate) fn new(title: &str, columns: &[(&str, usize)]) -> Table {
        let widths = columns.iter().map(|(name, width)| name.chars().count().max(*width)).collect();
        let table = Table { widths };
        println!("\n{title}");
        let names: Vec<_> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        table.row(&names);
        println!("{}", "-".repeat(table.widths.iter().sum::<usize>() + 2 * (table.widths.len() - 1)));
        table
    }

    pub(crate) fn row(&self, cells: &[String]) {
        let padded = cells.iter().zip(&self.widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 if cell.parse::<f64>().is_err() => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        println!("{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
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
