//! Pages: one file, no network, no script.

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d0d7de;vertical-align:top}\
pre{overflow-x:auto;background:#f6f8fa;padding:1rem;font:13px/1.35 ui-monospace,monospace}\
.points{font-size:1.5rem;font-weight:600}.pass td:last-child{color:#1a7f37}.fail td:last-child{color:#cf222e}\
.bar{background:#0969da;height:1rem;min-width:1px}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}th,td{border-color:#30363d}\
.pass td:last-child{color:#3fb950}.fail td:last-child{color:#f85149}a{color:#4493f8}}";

/// A page with this title and body.
pub(super) fn document(title: &str, body: &str) -> String {
    let title = text(title);
    format!(
        "<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width\">\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n{body}</html>\n"
    )
}

/// Text in a page.
pub(super) fn text(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
    out
}
