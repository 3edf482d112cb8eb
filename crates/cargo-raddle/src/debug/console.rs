//! Commands of Raddle on the debugger's console: `raddle goto 12`.

use serde_json::{Value, json};

use super::session::Session;
use crate::error::{Error, Result};

const HELP: &str = "\
raddle goto N      go to event N
raddle back        go to the event before, of any thread
raddle forward     go to the event after, of any thread
raddle prev        go to the event before, of this thread
raddle prev-write  go to the last write before this event to the location that it accesses
raddle why [...]   where a value came from, who wrote a location, when a condition held: what `cargo raddle why` answers,
                   about an event, `=5`, `queue.head` or `queue.len > 1`; about the event here, if nothing is named
raddle events      list the events
raddle where       say where the program stands";

/// What a command does.
enum Effect {
    GoTo(usize),
    Say(String),
}

impl Session {
    /// Carries out a command that was typed on the console.
    pub(super) fn console(&mut self, request: &Value, arguments: &Value) {
        let expression = arguments["expression"].as_str().unwrap_or_default();
        let answer = |text: String| json!({"result": text, "variablesReference": 0});
        match self.effect(expression) {
            Ok(Effect::Say(text)) => self.answer(request, Ok(answer(text))),
            Ok(Effect::GoTo(event)) => {
                let text = self.target.as_ref().map(|target| target.events.describe(event));
                self.answer(request, Ok(answer(text.unwrap_or_default())));
                let moved = self.go_to(event);
                self.report(moved);
            }
            Err(error) => self.answer(request, Err(error)),
        }
    }

    fn effect(&self, expression: &str) -> Result<Effect> {
        let mut words = expression.split_ascii_whitespace().skip(1);
        let (verb, argument) = (words.next().unwrap_or("help"), words.next());
        let target = self.target.as_ref().ok_or_else(|| Error::usage("nothing is debugged yet"))?;
        let events = &target.events;
        let here = self.here.as_ref().map(|stop| self.position(stop)).unwrap_or_default();
        let now = || {
            let event = here["event"].as_u64().map(|event| event as usize);
            event.ok_or_else(|| Error::usage("no event has been made here; use `raddle goto N`"))
        };
        let at_end = here["standing"] == "end";
        let go = |event: Option<usize>, none: &str| event.map(Effect::GoTo).ok_or_else(|| Error::usage(none));
        match verb {
            "goto" => {
                let event =
                    argument.and_then(|event| event.parse().ok()).filter(|&event| event < events.len());
                go(
                    event,
                    &format!(
                        "`raddle goto` takes the number of an event, from 0 to {}",
                        events.len().saturating_sub(1)
                    ),
                )
            }
            "back" if at_end => Ok(Effect::GoTo(events.failing())),
            "back" if here["standing"] == "after" => Ok(Effect::GoTo(now()?)),
            "back" => go(events.before(now()?), "this is the first event"),
            "forward" => go(events.after(now()?), "this is the last event"),
            "prev" => {
                let (thread, number) = events.place(now()?).unwrap_or_default();
                let number = number + u64::from(here["standing"] == "after");
                go(events.before_in_thread(thread, number), "this is the first event of the thread")
            }
            "prev-write" => go(events.write_before(now()?), "no event before writes this location"),
            "events" => {
                let list: Vec<_> = (0..events.len()).map(|event| events.describe(event)).collect();
                Ok(Effect::Say(list.join("\n")))
            }
            "why" => {
                let rest = expression.trim().strip_prefix("raddle").unwrap_or_default().trim();
                let target = rest.strip_prefix("why").unwrap_or_default().trim();
                let asked = match target.is_empty() {
                    true => here["event"].as_u64().map(|event| event.to_string()).unwrap_or_default(),
                    false => target.to_owned(),
                };
                Ok(Effect::Say(events.why(&asked)?.trim_end().to_owned()))
            }
            "where" => Ok(Effect::Say(here["text"].as_str().unwrap_or("nowhere").to_owned())),
            "help" => Ok(Effect::Say(HELP.to_owned())),
            other => {
                Err(Error::usage(format_args!("there is no command `raddle {other}`; these are:\n{HELP}")))
            }
        }
    }
}
