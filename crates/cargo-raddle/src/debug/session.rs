//! A debug session: requests of the editor, answered by the debugger, by time travel, or here.
//!
//! Requests that move the program are carried out one at a time: the session answers, lets the program run, waits for the stop
//! and reports it. What else the editor asks is passed on as it is; what the debugger answers is tidied where Raddle shows
//! through.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::adapter::{Debugger, FIRST_THREAD, Kind, remove_plug_in};
use super::frames;
use super::framing;
use super::inner::{Arrived, Inner, Message, listen_to_editor};
use super::table::{Standing, Table};
use super::target::{Request, Target};
use crate::error::{Error, Result};

/// A session with an editor.
pub(crate) struct Session {
    editor: Box<dyn Write>,
    seq: i64,
    pub(super) inner: Inner,
    pub(super) table: Table,
    request: Option<Request>,
    pub(super) target: Option<Target>,
    /// The requests that a new debugger has to hear again: `initialize`, `launch`, breakpoints.
    setup: BTreeMap<String, (String, Value)>,
    /// The numbers of the user's breakpoints, by the request that set them.
    breakpoints: BTreeMap<String, Vec<i64>>,
    /// The event to go to first.
    first: Option<usize>,
    /// The stop that was reported last.
    pub(super) here: Option<Stop>,
    /// The breakpoint at a place that time travel waits for.
    pub(super) awaited: Option<i64>,
    /// While time travel moves the program: how far it was before (see [`Table::progress`]).
    pub(super) travels_from: Option<(u64, u64)>,
    /// The debugger that was ended because it said nothing for very long.
    pub(super) given_up: Option<u32>,
    /// Whether the debugger takes breakpoints before it has heard of the program. The editor is told when it has.
    is_early: bool,
    is_over: bool,
}

/// A stop of the program.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// The thread, as the debugger counts.
    pub(crate) thread: i64,
    pub(crate) reason: String,
    pub(crate) standing: Standing,
    /// If a watchpoint stopped the program, the number of events that were made before.
    pub(crate) watched: Option<u64>,
}

/// A line for people and the place that the program stands at, for editors that show both.
const POSITION: &str = "raddle/position";

/// How long the debugger may be silent on the way to a place before the table is asked, and before it is given up.
const SILENCE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);

/// How much later than the answer to a question a report may come that was made before.
const LATE: Duration = Duration::from_millis(200);

/// How many threads are looked at to find one that is left.
const MOST_LEFT: u32 = 500;

impl Session {
    /// A session with an editor that reads from `to` and writes to `from`.
    pub(crate) fn new(
        from: impl std::io::BufRead + Send + 'static,
        to: impl Write + 'static,
        debugger: Debugger,
        request: Option<Request>,
    ) -> Result<Session> {
        let (sender, receiver) = mpsc::channel();
        listen_to_editor(from, sender.clone());
        let table = Table::create()?;
        let inner = Inner::start(debugger, &table, receiver, sender)?;
        Ok(Session {
            editor: Box::new(to),
            seq: 0,
            inner,
            table,
            request,
            target: None,
            setup: BTreeMap::new(),
            breakpoints: BTreeMap::new(),
            first: None,
            here: None,
            awaited: None,
            travels_from: None,
            given_up: None,
            is_early: false,
            is_over: false,
        })
    }

    /// Serves the editor until it goes away.
    pub(crate) fn serve(mut self) {
        while !self.is_over {
            self.deliver();
            match self.inner.from_editor.pop_front() {
                Some(Message::Editor(request)) => self.handle(request),
                Some(_) => self.is_over = true,
                None if self.inner.is_gone && self.target.is_none() => {
                    self.say("the debugger could not be started\n");
                    self.is_over = true;
                }
                None => drop(self.inner.receive(None)),
            }
        }
        self.inner.end();
        remove_plug_in(self.table.path());
    }

