//! Options, schedules and manifests.

use raddle_options::{Values, find, schedule as schedules, setting};

/// Lines `VARIABLE=value`, as the environment and the command line have them.
pub(crate) fn options(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut values = Values::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else { continue };
        match find(name).and_then(|entry| entry.set(&mut values, name, value)) {
            Ok(()) => {}
            Err(sentence) => assert!(!sentence.is_empty(), "{line}"),
        }
    }
    for suppression in &values.suppress {
        let _ = suppression.find_kind(raddle_report::Kind::of_name);
    }
    // What is written is read as the same.
    assert_eq!(values.strategy.to_string().parse(), Ok(values.strategy));
}

/// A schedule as text.
pub(crate) fn schedule(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(choices) = schedules::decode(text) {
        assert_eq!(schedules::decode(&schedules::encode(&choices)), Ok(choices));
    }
}

/// A manifest.
pub(crate) fn manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for table in ["package.metadata.raddle", "workspace.metadata.raddle"] {
        if let Some(found) = setting(text, table, "explored") {
            assert!(text.contains(found));
        }
    }
}
