//! Tables: `grades.csv` with a column for each test, `moodle.csv` and `canvas.csv` as those systems import them.

use std::io;

use super::student::verdict;
use super::{Folder, Writer, points};
use crate::gradebook::{Grade, Gradebook, Verdict};

/// Tables of comma-separated values.
pub(super) struct Csv;

impl Writer for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn write(&self, book: &Gradebook, out: &Folder) -> io::Result<()> {
        out.put("grades.csv", &grades(book))?;
        out.put("moodle.csv", &moodle(book))?;
        out.put("canvas.csv", &canvas(book))
    }
}

fn grades(book: &Gradebook) -> String {
    let mut header = vec!["submission".to_owned(), "status".to_owned(), "points".to_owned()];
    if let Some(grade) = book.grades.first() {
        header.extend(grade.tests.iter().map(|test| format!("{}::{}", test.target, test.name)));
    }
    let mut rows = vec![header];
    for grade in &book.grades {
        let status = grade.status.word().unwrap_or("tested").to_owned();
        let mut row = vec![grade.name.clone(), status, points(grade.points())];
        row.extend(grade.tests.iter().map(|test| points(test.points())));
        rows.push(row);
    }
    table(rows)
}

/// The feedback stands beside the grade: Moodle drops one that comes without the other.
fn moodle(book: &Gradebook) -> String {
    let mut rows =
        vec![vec!["idnumber".to_owned(), book.title.clone(), format!("{} (feedback)", book.title)]];
    for grade in &book.grades {
        rows.push(vec![grade.name.clone(), points(grade.points()), feedback(grade)]);
    }
    table(rows)
}

fn canvas(book: &Gradebook) -> String {
    let columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"].map(str::to_owned);
    let mut header = columns.to_vec();
    header.push(book.title.clone());
    let max = book.grades.first().map_or(0.0, Grade::max_points);
    let mut possible = vec!["Points Possible".to_owned()];
    possible.extend([const { String::new() }; 4]);
    possible.push(points(max));
    let mut rows = vec![header, possible];
    for grade in &book.grades {
        let none = String::new();
        let name = grade.name.clone();
        rows.push(vec![name.clone(), none.clone(), name.clone(), name, none, points(grade.points())]);
    }
    table(rows)
}

fn feedback(grade: &Grade) -> String {
    let failed = grade.tests.iter().filter(|test| test.verdict != Verdict::Passed);
    let mut list: Vec<String> = grade.remark().into_iter().collect();
    if list.is_empty() {
        list.extend(failed.map(|test| format!("{}: {}", test.title, verdict(test))));
    }
    if list.is_empty() { "all tests passed".to_owned() } else { list.join("; ") }
}

fn table(rows: Vec<Vec<String>>) -> String {
    let rows =
        rows.into_iter().map(|row| row.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(","));
    rows.map(|row| row + "\r\n").collect()
}

/// A field. Spreadsheets take one that begins like a formula for a formula.
fn quoted(field: &str) -> String {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let field = if formula { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_are_quoted_and_never_formulas() {
        assert_eq!(quoted("anna"), "anna");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