    fn handle(&mut self, request: Value) {
        let command = request["command"].as_str().unwrap_or_default().to_owned();
        let arguments = request["arguments"].clone();
        match &*command {
            "initialize" => {
                self.setup.insert("0".to_owned(), (command, arguments.clone()));
                let answer = self.inner.ask("initialize", &arguments).map(with_time_travel);
                self.answer(&request, answer);
            }
            "launch" | "attach" => self.launch(request, &arguments),
            "configurationDone" => self.start(request),
            "threads"
            | "setExceptionBreakpoints"
            | "setBreakpoints"
            | "setFunctionBreakpoints"
            | "setDataBreakpoints"
            | "setInstructionBreakpoints" => {
                self.remember(&command, &arguments);
                self.inner.forward(request);
            }
            "stackTrace" => {
                let answer = self.stack_trace(&arguments);
                self.answer(&request, answer);
            }
            "continue" | "next" | "stepIn" | "stepOut" => {
                self.answer(&request, Ok(json!({"allThreadsContinued": true})));
                let moved = self.step(&command, &arguments);
                self.report(moved);
            }
            "stepBack" | "reverseContinue" => {
                self.answer(&request, Ok(json!({})));
                let moved = if command == "stepBack" { self.step_back() } else { self.reverse_continue() };
                self.report(moved);
            }
            "raddle/gotoEvent" | "gotoEvent" => {
                let answer = self.wanted_event(&arguments);
                match answer {
                    Ok(event) => {
                        self.answer(&request, Ok(json!({"event": event})));
                        let moved = self.go_to(event);
                        self.report(moved);
                    }
                    Err(error) => self.answer(&request, Err(error)),
                }
            }
            "raddle/events" => {
                let events = self.target.as_ref().map(|target| {
                    (0..target.events.len()).map(|event| target.events.describe(event)).collect::<Vec<_>>()
                });
                self.answer(&request, Ok(json!({"events": events.unwrap_or_default()})));
            }
            "restart" => {
                self.answer(&request, Ok(json!({})));
                let first = self.first.unwrap_or(0);
                let moved = self.go_to(first);
                self.report(moved);
            }
            "evaluate" if is_own_command(&arguments) => self.console(&request, &arguments),
            "disconnect" | "terminate" => {
                self.answer(&request, Ok(json!({})));
                self.tell("terminated", json!({}));
                self.is_over |= command == "disconnect";
                self.inner.end();
            }
            _ => self.inner.forward(request),
        }
    }

    /// Builds the test and lets the debugger load it.
    fn launch(&mut self, request: Value, arguments: &Value) {
        let launched = self.prepare(arguments);
        match launched {
            Ok(arguments) => {
                self.setup.insert("1".to_owned(), ("launch".to_owned(), arguments.clone()));
                let seq = self.inner.send("launch", &arguments);
                self.inner.expect(seq, request);
                if std::mem::take(&mut self.is_early) {
                    self.tell("initialized", json!({}));
                }
            }
            Err(error) => {
                self.say(&format!("error: {error}\n"));
                self.answer(&request, Err(error));
                self.tell("terminated", json!({}));
            }
        }
    }

    fn prepare(&mut self, arguments: &Value) -> Result<Value> {
        let mut asked = self.request.clone();
        if let Some(file) = arguments["failure"].as_str() {
            let force = arguments["force"].as_bool().unwrap_or_default();
            asked = Some(Request { file: file.into(), force });
        }
        let asked = asked.ok_or_else(|| {
            Error::usage("which failure? Give the failure file on the command line, or as `failure` of the configuration")
        })?;
        self.say(&format!("building the test of {}\n", asked.file.display()));
        let target = Target::build(&asked, self.table.path())?;
        let failing = target.events.failing();
        self.first = Some(match &arguments["event"] {
            Value::Number(event) => event.as_u64().map_or(failing, |event| event as usize),
            Value::String(text) if text == "first" => target.events.first(),
            _ => failing,
        });
        let launch = self.inner.debugger.launch(&target.program, self.table.path())?;
        if let Some(command) = self.inner.debugger.load(&target.program) {
            let arguments = json!({"expression": command, "context": "repl"});
            self.inner.ask("evaluate", &arguments)?;
            self.setup.insert("0 load".to_owned(), ("evaluate".to_owned(), arguments));
        }
        self.target = Some(target);
        Ok(launch)
    }

