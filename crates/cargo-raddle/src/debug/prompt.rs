//! A command line over the same session that editors use, for those without an editor.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::thread;

use serde_json::{Value, json};

use super::adapter::Debugger;
use super::framing;
use super::session::Session;
use super::target::Request;
use crate::error::{Error, Result};

const HELP: &str = "\
goto N (g)           go to event N
events (e)           list the events
back (b)             back one line
next (n)             over one line
step (s)             one line, into functions
out (o)              out of the function
continue (c)         to the next breakpoint or the end
reverse-continue (rc) back to the breakpoint before
prev                 back to the event before, of this thread
prev-write           back to the last write of this location
why [WHAT] (w)       where a value came from, who wrote a location: as `cargo raddle why`
break FILE:LINE      set a breakpoint
locals (l)           show the variables of the function
print EXPR (p)       show a value
bt                   show the call stack
threads (t)          show the threads
thread N             look at another thread
quit (q)             end

An empty line repeats the last command. Anything else goes to the debugger.";

/// The session seen from its user.
struct Client {
    debugger: Debugger,
    to: PipeWriter,
    from: BufReader<PipeReader>,
    seq: i64,
    thread: i64,
    breakpoints: Vec<(String, Vec<u64>)>,
    is_over: bool,
}

/// Reads commands from standard input and carries them out.
pub(crate) fn prompt(debugger: Debugger, request: Request) -> Result<()> {
    let pipe = || io::pipe().map_err(|error| Error::usage(format_args!("no pipes: {error}")));
    let ((from_us, to), (from, to_us)) = (pipe()?, pipe()?);
    let partner = debugger.clone();
    let session =
        thread::spawn(move || match Session::new(BufReader::new(from_us), to_us, partner, Some(request)) {
            Ok(session) => session.serve(),
            Err(error) => eprintln!("error: {error}"),
        });
    let mut client = Client {
        debugger,
        to,
        from: BufReader::new(from),
        seq: 0,
        thread: 0,
        breakpoints: Vec::new(),
        is_over: false,
    };
    client.begin();
    client.read_commands();
    client.send("disconnect", json!({"terminateDebuggee": true}));
    drop(client);
    session.join().ok();
    Ok(())
}

impl Client {
    fn begin(&mut self) {
        self.ask("initialize", json!({"adapterID": "raddle", "linesStartAt1": true, "pathFormat": "path"}));
        self.send("launch", json!({}));
        self.wait_for("initialized");
        self.move_by("configurationDone", json!({}));
    }

