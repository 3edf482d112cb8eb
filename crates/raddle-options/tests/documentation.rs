//! Variables that the documentation of the project names are in the table.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_book_and_the_readmes_name_variables_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root.join("book/src")).unwrap().map(|page| page.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.extend(
        ["README.md", "crates/cargo-raddle/README.md", "crates/raddle-report/FORMAT.md"]
            .map(|page| root.join(page)),
    );
    for page in pages {
        for variable in variables(&fs::read_to_string(&page).unwrap()) {
            assert!(raddle_options::find(variable).is_ok(), "{} names {variable}", page.display());
        }
    }
}

fn variables(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
    words.filter(|word| word.strip_prefix("RADDLE_").is_some_and(|name| !name.is_empty()))
}

#[test]
fn variables_are_found_in_text() {
    let text = "`RADDLE_MAX_STEPS=9`, RADDLE_* and CARGO_RADDLE_PLAN";
    assert_eq!(variables(text).collect::<Vec<_>>(), ["RADDLE_MAX_STEPS"]);
}
