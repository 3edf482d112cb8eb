//! The figures of a run in a file, and what has moved since another run.

use std::cell::RefCell;
use std::path::Path;

use serde_json::{Value, json};

use crate::table::Column;

/// A change of less than this share is noise.
const NOISE: f64 = 0.1;

thread_local! {
    static TABLES: RefCell<Vec<Recorded>> = const { RefCell::new(Vec::new()) };
}

/// A table as it was printed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    title: String,
    /// The names of columns, and whether they hold text.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

/// Notes that a table begins.
pub(crate) fn begin(title: &str, columns: &[Column]) {
    let columns = columns.iter().map(|&(name, width)| (name.to_owned(), width == 0)).collect();
    TABLES.with_borrow_mut(|tables| {
        tables.push(Recorded { title: title.to_owned(), columns, rows: Vec::new() });
    });
}

/// Notes a row of the table that began last.
pub(crate) fn row(cells: &[String]) {
    TABLES.with_borrow_mut(|tables| tables.last_mut().expect("a table has begun").rows.push(cells.to_vec()));
}

/// Writes all tables of this run.
pub(crate) fn write(file: &Path) -> Result<(), String> {
    let tables: Vec<Value> = TABLES.with_borrow(|tables| tables.iter().map(Recorded::to_json).collect());
    let text = serde_json::to_string_pretty(&json!({ "format": 1, "tables": tables })).expect("text is JSON");
    std::fs::write(file, text + "\n").map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Reads the tables of another run.
pub(crate) fn read(file: &Path) -> Result<Vec<Recorded>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let all: Option<Vec<Recorded>> = serde_json::from_str::<Value>(&text).ok().and_then(|run| {
        (run["format"] == 1).then_some(())?;
        run["tables"].as_array()?.iter().map(Recorded::from_json).collect()
    });
    all.ok_or_else(|| format!("{} was not written by `cargo xtask bench --json`", file.display()))
}

/// Prints the figures that have moved since another run.
pub(crate) fn compare(before: &[Recorded]) {
    println!("\nmoved by more than {:.0} % since the other run:", NOISE * 100.0);
    let moved = TABLES.with_borrow(|tables| moved(before, tables));
    moved.iter().for_each(|line| println!("{line}"));
    if moved.is_empty() {
        println!("nothing");
    }
}

impl Recorded {
    fn to_json(&self) -> Value {
        let columns: Vec<Value> =
            self.columns.iter().map(|(name, text)| json!({ "name": name, "text": text })).collect();
        json!({ "title": self.title, "columns": columns, "rows": self.rows })
    }

    fn from_json(value: &Value) -> Option<Recorded> {
        let column = |column: &Value| Some((column["name"].as_str()?.to_owned(), column["text"].as_bool()?));
        let cell = |cell: &Value| Some(cell.as_str()?.to_owned());
        let row = |row: &Value| row.as_array()?.iter().map(cell).collect();
        Some(Recorded {
            title: value["title"].as_str()?.to_owned(),
            columns: value["columns"].as_array()?.iter().map(column).collect::<Option<_>>()?,
            rows: value["rows"].as_array()?.iter().map(row).collect::<Option<_>>()?,
        })
    }

    /// What a row is about: its cells that are text.
    fn about(&self, row: &[String]) -> String {
        let texts =
            row.iter().zip(&self.columns).filter(|(_, column)| column.1).map(|(cell, _)| cell.as_str());
        texts.collect::<Vec<_>>().join(", ")
    }
}

fn moved(before: &[Recorded], now: &[Recorded]) -> Vec<String> {
    let mut lines = Vec::new();
    for table in now {
        let Some(other) = before.iter().find(|other| other.title == table.title) else { continue };
        for row in &table.rows {
            let about = table.about(row);
            let Some(old) = other.rows.iter().find(|old| other.about(old) == about) else { continue };
            for ((new, old), (name, _)) in row.iter().zip(old).zip(&table.columns) {
                let (Some(now), Some(then)) = (number(new), number(old)) else { continue };
                if (now - then).abs() > NOISE * then.abs() {
                    lines.push(format!("{}: {about}: {name} {old} -> {new}", table.title));
                }
            }
        }
    }
    lines
}

/// The number in a cell: `12,345`, `3.1x`, `8.0 MiB`, `35 %`.
fn number(cell: &str) -> Option<f64> {
    let digits = cell.trim_end_matches(['x', '%', ' ', 'M', 'i', 'B']);
    digits.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(figure: &str) -> Recorded {
        let columns = vec![("program".to_owned(), true), ("rate".to_owned(), false)];
        Recorded { title: "speed".into(), columns, rows: vec![vec!["a".into(), figure.into()]] }
    }

    #[test]
    fn figures_that_moved_are_named() {
        assert_eq!(moved(&[table("1,000")], &[table("1,050")]), [] as [&str; 0]);
        assert_eq!(moved(&[table("1,000")], &[table("1,200")]), ["speed: a: rate 1,000 -> 1,200"]);
        assert_eq!(moved(&[table("-")], &[table("1,200")]), [] as [&str; 0]);
    }

    #[test]
    fn a_table_comes_back_from_json() {
        assert_eq!(Recorded::from_json(&table("3.1x").to_json()), Some(table("3.1x")));
        assert_eq!(Recorded::from_json(&json!({ "title": "speed" })), None);
    }

    #[test]
    fn numbers_have_units() {
        let numbers = ["12,345", "3.1x", "8.0 MiB", "35 %", "-", "met"].map(number);
        assert_eq!(numbers, [Some(12345.0), Some(3.1), Some(8.0), Some(35.0), None, None]);
    }
}