    fn read_commands(&mut self) {
        let mut last = String::new();
        while !self.is_over {
            print!("(raddle) ");
            io::stdout().flush().ok();
            let mut line = String::new();
            if io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
                println!();
                return;
            }
            let line = if line.trim().is_empty() { last.clone() } else { line.trim().to_owned() };
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            if matches!(verb, "quit" | "q" | "exit") {
                return;
            }
            self.carry_out(verb, rest.trim(), &line);
            last = line;
        }
    }

    fn carry_out(&mut self, verb: &str, rest: &str, line: &str) {
        let thread = json!({"threadId": self.thread});
        match verb {
            "" => {}
            "help" | "h" => println!("{HELP}"),
            "goto" | "g" => match rest.parse::<u64>() {
                Ok(event) => self.move_by("raddle/gotoEvent", json!({"event": event})),
                Err(_) => println!("`goto` takes the number of an event: see `events`"),
            },
            "prev" | "prev-write" => {
                let expression = format!("raddle {verb}");
                self.move_by("evaluate", json!({"expression": expression, "context": "repl"}));
            }
            "why" | "w" => {
                let expression = format!("raddle why {rest}");
                let body = self.ask("evaluate", json!({"expression": expression, "context": "repl"}));
                println!("{}", body["result"].as_str().unwrap_or_default());
            }
            "events" | "e" => {
                let body = self.ask("raddle/events", json!({}));
                for event in body["events"].as_array().into_iter().flatten() {
                    println!("{}", event.as_str().unwrap_or_default());
                }
            }
            "back" | "b" => self.move_by("stepBack", thread),
            "next" | "n" => self.move_by("next", thread),
            "step" | "s" => self.move_by("stepIn", thread),
            "out" | "o" => self.move_by("stepOut", thread),
            "continue" | "c" => self.move_by("continue", thread),
            "reverse-continue" | "rc" => self.move_by("reverseContinue", thread),
            "break" => self.set_breakpoint(rest),
            "locals" | "l" => self.show_locals(),
            "print" | "p" => {
                let frame = self.top()["id"].clone();
                let body =
                    self.ask("evaluate", json!({"expression": rest, "frameId": frame, "context": "watch"}));
                println!("{}", body["result"].as_str().unwrap_or_default());
            }
            "bt" => {
                for (number, frame) in self.frames().iter().enumerate() {
                    println!("{number:>3}  {}  {}", frame["name"].as_str().unwrap_or_default(), place(frame));
                }
            }
            "threads" | "t" => {
                let body = self.ask("threads", json!({}));
                for thread in body["threads"].as_array().into_iter().flatten() {
                    let mark = if thread["id"] == json!(self.thread) { '*' } else { ' ' };
                    let number = super::session::virtual_thread(thread["id"].as_i64().unwrap_or_default());
                    println!(
                        "{mark} {:>3}  {}",
                        number.unwrap_or(0),
                        thread["name"].as_str().unwrap_or_default()
                    );
                }
            }
            "thread" => match rest.parse::<i64>() {
                Ok(number) => {
                    self.thread = super::adapter::FIRST_THREAD + number;
                    self.show_place();
                }
                Err(_) => println!("`thread` takes the number of a thread: see `threads`"),
            },
            _ => {
                let frame = self.top()["id"].clone();
                let expression = self.debugger.command(line);
                let body = self
                    .ask("evaluate", json!({"expression": expression, "frameId": frame, "context": "repl"}));
                println!("{}", body["result"].as_str().unwrap_or_default().trim_end());
            }
        }
    }

    fn set_breakpoint(&mut self, place: &str) {
        let Some((file, line)) =
            place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)))
        else {
            return println!("`break` takes a file and a line: break src/lib.rs:12");
        };
        let path = std::path::absolute(file).map_or(file.to_owned(), |path| path.display().to_string());
        let index = match self.breakpoints.iter().position(|(known, _)| *known == path) {
            Some(index) => index,
            None => {
                self.breakpoints.push((path.clone(), Vec::new()));
                self.breakpoints.len() - 1
            }
        };
        self.breakpoints[index].1.push(line);
        let lines: Vec<_> = self.breakpoints[index].1.iter().map(|line| json!({"line": line})).collect();
        let body = self.ask("setBreakpoints", json!({"source": {"path": path}, "breakpoints": lines}));
        let set = body["breakpoints"].as_array().and_then(|set| set.last()).cloned().unwrap_or_default();
        match set["verified"].as_bool() {
            Some(true) => println!("breakpoint at line {}", set["line"].as_u64().unwrap_or(line)),
            _ => println!("there is no code at {file}:{line}"),
        }
    }

    fn show_locals(&mut self) {
        let frame = self.top()["id"].clone();
        let scopes = self.ask("scopes", json!({"frameId": frame}));
        // gdb has a scope of its own for arguments. Those of globals and registers are others.
        let is_local = |scope: &&Value| matches!(scope["name"].as_str(), Some("Locals" | "Arguments"));
        for scope in scopes["scopes"].as_array().into_iter().flatten().filter(is_local) {
            let body = self.ask("variables", json!({"variablesReference": scope["variablesReference"]}));
            for variable in body["variables"].as_array().into_iter().flatten() {
                let text = |field: &str| variable[field].as_str().unwrap_or_default().to_owned();
                println!("{} = {}", text("name"), text("value"));
            }
        }
    }

    fn frames(&mut self) -> Vec<Value> {
        let body = self.ask("stackTrace", json!({"threadId": self.thread}));
        body["stackFrames"].as_array().cloned().unwrap_or_default()
    }

    fn top(&mut self) -> Value {
        self.frames().into_iter().next().unwrap_or_default()
    }

    fn show_place(&mut self) {
        let top = self.top();
        println!("{} at {}", top["name"].as_str().unwrap_or_default(), place(&top));
        let (path, line) = (top["source"]["path"].as_str(), top["line"].as_u64());
        if let (Some(path), Some(line)) = (path, line)
            && let Ok(text) = std::fs::read_to_string(path)
            && let Some(source) = text.lines().nth(line.saturating_sub(1) as usize)
        {
            println!("{line:>5}  {}", source.trim_end());
        }
    }

    /// Sends a request that moves the program, and shows where it stops.
    fn move_by(&mut self, command: &str, arguments: Value) {
        let seq = self.send(command, arguments);
        let mut refused = false;
        let stopped = loop {
            let Some(message) = self.receive() else { return };
            if message["request_seq"] == json!(seq) && message["success"] == json!(false) {
                println!("{}", message["message"].as_str().unwrap_or("that is not possible"));
                refused = true;
            }
            if refused {
                return;
            }
            if message["event"] == "stopped" {
                break message;
            }
            if message["event"] == "terminated" {
                self.is_over = true;
                return;
            }
        };
        self.thread = stopped["body"]["threadId"].as_i64().unwrap_or_default();
        let position = self.wait_for("raddle/position");
        let body = &position["body"];
        match (body["standing"].as_str(), body["text"].as_str()) {
            (Some("end"), _) => println!("the end of the execution"),
            (Some("event"), Some(text)) => println!("event {text}"),
            (_, Some(text)) => println!("after event {text}"),
            _ => {}
        }
        self.show_place();
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let seq = self.send(command, arguments);
        while let Some(message) = self.receive() {
            if message["request_seq"] == json!(seq) {
                if message["success"] != json!(true) {
                    println!("{}", message["message"].as_str().unwrap_or("that is not possible"));
                }
                return message["body"].clone();
            }
        }
        Value::Null
    }

    fn wait_for(&mut self, event: &str) -> Value {
        while let Some(message) = self.receive() {
            if message["event"] == event {
                return message;
            }
            if message["event"] == "terminated" {
                self.is_over = true;
                break;
            }
        }
        Value::Null
    }

    fn send(&mut self, command: &str, arguments: Value) -> i64 {
        self.seq += 1;
        let message = json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments});
        self.is_over |= framing::write(&mut self.to, &message).is_err();
        self.seq
    }

    fn receive(&mut self) -> Option<Value> {
        let message = framing::read(&mut self.from).ok().flatten();
        self.is_over |= message.is_none();
        let message = message?;
        if message["event"] == "output" {
            print!("{}", message["body"]["output"].as_str().unwrap_or_default());
        }
        Some(message)
    }
}

fn place(frame: &Value) -> String {
    let file = frame["source"]["path"].as_str().or(frame["source"]["name"].as_str()).unwrap_or("?");
    format!("{file}:{}", frame["line"].as_u64().unwrap_or(0))
}
