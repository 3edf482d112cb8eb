//! Maximality: over all schemas, the strongest level that each method has kept, and the smallest schema that it failed on.

use std::collections::BTreeMap;

use crate::level::Level;
use crate::schema::Schema;
use crate::verdict::Verdict;

/// What is known about a method after a batch of schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodLevel {
    /// The strongest level that explains everything that was seen; nothing if none does.
    pub level: Option<Level>,
    /// How many schemas had the method.
    pub schemas: usize,
    /// How many of them were searched to the end.
    pub complete: usize,
    /// The smallest schema that shows that the method is not stronger.
    pub witness: Option<String>,
}

/// The level of each method that is not trusted, or was to blame, from the verdicts of a batch.
///
/// What another method is to blame for, or no method alone, says nothing about this one; nor does a schema that failed otherwise, by a
/// data race or a deadlock: its executions ended there.
pub fn levels<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> BTreeMap<String, MethodLevel> {
    let mut methods: BTreeMap<String, MethodLevel> = BTreeMap::new();
    for verdict in verdicts.into_iter().filter(|verdict| verdict.failure.is_none()) {
        let violated = verdict.rows.iter().any(|row| !row.expected);
        for (method, &level) in &verdict.levels {
            if violated && verdict.blamed.as_ref() != Some(method) {
                continue;
            }
            let known = methods.entry(method.clone()).or_insert(MethodLevel {
                level: Some(Level::Complete),
                schemas: 0,
                complete: 0,
                witness: None,
            });
            known.schemas += 1;
            known.complete += usize::from(verdict.complete);
            let weaker = level < known.level;
            let as_weak = level == known.level && level != Some(Level::Complete);
            let smaller = || known.witness.as_deref().is_none_or(|old| size(&verdict.schema) < size(old));
            if weaker || (as_weak && smaller()) {
                known.level = level;
                known.witness = Some(verdict.schema.clone());
            }
        }
    }
    methods
}

/// How large a schema is: invocations, threads, then the text.
pub fn size(schema: &str) -> (usize, usize, usize) {
    match schema.parse::<Schema>() {
        Ok(parsed) => (parsed.len(), parsed.threads(), schema.len()),
        Err(_) => (usize::MAX, usize::MAX, schema.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Failed;
    use crate::verdict::Row;

    fn verdict(schema: &str, level: Option<Level>) -> Verdict {
        let levels = BTreeMap::from([("size".to_owned(), level)]);
        Verdict { schema: schema.to_owned(), levels, ..Verdict::default() }
    }

    #[test]
    fn the_weakest_observation_counts_with_its_smallest_schema() {
        let verdicts = [
            verdict("{ size() } || { put(0); put(1) }", Some(Level::Complete)),
            verdict("{ size(); put(0) } || { put(0); put(1) }", Some(Level::Weak)),
            verdict("{ size() } || { put(1); put(1) }", Some(Level::Weak)),
            verdict("{ size() } || { put(1) }", Some(Level::Monotonic)),
        ];
        let levels = levels(&verdicts);
        let size = &levels["size"];
        assert_eq!((size.level, size.schemas), (Some(Level::Weak), 4));
        assert_eq!(size.witness.as_deref(), Some("{ size() } || { put(1); put(1) }"));
    }

    #[test]
    fn what_another_method_is_to_blame_for_does_not_count() {
        let seen = |blamed: Option<&str>| Verdict {
            rows: vec![Row { outcome: vec!["0".to_owned()], count: 1, expected: false }],
            blamed: blamed.map(str::to_owned),
            ..verdict("{ size() } || { put(1) }", None)
        };
        assert_eq!(levels(&[seen(Some("put"))]).get("size"), None);
        assert_eq!(levels(&[seen(None)]).get("size"), None);
        let failure = Some(Failed { what: "data race".to_owned(), file: None });
        let raced = Verdict { failure, ..verdict("{ size() } || { put(1) }", Some(Level::Complete)) };
        assert_eq!(levels(&[raced]).get("size"), None);
        assert_eq!(levels(&[seen(Some("size"))])["size"].level, None);
    }
}
