//! Named sets of options: how much a run may take when a person waits for it, in CI, and at night.
//!
//! ```toml
//! [package.metadata.raddle.search-profiles.nightly]
//! budget = "5m"
//! workers = 4
//! ```
//!
//! A profile sets what neither the command line nor the environment sets.

use std::collections::BTreeMap;

use raddle_options::SEARCH;
use serde_json::Value;

use crate::cargo::Metadata;
use crate::error::{Error, Result};
use crate::options::RaddleOptions;

/// The profiles that there are without a definition: name, option, value.
const BUILT_IN: [(&str, &str, &str); 3] =
    [("quick", "budget", "2s"), ("ci", "budget", "10s"), ("nightly", "budget", "2m")];

/// The options with those of the profile of this name.
pub(crate) fn apply(
    name: Option<&str>,
    metadata: &Metadata,
    options: RaddleOptions,
) -> Result<RaddleOptions> {
    let Some(name) = name else { return Ok(options) };
    let is_set = |variable: &str| std::env::var_os(variable).is_some();
    apply_unless(name, &profiles(metadata)?, options, is_set)
}

/// The options of each profile.
type Profiles = BTreeMap<String, BTreeMap<String, Value>>;

fn profiles(metadata: &Metadata) -> Result<Profiles> {
    let mut profiles = Profiles::new();
    for (name, option, value) in BUILT_IN {
        profiles.entry(name.to_owned()).or_default().insert(option.to_owned(), value.into());
    }
    let members = metadata.members().map(|package| (&package.metadata, "package"));
    for (metadata, kind) in [(&metadata.metadata, "workspace")].into_iter().chain(members) {
        let Some(defined) = metadata.pointer("/raddle/search-profiles") else { continue };
        let defined: Profiles = serde_json::from_value(defined.clone()).map_err(|_| {
            Error::usage(format_args!(
                "write profiles as tables of options: [{kind}.metadata.raddle.search-profiles.nightly] with `budget = \"5m\"`"
            ))
        })?;
        profiles.extend(defined);
    }
    Ok(profiles)
}

fn apply_unless(
    name: &str,
    profiles: &Profiles,
    mut options: RaddleOptions,
    is_set: impl Fn(&str) -> bool,
) -> Result<RaddleOptions> {
    let Some(profile) = profiles.get(name) else {
        let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
        return Err(Error::usage(format_args!(
            "there is no search profile `{name}`; there are {}",
            known.join(", ")
        )));
    };
    let chosen: Vec<&str> = options.variables().into_iter().map(|(variable, _)| variable).collect();
    for (option, value) in profile {
        let flag = format!("--{option}");
        let Some(entry) = SEARCH.iter().find(|entry| entry.flag == flag) else {
            return Err(Error::usage(format_args!(
                "search profile `{name}` sets `{option}`, which is no option; `cargo raddle test --help` lists them"
            )));
        };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(true) => "on".to_owned(),
            Value::Bool(false) => "off".to_owned(),
            other => other.to_string(),
        };
        if !chosen.contains(&entry.variable) && !is_set(entry.variable) {
            options = options.with(entry, Some(text));
        }
    }
    options.check()?;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::entry;

    fn of(json: Value) -> Profiles {
        let metadata = serde_json::json!({ "raddle": { "search-profiles": json } });
        let metadata = serde_json::json!({
            "packages": [], "workspace_members": [], "workspace_root": "", "target_directory": "",
            "resolve": {"nodes": []}, "metadata": metadata,
        });
        profiles(&serde_json::from_value(metadata).unwrap()).unwrap()
    }

    #[test]
    fn a_profile_sets_what_nobody_else_sets() {
        let profiles = of(serde_json::json!({ "deep": { "budget": "5m", "workers": 4, "races": false } }));
        let chosen = RaddleOptions::default().with(entry("RADDLE_WORKERS"), Some("1".to_owned()));
        let options = apply_unless("deep", &profiles, chosen, |variable| variable == "RADDLE_RACES").unwrap();
        let expected = [("RADDLE_WORKERS", "1"), ("RADDLE_BUDGET", "5m")];
        assert_eq!(options.variables(), expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn a_definition_replaces_the_profile_of_that_name() {
        let profiles = of(serde_json::json!({ "nightly": { "budget": "1h" } }));
        let options = apply_unless("nightly", &profiles, RaddleOptions::default(), |_| false).unwrap();
        assert_eq!(options.variables(), [("RADDLE_BUDGET", "1h".to_owned())]);
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        let message = |name: &str, profiles: &Profiles| {
            apply_unless(name, profiles, RaddleOptions::default(), |_| false).unwrap_err().to_string()
        };
        let profiles = of(serde_json::json!({ "deep": { "bugdet": "5m" }, "odd": { "budget": "long" } }));
        assert!(message("night", &profiles).contains("there are ci, deep, nightly, odd, quick"));
        assert!(message("deep", &profiles).contains("`bugdet`, which is no option"));
        assert!(message("odd", &profiles).contains("`--budget` cannot be `long`"));
    }
}
