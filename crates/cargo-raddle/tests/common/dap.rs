//! A client of the Debug Adapter Protocol, as small as a test needs it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any answer takes, the build of the test included.
const PATIENCE: Duration = Duration::from_secs(600);

/// A session with a debug adapter.
pub(crate) struct Client {
    child: Child,
    to: ChildStdin,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    seq: i64,
    /// The thread that stopped last.
    pub(crate) thread: i64,
    /// Where it stopped, by events.
    pub(crate) position: Value,
}

impl Client {
    /// Starts an adapter and goes to where it stops first.
    pub(crate) fn launch(mut command: Command, configuration: Value, breakpoints: &[(&str, u64)]) -> Client {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || while read(&mut from).is_some_and(|message| sender.send(message).is_ok()) {});
        let to = child.stdin.take().unwrap();
        let mut client =
            Client { child, to, messages, events: VecDeque::new(), seq: 0, thread: 0, position: Value::Null };
        let capabilities = client.ask("initialize", json!({"adapterID": "raddle", "linesStartAt1": true}));
        assert_eq!(capabilities["supportsStepBack"], json!(true));
        client.send("launch", configuration);
        client.event("initialized");
        for &(path, line) in breakpoints {
            let arguments = json!({"source": {"path": path}, "breakpoints": [{"line": line}]});
            let body = client.ask("setBreakpoints", arguments);
            assert_eq!(body["breakpoints"][0]["verified"], json!(true), "{body}");
        }
        client.go("configurationDone", json!({}));
        client
    }

    /// Sends a request and returns the body of its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.answer(command, arguments);
        assert_eq!(answer["success"], json!(true), "{answer}");
        answer["body"].clone()
    }

    /// Sends a request that is refused, and returns the reason.
    #[track_caller]
    pub(crate) fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.answer(command, arguments);
        assert_eq!(answer["success"], json!(false), "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn answer(&mut self, command: &str, arguments: Value) -> Value {
        let seq = self.send(command, arguments);
        loop {
            let message = self.receive();
            if message["type"] == "response" && message["request_seq"] == json!(seq) {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// Sends a request that moves the program, and waits until it has stopped.
    #[track_caller]
    pub(crate) fn go(&mut self, command: &str, arguments: Value) -> &mut Client {
        self.events.clear();
        self.send(command, arguments);
        self.thread = self.event("stopped")["threadId"].as_i64().unwrap();
        self.position = self.event("raddle/position");
        self
    }

    /// Moves the thread that stopped last.
    #[track_caller]
    pub(crate) fn step(&mut self, command: &str) -> &mut Client {
        self.go(command, json!({"threadId": self.thread}))
    }

    #[track_caller]
    pub(crate) fn go_to(&mut self, event: usize) -> &mut Client {
        self.go("raddle/gotoEvent", json!({"event": event}))
    }

    /// The call stack of a thread, innermost frame first.
    #[track_caller]
    pub(crate) fn stack(&mut self, thread: i64) -> Vec<Value> {
        self.ask("stackTrace", json!({"threadId": thread}))["stackFrames"].as_array().unwrap().clone()
    }

    /// The source text of the innermost line of a thread.
    #[track_caller]
    pub(crate) fn line_of(&mut self, thread: i64) -> String {
        let stack = self.stack(thread);
        let top = stack.first().expect("a frame");
        let path = top["source"]["path"].as_str().unwrap_or_else(|| panic!("no source: {top}"));
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().nth(top["line"].as_u64().unwrap() as usize - 1).unwrap().trim().to_owned()
    }

    /// The source text of the line that the program stands at.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.line_of(self.thread)
    }

    #[track_caller]
    pub(crate) fn stands_at(&mut self, text: &str) -> &mut Client {
        let line = self.line();
        assert!(line.contains(text), "stands at `{line}` instead of `{text}`: {}", self.position);
        self
    }

    /// The value of a local of the innermost function.
    #[track_caller]
    pub(crate) fn local(&mut self, name: &str) -> Option<String> {
        let frame = self.stack(self.thread)[0]["id"].clone();
        let scopes = self.ask("scopes", json!({"frameId": frame}));
        // gdb has a scope of its own for arguments.
        let is_local = |scope: &&Value| matches!(scope["name"].as_str(), Some("Locals" | "Arguments"));
        scopes["scopes"].as_array().unwrap().iter().filter(is_local).find_map(|scope| {
            let body = self.ask("variables", json!({"variablesReference": scope["variablesReference"]}));
            let variables = body["variables"].as_array().unwrap();
            let found = variables.iter().find(|variable| variable["name"] == name)?;
            Some(found["value"].as_str().unwrap().to_owned())
        })
    }

    /// The value of an expression, as a number.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> String {
        let frame = self.stack(self.thread)[0]["id"].clone();
        let arguments = json!({"expression": expression, "frameId": frame, "context": "watch"});
        let body = self.ask("evaluate", arguments);
        let text = body["result"].as_str().unwrap().to_owned();
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        if digits.is_empty() { text } else { digits }
    }

    /// Makes the program stop when the memory changes that an expression of the innermost function points to.
    #[track_caller]
    pub(crate) fn watch(&mut self, pointer: &str) {
        let frame = self.stack(self.thread)[0]["id"].clone();
        let found = self.ask("dataBreakpointInfo", json!({"name": pointer, "frameId": frame}));
        let breakpoint = json!({"dataId": found["dataId"], "accessType": "write"});
        let body = self.ask("setDataBreakpoints", json!({"breakpoints": [breakpoint]}));
        assert_eq!(body["breakpoints"][0]["verified"], json!(true), "{found} {body}");
    }

    /// Types a command on the console.
    #[track_caller]
    pub(crate) fn console(&mut self, command: &str) -> &mut Client {
        self.go("evaluate", json!({"expression": command, "context": "repl"}))
    }

    /// The threads: number and name.
    #[track_caller]
    pub(crate) fn threads(&mut self) -> Vec<(i64, String)> {
        let body = self.ask("threads", json!({}));
        let threads = body["threads"].as_array().unwrap().iter();
        threads
            .map(|thread| (thread["id"].as_i64().unwrap(), thread["name"].as_str().unwrap().to_owned()))
            .collect()
    }

    #[track_caller]
    fn event(&mut self, name: &str) -> Value {
        while let Some(message) = self.events.pop_front() {
            if message["event"] == name {
                return message["body"].clone();
            }
        }
        loop {
            let message = self.receive();
            if message["event"] == name {
                return message["body"].clone();
            }
            assert!(message["event"] != "terminated", "the session ended while `{name}` was awaited");
        }
    }

    fn send(&mut self, command: &str, arguments: Value) -> i64 {
        self.seq += 1;
        let body = json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments})
            .to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.to.flush().unwrap();
        self.seq
    }

    #[track_caller]
    fn receive(&mut self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("the adapter answers")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // An adapter that is told removes its files.
        let body = json!({"seq": self.seq + 1, "type": "request", "command": "disconnect"}).to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{body}", body.len()).ok();
        self.to.flush().ok();
        for _ in 0..50 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((_, value)) => length = value.parse().ok()?,
            None => break,
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