    /// Lets the program run to the first event that the editor wants to see.
    fn start(&mut self, request: Value) {
        if let Some((thread, number)) = self.first.and_then(|event| self.target.as_ref()?.events.place(event))
        {
            self.table.stop_at(thread, number);
        }
        self.switch_breakpoints(false);
        let seq = self.inner.send("configurationDone", &json!({}));
        self.inner.expect(seq, request);
        let stop = self.wait_for_stop();
        self.table.stop_nowhere();
        self.switch_breakpoints(true);
        self.report(stop);
    }

    /// Starts debugger and program again, after one of them ended: as far as it waits for `configurationDone`.
    pub(super) fn relaunch(&mut self) -> Result<()> {
        self.table.clear();
        self.awaited = None;
        self.inner.restart(&self.table)?;
        let setup: Vec<_> = self.setup.values().cloned().collect();
        for (command, arguments) in setup {
            if command == "launch" {
                self.inner.send(&command, &arguments);
                // gdb says so before it hears of the program.
                let is_ready =
                    |inner: &Inner| inner.arrived.iter().any(|arrived| is_event(arrived, "initialized"));
                while !self.inner.is_gone && !is_ready(&self.inner) {
                    self.inner.receive(None);
                }
                self.inner.arrived.retain(|arrived| !is_event(arrived, "initialized"));
            } else if let Ok(answer) = self.inner.ask(&command, &arguments) {
                self.note_breakpoints(&command, &arguments, &answer);
            }
        }
        Ok(())
    }

    /// Waits until the program stops. Meanwhile the editor can interrupt it and set breakpoints.
    ///
    /// While time travel moves the program, which takes milliseconds, the debugger is not trusted to report each stop. If it is
    /// silent although the table says that the program has moved on and stands still, it stands there; if it is silent for
    /// very long, the debugger is ended.
    pub(super) fn wait_for_stop(&mut self) -> Result<Stop> {
        let mut waiting = Vec::new();
        let mut silent = Duration::ZERO;
        let stop = loop {
            if let Some(stop) = self.deliver() {
                break Ok(stop);
            }
            if self.inner.is_gone {
                break Err(Error::usage("the test has ended"));
            }
            match self.inner.from_editor.pop_front() {
                Some(Message::Editor(request)) => match request["command"].as_str().unwrap_or_default() {
                    "pause" | "setBreakpoints" | "setFunctionBreakpoints" | "setDataBreakpoints" => {
                        let command = request["command"].as_str().unwrap_or_default().to_owned();
                        self.remember(&command, &request["arguments"]);
                        self.inner.forward(request);
                    }
                    "disconnect" | "terminate" => {
                        waiting.insert(0, Message::Editor(request));
                        break Err(Error::usage("the session is over"));
                    }
                    _ => waiting.push(Message::Editor(request)),
                },
                Some(gone) => {
                    waiting.insert(0, gone);
                    break Err(Error::usage("the session is over"));
                }
                None => match self.travels_from {
                    None => drop(self.inner.receive(None)),
                    Some(_) if self.inner.receive_within(SILENCE) => silent = Duration::ZERO,
                    Some(before) => {
                        silent += SILENCE;
                        let standing = self.table.standing();
                        if standing != Standing::Elsewhere
                            && self.table.progress() != before
                            && let Some(stop) = self.unreported(standing)
                        {
                            break Ok(stop);
                        }
                        if silent >= PATIENCE {
                            self.given_up = Some(self.inner.generation);
                            self.inner.end();
                            self.inner.is_gone = true;
                        }
                    }
                },
            }
        };
        for message in waiting.into_iter().rev() {
            self.inner.from_editor.push_front(message);
        }
        stop
    }

