//! The page as a whole: its size, its safety, and how it is written.

use super::*;

fn failure() -> Failure {
    serde_json::from_str(include_str!("../../tests/example.json")).unwrap()
}

#[test]
fn the_page_without_data_is_small() {
    let size = TEMPLATE.len() + STYLE.len() + script().len();
    assert!(size < 300 << 10, "{size} bytes");
}

#[test]
fn nothing_ends_a_script_but_its_own_tag() {
    let hostile = "</script><script>alert(1)</script><!-- {{script}} \u{2028}&quot;\"'";
    let mut failure = failure();
    let end_tags = page(&failure, &Sources::default()).matches("</script").count();
    failure.test = hostile.to_owned();
    failure.message = hostile.to_owned();
    failure.reasons = vec![hostile.to_owned()];
    failure.threads[1].name = Some(hostile.to_owned());
    failure.trace.frames[3].function = hostile.to_owned();
    let read = |_: &str| Some(format!("{hostile}\n").repeat(20));
    let page = page(&failure, &Sources::of(&failure, read));
    assert_eq!(page.matches("</script").count(), end_tags);
    assert_eq!(page.matches("<script>alert").count(), 0);
    assert_eq!(page.matches("<!--").count(), 0);
    assert_eq!(page.matches("\"use strict\";\n").count(), 1, "a placeholder in a value is not filled");
}

#[test]
fn the_policy_names_the_embedded_script_and_style() {
    let page = page(&failure(), &Sources::default());
    let inside = |open: &str, close: &str| {
        let from = page.find(open).unwrap() + open.len();
        page[from..from + page[from..].find(close).unwrap()].to_owned()
    };
    for (element, policy) in [("script", "script-src"), ("style", "style-src")] {
        let text = inside(&format!("<{element}>"), &format!("</{element}>"));
        assert!(page.contains(&format!("{policy} '{}'", embed::csp_hash(&text))), "{policy}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_page_is_written_whole() {
    let dir = std::env::temp_dir().join(format!("raddle-page-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join("failure.html");
    for _ in 0..2 {
        write(&failure(), &Sources::default(), &path).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap().ends_with("</html>\n"));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "temporary files are gone");
    assert!(write(&failure(), &Sources::default(), &dir.join("no/such/place.html")).is_err());
    fs::remove_dir_all(&dir).unwrap();
}
