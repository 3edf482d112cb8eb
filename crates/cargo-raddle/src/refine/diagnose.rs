//! What the compiler says about a generated project, in one sentence for each thing.

use serde_json::Value;

/// An error of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// `E0599`.
    pub(crate) code: String,
    /// What is wrong.
    pub(crate) message: String,
    /// The line, if it is in the driver.
    pub(crate) line: Option<usize>,
}

/// The errors among cargo's messages.
pub(crate) fn errors(messages: &str) -> Vec<Diagnostic> {
    messages.lines().filter_map(|line| error(&serde_json::from_str(line).ok()?)).collect()
}

fn error(message: &Value) -> Option<Diagnostic> {
    if message["reason"] != "compiler-message" || message["message"]["level"] != "error" {
        return None;
    }
    let error = &message["message"];
    let text = error["message"].as_str()?;
    if text.starts_with("aborting due to") {
        return None;
    }
    let in_driver =
        |span: &&Value| span["file_name"].as_str().is_some_and(|file| file.ends_with("driver.rs"));
    let spans = error["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let primary = spans.iter().filter(in_driver).find(|span| span["is_primary"] == true);
    let line = primary.or(spans.iter().find(in_driver)).and_then(|span| span["line_start"].as_u64());
    Some(Diagnostic {
        code: error["code"]["code"].as_str().unwrap_or_default().to_owned(),
        message: sentence(error, primary),
        line: line.and_then(|line| usize::try_from(line).ok()),
    })
}

/// The message, with the compiler's advice where that is what matters.
fn sentence(error: &Value, primary: Option<&Value>) -> String {
    let text = error["message"].as_str().unwrap_or_default();
    let label = primary.and_then(|span| span["label"].as_str()).filter(|label| !text.contains(label));
    let children = error["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    let why = children.iter().filter_map(|child| child["message"].as_str()).find(|message| {
        message.starts_with("the trait `S")
            || message.starts_with("within ")
            || message.starts_with("required because")
    });
    let mut sentence = text.lines().next().unwrap_or_default().to_owned();
    if let Some(why) = why.or(label) {
        sentence.push_str(&format!(" ({})", why.lines().next().unwrap_or_default()));
    }
    sentence
}

/// Why nothing could be built, if no message of the compiler says so: the last thing that cargo complained about.
pub(crate) fn of_cargo(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().collect();
    let Some(start) = lines.iter().position(|line| line.starts_with("error")) else {
        return "cargo could not build the driver".to_owned();
    };
    let told = lines[start..].iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let told = told.filter(|line| !line.starts_with("Caused by") && !line.starts_with("required by"));
    let told: Vec<&str> = told.take(4).collect();
    told.join("; ").trim_start_matches("error: ").to_owned()
}

/// What is wrong with the object itself.
pub(crate) fn of_object(object: &str, diagnostics: &[Diagnostic]) -> Option<String> {
    let threads = diagnostics.iter().find(|diagnostic| {
        diagnostic.message.contains("between threads safely")
            || diagnostic.message.contains("cannot be shared")
    });
    if let Some(Diagnostic { message, .. }) = threads {
        return Some(format!("`{object}` cannot be used by several threads: {message}"));
    }
    let unknown = ["E0412", "E0425", "E0432", "E0433"];
    if let Some(found) = diagnostics.iter().find(|diagnostic| unknown.contains(&&*diagnostic.code)) {
        return Some(format!("the specification names something that does not exist: {}", found.message));
    }
    diagnostics.first().map(|first| format!("the object cannot be built: {}", first.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_lines_in_the_driver() {
        let message = serde_json::json!({
            "reason": "compiler-message",
            "message": {
                "level": "error", "code": { "code": "E0599" },
                "message": "no method named `frob` found for reference `&Map` in the current scope",
                "spans": [{ "file_name": "driver.rs", "line_start": 12, "is_primary": true, "label": "method not found in `&Map`" }],
                "children": [],
            },
        });
        let found = errors(&format!("{message}\nnoise\n"));
        assert_eq!((found[0].line, &*found[0].code), (Some(12), "E0599"));
        assert!(found[0].message.starts_with("no method named `frob`"));
    }

    #[test]
    fn what_cargo_says_is_one_sentence() {
        let stderr = "    Updating index\nerror: no matching package named `nonesuch` found\nlocation searched: crates.io index\nrequired by package `x`\n";
        assert_eq!(
            of_cargo(stderr),
            "no matching package named `nonesuch` found; location searched: crates.io index"
        );
    }
}