    /// The stop that the table tells of, and the debugger does not; none if the debugger holds that the program runs.
    fn unreported(&mut self, standing: Standing) -> Option<Stop> {
        let running = self.table.running().map(|running| FIRST_THREAD + i64::from(running));
        let thread = running.or(self.here.as_ref().map(|here| here.thread)).unwrap_or_default();
        let top = json!({"threadId": thread, "startFrame": 0, "levels": 1});
        let stack = self.inner.ask_within(SILENCE, "stackTrace", &top)?;
        if stack["stackFrames"].as_array().is_none_or(Vec::is_empty) {
            return None;
        }
        // A report that is only late would be taken for that of the next stop.
        while self.inner.receive_within(LATE) {}
        self.inner.arrived.retain(|arrived| !is_event(arrived, "stopped"));
        Some(Stop { thread, reason: "breakpoint".to_owned(), standing, watched: None })
    }

    /// Hands what the debugger has said to the editor. Returns a stop.
    fn deliver(&mut self) -> Option<Stop> {
        while let Some(arrived) = self.inner.arrived.pop_front() {
            match arrived {
                Arrived::Answer(request, answer) => self.deliver_answer(&request, answer),
                Arrived::Event(event) => match event["event"].as_str().unwrap_or_default() {
                    // One stop is reported for each thread that it concerns; the first report has the focus.
                    "stopped" if event["body"]["preserveFocusHint"] == json!(true) => {}
                    "stopped" => return Some(self.stop(&event["body"])),
                    // The session says when it goes on.
                    "continued" => {}
                    "initialized" if self.target.is_none() => self.is_early = true,
                    // gdb tells of all breakpoints, time travel's among them.
                    "breakpoint" if !self.is_users(&event["body"]["breakpoint"]) => {}
                    // The program is started again when it is needed, with a new debugger.
                    "terminated" | "exited" if self.target.is_some() && self.here.is_some() => {
                        self.inner.is_gone = true;
                    }
                    name => {
                        let name = name.to_owned();
                        self.tell(&name, event["body"].clone());
                    }
                },
            }
        }
        None
    }

    fn deliver_answer(&mut self, request: &Value, answer: Value) {
        let command = request["command"].as_str().unwrap_or_default();
        if answer["success"] != json!(true) {
            let mut answer = answer;
            answer["request_seq"] = request["seq"].clone();
            return self.write(answer);
        }
        let mut body = answer["body"].clone();
        match command {
            "threads" => self.tidy_threads(&mut body),
            _ => self.note_breakpoints(command, &request["arguments"], &body),
        }
        self.answer(request, Ok(body));
    }

    fn stop(&mut self, body: &Value) -> Stop {
        let mut thread = body["threadId"].as_i64().unwrap_or_default();
        if self.inner.debugger.kind == Kind::Gdb {
            // It knows only the OS thread: the virtual thread that runs there is shown in its place.
            self.inner.os_thread = thread;
            thread = self.table.running().map_or(thread, |running| FIRST_THREAD + i64::from(running));
        }
        // LLDB calls it a breakpoint as well.
        let is_watch = body["reason"] == "data breakpoint"
            || body["description"].as_str().is_some_and(|text| text.starts_with("watchpoint"));
        Stop {
            thread,
            reason: body["reason"].as_str().unwrap_or("pause").to_owned(),
            standing: self.table.standing(),
            watched: is_watch.then(|| self.table.made()),
        }
    }

    /// Tells the editor where the program stands now.
    pub(super) fn report(&mut self, stop: Result<Stop>) {
        let stop = match stop {
            Ok(stop) => stop,
            Err(error) => {
                self.say(&format!("{error}\n"));
                match self.here.clone() {
                    Some(here) if !self.inner.is_gone => here,
                    _ => return self.tell("terminated", json!({})),
                }
            }
        };
        let mut stop = stop;
        let mut body = json!({"allThreadsStopped": true, "reason": stop.reason});
        if stop.standing == Standing::End {
            // No thread runs any more: the one that failed, or made the last event, is shown, or another one that is left.
            let failing =
                self.target.as_ref().and_then(|target| target.events.place(target.events.failing()));
            let wanted = virtual_thread(stop.thread).or(failing.map(|(thread, _)| thread));
            let mut left = wanted.into_iter().chain(0..MOST_LEFT);
            if let Some(thread) = left.find(|&thread| self.table.is_alive(thread)) {
                stop.thread = FIRST_THREAD + i64::from(thread);
            }
            body["reason"] = json!("pause");
            body["description"] = json!("the end of the execution");
        } else if stop.standing == Standing::Event {
            body["reason"] = json!("goto");
        }
        body["threadId"] = json!(stop.thread);
        let position = self.position(&stop);
        if let Some(text) = position["text"].as_str().filter(|_| stop.standing == Standing::Event) {
            body["description"] = json!(format!("event {text}"));
        }
        self.here = Some(stop);
        self.tell("stopped", body);
        self.tell(POSITION, position);
    }

