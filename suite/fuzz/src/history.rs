//! Histories in every format, checked against the model that their first line names.

use std::time::Duration;

use raddle_check::explain::{Story, html, json, text};
use raddle_check::format::{Format, detect, read_history, records};
use raddle_check::model::catalog;
use raddle_check::model::register::Nil;
use raddle_check::{Checker, Contract, Limits};

/// A line with model, contract, format and `nil`, any of which may be missing; then a history.
pub(crate) fn history(data: &[u8]) {
    let (line, body) = match data.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (&data[..0], data),
    };
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split(' ');
    let model = words.next().filter(|word| !word.is_empty()).unwrap_or("register");
    let contract = words.next().map(str::parse::<Contract>).and_then(Result::ok).unwrap_or_default();
    let format = words.next().map(str::parse::<Format>).and_then(Result::ok).or_else(|| detect(body).ok());
    let nil = if words.next() == Some("nil") { Nil::Anything } else { Nil::Value };
    let Some(format) = format else { return };
    // Whether or not there is such a model.
    records(body, format).for_each(drop);
    let keyed = catalog::has_keys(model) || line.ends_with(" keyed");
    let Ok(model) = catalog::find_with(model, keyed, nil) else { return };
    let Ok(loaded) = read_history(body, format, &model, keyed) else { return };
    let limits = Limits { time: Some(Duration::from_millis(100)), memory: Some(16 << 20) };
    let checker = Checker::new().contract(contract).limits(limits);
    let Ok(report) = checker.try_check(&loaded.history, &model) else { return };
    let contract = contract.to_string();
    let story = Story::new("x", &contract, &report, &loaded.history, &model, &loaded.lines);
    let _ = (text::render(&story, true), json::render(&story), html::render(&story));
}
