//! Specifications as JSON, to be edited.

use std::fmt::Write;

use super::methods::{Extracted, object};
use crate::cargo::metadata::Package;

/// The specification of a type.
pub(crate) fn write(path: &str, package: &Package, is_member: bool, extracted: &Extracted) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = String::from("{\n");
    let _ = writeln!(text, "    \"type\": {},", quoted(&object(path, &extracted.generics)));
    let origin = match is_member {
        true => format!("\"path\": {}", quoted(&package.directory().display().to_string())),
        false => format!("\"version\": {}", quoted(&package.version)),
    };
    let _ = writeln!(text, "    \"crate\": {{ \"name\": {}, {origin} }},", quoted(&package.name));
    let constructor = extracted.constructor.as_deref().unwrap_or("todo!(\"how is one made?\")");
    let _ = writeln!(text, "    \"constructor\": {},", quoted(constructor));
    text.push_str("    \"methods\": [\n");
    let count = extracted.methods.len();
    for (number, method) in extracted.methods.iter().enumerate() {
        let parameters: Vec<String> = method.parameters.iter().map(|ty| quoted(ty)).collect();
        let comma = if number + 1 < count { "," } else { "" };
        let _ = writeln!(
            text,
            "        {{ \"name\": {}, \"parameters\": [{}], \"void\": {}, \"readonly\": false, \"trusted\": false, \"consistency\": \"complete\" }}{comma}",
            quoted(&method.name),
            parameters.join(", "),
            method.void
        );
    }
    text.push_str("    ]\n}\n");
    text
}