    /// Where the program stands, by events: the last one that the stopped thread has made.
    pub(super) fn position(&self, stop: &Stop) -> Value {
        let Some(target) = &self.target else { return json!({}) };
        let thread = virtual_thread(stop.thread);
        let last = thread.and_then(|thread| {
            let number = self.table.made_by(thread).checked_sub(1)?;
            target.events.at(thread, number)
        });
        let standing = match stop.standing {
            Standing::Event => "event",
            Standing::End => "end",
            Standing::Elsewhere => "after",
        };
        json!({
            "event": last,
            "thread": thread,
            "standing": standing,
            "made": self.table.made(),
            "events": target.events.len(),
            "text": last.map(|event| target.events.describe(event).trim().to_owned()),
        })
    }

    /// The call stack of a thread, as the debugger has it.
    pub(super) fn frames(&mut self, thread: i64) -> Result<Vec<Value>> {
        let body =
            self.inner.ask("stackTrace", &json!({"threadId": thread, "startFrame": 0, "levels": 500}))?;
        Ok(body["stackFrames"].as_array().cloned().unwrap_or_default())
    }

    fn stack_trace(&mut self, arguments: &Value) -> Result<Value> {
        let thread = arguments["threadId"].as_i64().unwrap_or_default();
        let shown = frames::shown(&self.frames(thread)?);
        let start = arguments["startFrame"].as_u64().unwrap_or(0) as usize;
        let levels = arguments["levels"].as_u64().filter(|&levels| levels > 0).unwrap_or(u64::MAX);
        let total = shown.len();
        let page: Vec<_> =
            shown.into_iter().skip(start).take(levels.try_into().unwrap_or(usize::MAX)).collect();
        Ok(json!({"stackFrames": page, "totalFrames": total}))
    }

    /// Leaves the virtual threads, by their names, and hides those of Raddle.
    fn tidy_threads(&self, body: &mut Value) {
        let Some(threads) = body["threads"].as_array_mut() else { return };
        let here = self.here.as_ref().map(|stop| stop.thread);
        if let Some(running) = here.filter(|_| self.inner.debugger.kind == Kind::Gdb)
            && let Some(number) = virtual_thread(running)
        {
            *threads = vec![json!({"id": running, "name": format!("T{number}")})];
        }
        let has_virtual = threads.iter().any(|thread| virtual_thread_of(thread).is_some());
        if !has_virtual {
            return;
        }
        threads.retain(|thread| virtual_thread_of(thread).is_some() || thread["id"].as_i64() == here);
        let names = self.target.as_ref().map(|target| &target.events.failure().threads);
        for thread in threads {
            let Some(number) = virtual_thread_of(thread) else { continue };
            let name = names.and_then(|names| names.get(number as usize)?.name.as_deref());
            // The thread that runs the closure is the test's main thread.
            if let Some(name) = name.or((number == 0).then_some("main")) {
                thread["name"] = json!(format!("T{number} {name}"));
            }
        }
    }

    fn wanted_event(&self, arguments: &Value) -> Result<usize> {
        let events = self.target.as_ref().map_or(0, |target| target.events.len());
        let wanted = arguments["event"].as_u64().map(|event| event as usize);
        wanted.filter(|&event| event < events).ok_or_else(|| {
            Error::usage(format_args!("the failure has events 0 to {}", events.saturating_sub(1)))
        })
    }

    /// Remembers what a new debugger has to hear again.
    fn remember(&mut self, command: &str, arguments: &Value) {
        if command.starts_with("set") {
            self.setup.insert(key(command, arguments), (command.to_owned(), arguments.clone()));
        }
    }

