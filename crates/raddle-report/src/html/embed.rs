//! Text and JSON inside of HTML.

use serde::Serialize;

use super::sha256::sha256;

/// A template with its placeholders filled. Placeholders in the parts themselves stay as they are.
pub(super) fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut out =
        String::with_capacity(template.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>());
    let mut rest = template;
    loop {
        let next = parts.iter().filter_map(|(name, part)| Some((rest.find(name)?, *name, *part))).min();
        let Some((at, name, part)) = next else { break };
        out.push_str(&rest[..at]);
        out.push_str(part);
        rest = &rest[at + name.len()..];
    }
    out.push_str(rest);
    out
}

/// A text as the content of an element.
pub(super) fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A value as JSON that cannot end the script element around it: `<` occurs in strings only, where it can be escaped.
pub(super) fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value)
        .expect("the model has only string keys and writing to memory cannot fail");
    json.replace('<', "\\u003c")
}

/// The hash by which a content security policy allows an inline script or style sheet.
pub(super) fn csp_hash(content: &str) -> String {
    format!("sha256-{}", base64(&sha256(content.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .chain([0, 0].iter())
            .take(3)
            .fold(0_u32, |group, &byte| group << 8 | u32::from(byte));
        for digit in 0..4 {
            let is_padding = digit > chunk.len();
            out.push(if is_padding { '=' } else { DIGITS[(group >> (18 - 6 * digit) & 63) as usize].into() });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        assert_eq!(fill("<{{a}}-{{b}}-{{a}}>", &[("{{a}}", "{{b}}"), ("{{b}}", "2")]), "<{{b}}-2-{{b}}>");
    }

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(text("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        let hostile = "</script>\u{2028}\"\\";
        let embedded = json(&hostile);
        assert!(!embedded.contains('<'), "{embedded}");
        assert_eq!(serde_json::from_str::<String>(&embedded).unwrap(), hostile);
    }

    #[test]
    fn base64_pads() {
        let check = |bytes: &str, expected: &str| assert_eq!(base64(bytes.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }
}
