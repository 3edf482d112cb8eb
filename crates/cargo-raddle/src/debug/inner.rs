//! The debugger as a partner in conversation: requests and their answers, and stops.
//!
//! Everything that arrives, from the editor and from the debugger, comes through one channel, so that nothing is missed while an
//! answer is awaited.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::adapter::{Debugger, FIRST_THREAD, Kind, Running};
use super::framing;
use super::table::Table;
use crate::error::{Error, Result};

/// Something that arrived.
#[derive(Debug)]
pub(crate) enum Message {
    /// From the editor.
    Editor(Value),
    /// From the debugger with this number.
    Debugger(u32, Value),
    /// The editor has gone.
    EditorGone,
    /// The debugger with this number has gone.
    DebuggerGone(u32),
}

/// The debugger.
pub(crate) struct Inner {
    pub(crate) debugger: Debugger,
    child: Child,
    to: ChildStdin,
    messages: Receiver<Message>,
    sender: Sender<Message>,
    /// Its number: each restart has the next one, so that late messages of the one before are told apart.
    pub(crate) generation: u32,
    seq: i64,
    /// Requests of the editor that were passed on: the editor's request, by the number it has here.
    forwarded: HashMap<i64, Value>,
    /// What arrived from the editor and was not dealt with.
    pub(crate) from_editor: VecDeque<Message>,
    /// What arrived from the debugger, other than awaited answers.
    pub(crate) arrived: VecDeque<Arrived>,
    /// Whether the program or the debugger is gone.
    pub(crate) is_gone: bool,
    /// The OS thread that stopped last, which virtual threads stand for where the debugger does not know these.
    pub(crate) os_thread: i64,
}

/// What the debugger has said.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// The answer to a request of the editor, which comes first.
    Answer(Value, Value),
    /// An event.
    Event(Value),
}

impl Inner {
    pub(crate) fn start(
        debugger: Debugger,
        table: &Table,
        messages: Receiver<Message>,
        sender: Sender<Message>,
    ) -> Result<Inner> {
        let Running { child, to, from } = debugger.start(table.path())?;
        listen(from, sender.clone(), 0);
        Ok(Inner {
            debugger,
            child,
            to,
            messages,
            sender,
            generation: 0,
            seq: 0,
            forwarded: HashMap::new(),
            from_editor: VecDeque::new(),
            arrived: VecDeque::new(),
            is_gone: false,
            os_thread: 0,
        })
    }

    /// Ends the debugger and starts a new one.
    pub(crate) fn restart(&mut self, table: &Table) -> Result<()> {
        self.end();
        let Running { child, to, from } = self.debugger.start(table.path())?;
        (self.child, self.to) = (child, to);
        self.generation += 1;
        self.is_gone = false;
        self.forwarded.clear();
        self.arrived.clear();
        listen(from, self.sender.clone(), self.generation);
        Ok(())
    }

    /// Ends the debugger, and with it the program.
    pub(crate) fn end(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }

    /// Sends a request and returns its number.
    pub(crate) fn send(&mut self, command: &str, arguments: &Value) -> i64 {
        self.seq += 1;
        let mut message =
            json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments});
        if self.debugger.kind == Kind::Gdb
            && let Some(thread) = message["arguments"].get_mut("threadId")
            && thread.as_i64().is_some_and(|thread| thread >= FIRST_THREAD)
        {
            *thread = json!(self.os_thread);
        }
        if framing::write(&mut self.to, &message).is_err() {
            self.is_gone = true;
        }
        self.seq
    }

    /// Passes a request of the editor on.
    pub(crate) fn forward(&mut self, request: Value) {
        let command = request["command"].as_str().unwrap_or_default().to_owned();
        let seq = self.send(&command, &request["arguments"]);
        self.forwarded.insert(seq, request);
    }

    /// Hands the answer to a request to the editor, as that to a request of the editor.
    pub(crate) fn expect(&mut self, seq: i64, request: Value) {
        self.forwarded.insert(seq, request);
    }

    /// Sends a request and waits for its answer: the body, or the reason why there is none.
    pub(crate) fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        let seq = self.send(command, arguments);
        while !self.is_gone {
            if let Some(answer) = self.receive(Some(seq)) {
                if answer["success"] == json!(true) {
                    return Ok(answer["body"].clone());
                }
                let reason = answer["body"]["error"]["format"].as_str().or(answer["message"].as_str());
                let reason = reason.unwrap_or("no reason given");
                return Err(Error::usage(format_args!("the debugger refuses `{command}`: {reason}")));
            }
        }
        Err(Error::usage("the debugger has ended"))
    }

    /// Sends a request and waits for its answer for a while. None if there is none, or if the debugger refuses.
    pub(crate) fn ask_within(&mut self, limit: Duration, command: &str, arguments: &Value) -> Option<Value> {
        let seq = self.send(command, arguments);
        let end = Instant::now() + limit;
        while !self.is_gone {
            match self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) => {
                    if let Some(answer) = self.take_in(message, Some(seq)) {
                        return (answer["success"] == json!(true)).then(|| answer["body"].clone());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => self.is_gone = true,
                Err(RecvTimeoutError::Timeout) => return None,
            }
        }
        None
    }

    /// Runs a command of the debugger's own console.
    pub(crate) fn console(&mut self, command: &str, frame: Option<i64>) -> Result<Value> {
        let mut arguments = json!({"expression": command, "context": "repl"});
        if let Some(frame) = frame {
            arguments["frameId"] = json!(frame);
        }
        self.ask("evaluate", &arguments)
    }

    /// Takes in the next message. Returns it if it is the answer to the request with this number.
    pub(crate) fn receive(&mut self, awaited: Option<i64>) -> Option<Value> {
        match self.messages.recv() {
            Ok(message) => self.take_in(message, awaited),
            Err(_) => {
                self.is_gone = true;
                None
            }
        }
    }

    /// Takes in the next message, if one comes in time. False if none does.
    pub(crate) fn receive_within(&mut self, limit: Duration) -> bool {
        match self.messages.recv_timeout(limit) {
            Ok(message) => _ = self.take_in(message, None),
            Err(RecvTimeoutError::Disconnected) => self.is_gone = true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
        true
    }

    fn take_in(&mut self, message: Message, awaited: Option<i64>) -> Option<Value> {
        match message {
            Message::Debugger(generation, message) if generation == self.generation => {
                if message["type"] == "event" {
                    self.arrived.push_back(Arrived::Event(message));
                    return None;
                }
                let seq = message["request_seq"].as_i64();
                if seq.is_some() && seq == awaited {
                    return Some(message);
                }
                if let Some(request) = seq.and_then(|seq| self.forwarded.remove(&seq)) {
                    self.arrived.push_back(Arrived::Answer(request, message));
                }
            }
            Message::DebuggerGone(generation) if generation == self.generation => self.is_gone = true,
            Message::Debugger(..) | Message::DebuggerGone(_) => {}
            editors => self.from_editor.push_back(editors),
        }
        None
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads messages of the debugger in a thread of their own.
fn listen(mut from: impl BufRead + Send + 'static, to: Sender<Message>, generation: u32) {
    thread::spawn(move || {
        while let Ok(Some(message)) = framing::read(&mut from) {
            if to.send(Message::Debugger(generation, message)).is_err() {
                return;
            }
        }
        to.send(Message::DebuggerGone(generation)).ok();
    });
}

/// Reads messages of the editor in a thread of their own.
pub(crate) fn listen_to_editor(mut from: impl BufRead + Send + 'static, to: Sender<Message>) {
    thread::spawn(move || {
        while let Ok(Some(message)) = framing::read(&mut from) {
            if to.send(Message::Editor(message)).is_err() {
                return;
            }
        }
        to.send(Message::EditorGone).ok();
    });
}