    fn note_breakpoints(&mut self, command: &str, arguments: &Value, answer: &Value) {
        if command.starts_with("set")
            && let Some(set) = answer["breakpoints"].as_array()
        {
            let numbers = set.iter().filter_map(|breakpoint| breakpoint["id"].as_i64()).collect();
            self.breakpoints.insert(key(command, arguments), numbers);
        }
    }

    fn is_users(&self, breakpoint: &Value) -> bool {
        let number = breakpoint["id"].as_i64();
        number.is_some_and(|number| self.breakpoints.values().flatten().any(|&known| known == number))
    }

    /// Switches the user's breakpoints and watchpoints on or off.
    pub(super) fn switch_breakpoints(&mut self, on: bool) {
        let data = key("setDataBreakpoints", &json!({}));
        let mut numbers: Vec<i64> = self
            .breakpoints
            .iter()
            .filter(|(key, _)| **key != data)
            .flat_map(|(_, numbers)| numbers)
            .copied()
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        if !numbers.is_empty() {
            let command = self.inner.debugger.switch_breakpoints(on, &numbers);
            self.inner.console(&command, None).ok();
        }
        // lldb-dap 19 gives them no numbers.
        let watches = self.setup.get(&data).and_then(|(_, arguments)| arguments["breakpoints"].as_array());
        if watches.is_some_and(|watches| !watches.is_empty())
            && let Some(command) = self.inner.debugger.switch_watchpoints(on)
        {
            self.inner.console(&command, None).ok();
        }
    }

    /// Prints on the editor's console.
    pub(super) fn say(&mut self, text: &str) {
        self.tell("output", json!({"category": "console", "output": text}));
    }

    pub(super) fn answer(&mut self, request: &Value, answer: Result<Value>) {
        let mut message = json!({
            "type": "response",
            "request_seq": request["seq"],
            "command": request["command"],
            "success": answer.is_ok(),
        });
        match answer {
            Ok(body) => message["body"] = body,
            Err(error) => {
                message["message"] = json!(error.to_string());
                message["body"] = json!({"error": {"id": 1, "format": error.to_string(), "showUser": true}});
            }
        }
        self.write(message);
    }

    fn tell(&mut self, event: &str, body: Value) {
        self.write(json!({"type": "event", "event": event, "body": body}));
    }

    fn write(&mut self, mut message: Value) {
        self.seq += 1;
        message["seq"] = json!(self.seq);
        self.is_over |= framing::write(&mut self.editor, &message).is_err();
    }
}

/// The number of a virtual thread, from the debugger's.
pub(super) fn virtual_thread(thread: i64) -> Option<u32> {
    u32::try_from(thread.checked_sub(FIRST_THREAD)?).ok()
}

fn virtual_thread_of(thread: &Value) -> Option<u32> {
    virtual_thread(thread["id"].as_i64()?)
}

/// What this adapter can do: what the debugger can, and to go back.
fn with_time_travel(mut capabilities: Value) -> Value {
    capabilities["supportsStepBack"] = json!(true);
    capabilities["supportsConfigurationDoneRequest"] = json!(true);
    capabilities["supportsRestartRequest"] = json!(true);
    // These would leave the execution.
    for unable in ["supportsGotoTargetsRequest", "supportsRestartFrame", "supportsTerminateThreadsRequest"] {
        capabilities[unable] = json!(false);
    }
    capabilities
}

/// Whether an expression is a command of Raddle: `raddle goto 12`.
fn is_own_command(arguments: &Value) -> bool {
    let expression = arguments["expression"].as_str().unwrap_or_default().trim();
    let is_repl = arguments["context"].as_str().is_none_or(|context| context == "repl");
    is_repl && (expression == "raddle" || expression.starts_with("raddle "))
}

fn is_event(arrived: &Arrived, name: &str) -> bool {
    matches!(arrived, Arrived::Event(event) if event["event"] == name)
}

/// What a request that sets breakpoints replaces: those of its kind, in its file.
fn key(command: &str, arguments: &Value) -> String {
    let source = arguments["source"]["path"].as_str().or(arguments["source"]["name"].as_str());
    format!("2 {command} {}", source.unwrap_or_default())
}
