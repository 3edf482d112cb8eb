//! Failures that are not reported, as they are written.

use crate::parse::paths;

/// Failures of one kind in some functions, which are not reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The name of the kind, as failure files have it.
    pub kind: String,
    /// The functions: a path, in which `*` stands for any text.
    pub functions: String,
    /// Why they are not reported. Empty where nobody said, which only data races allow.
    pub reason: String,
}

impl Suppression {
    /// The entries of a list, with `;` between them: each `kind@path: reason`, or paths of data races with commas between them.
    pub(crate) fn list(text: &str) -> Result<Vec<Suppression>, String> {
        let mut all = Vec::new();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            match entry.split_once('@') {
                None => all.extend(paths(entry).into_iter().map(Suppression::of_races)),
                Some((kind, rest)) => all.push(Suppression::of_kind(kind, rest)?),
            }
        }
        Ok(all)
    }

    fn of_races(functions: String) -> Suppression {
        Suppression { kind: "data-race".to_owned(), functions, reason: String::new() }
    }

    fn of_kind(kind: &str, rest: &str) -> Result<Suppression, String> {
        let [kind, rest] = [kind, rest].map(str::trim);
        match rest.split_once(": ").map(|(path, reason)| (path.trim(), reason.trim())) {
            Some((path, reason)) if !reason.is_empty() => {
                Ok(Suppression { kind: kind.into(), functions: path.into(), reason: reason.into() })
            }
            _ => Err("say why, as in `thread-leak@my_pool::*: the pool lives as long as the process`".into()),
        }
    }

    /// The kind itself, by a function that knows the names of all kinds.
    ///
    /// # Errors
    /// If there is no kind of that name: one sentence that says so.
    pub fn find_kind<K>(&self, named: impl Fn(&str) -> Option<K>) -> Result<K, String> {
        named(&self.kind).ok_or_else(|| {
            format!(
                "`{}` is no kind of failure; suppress one such as `thread-leak@my_pool::*: reason`, with `;` between entries",
                self.kind
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_kind_path_and_reason() {
        let parsed =
            Suppression::list("a::b,*::len; thread-leak@my_pool::*: by design, for ever ;panic@x::y: it: is");
        let new = |kind: &str, functions: &str, reason: &str| Suppression {
            kind: kind.into(),
            functions: functions.into(),
            reason: reason.into(),
        };
        let expected = [
            new("data-race", "a::b", ""),
            new("data-race", "*::len", ""),
            new("thread-leak", "my_pool::*", "by design, for ever"),
            new("panic", "x::y", "it: is"),
        ];
        assert_eq!(parsed.unwrap(), expected);
        assert_eq!(Suppression::list(" ; "), Ok(Vec::new()));
        for text in ["thread-leak@x", "thread-leak@x::y:  "] {
            assert!(Suppression::list(text).unwrap_err().contains("say why"), "{text}");
        }
    }

    #[test]
    fn a_kind_has_to_exist() {
        let leak = &Suppression::list("leak@x: y").unwrap()[0];
        let named = |name: &str| (name == "thread-leak").then_some(());
        assert!(leak.find_kind(named).unwrap_err().contains("`leak` is no kind of failure"));
        let leak = &Suppression::list("thread-leak@x: y").unwrap()[0];
        assert_eq!(leak.find_kind(named), Ok(()));
    }
}
