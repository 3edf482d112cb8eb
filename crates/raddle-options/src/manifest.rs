//! Settings in a `Cargo.toml`, for tests that cargo runs by itself.
//!
//! A test process has no reader of TOML, and needs none: settings are texts, in a table of their own, one a line.

/// The text of `key` in `[table]`: `explored = "optional"` in `[package.metadata.raddle]`.
pub fn setting<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let mut is_inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split(']').next().unwrap_or_default();
            is_inside = name.split('.').map(str::trim).eq(table.split('.'));
        } else if is_inside
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == key
        {
            return quoted(value.trim());
        }
    }
    None
}

/// The text between the quotes that `value` begins with.
fn quoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_texts_in_their_table() {
        let manifest = "
[package]
name = \"a\" # explored = \"required\"
explored = \"elsewhere\"

[ package . metadata.raddle ]  # ours
uninstrumented = [\"b\"]
explored = \"optional\" # for now
budget = '1s'
count = 3

[workspace.metadata.raddle]
explored = \"required\"
";
        let package = |key| setting(manifest, "package.metadata.raddle", key);
        assert_eq!(package("explored"), Some("optional"));
        assert_eq!(package("budget"), Some("1s"));
        assert_eq!((package("count"), package("seed"), package("uninstrumented")), (None, None, None));
        assert_eq!(setting(manifest, "workspace.metadata.raddle", "explored"), Some("required"));
        assert_eq!(setting("", "package.metadata.raddle", "explored"), None);
        assert_eq!(
            setting("[package.metadata.raddle]\nexplored = \"", "package.metadata.raddle", "explored"),
            None
        );
    }
}
