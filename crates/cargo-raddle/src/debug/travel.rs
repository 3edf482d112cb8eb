//! Time travel: to an event, a line back, to the breakpoint before.
//!
//! The program cannot run backwards, but its execution can be made again and stopped earlier: the test replays the failing
//! schedule in a loop. Going back is leaving the execution, beginning it again, and running to the place, all of which takes some
//! milliseconds. The user's breakpoints are off meanwhile.
//!
//! Lines have no numbers in an execution, events have. So a place between events is found again from the last event of its thread:
//! by stepping from there until the place is reached.

use serde_json::{Value, json};

use super::adapter::{FIRST_THREAD, Kind, number_of_breakpoint};
use super::frames;
use super::session::{Session, Stop, virtual_thread};
use super::table::Standing;
use crate::error::{Error, Result};

/// The most lines that are gone through to find the one before.
const MOST_STEPS: usize = 200;

/// The most breakpoints that are passed to find the last one.
const MOST_STOPS: usize = 10_000;

/// A place in an execution.
#[derive(Clone, Debug)]
struct Place {
    standing: Standing,
    /// The events that were made before.
    made: u64,
    thread: i64,
    /// The events that the thread has made before.
    made_by_thread: u64,
    /// The instruction.
    pc: Value,
    /// The number of frames, and of those from the innermost one of the code under test outwards.
    depth: usize,
    shown: usize,
}

/// A step of the debugger.
#[derive(Clone, Copy, Debug)]
enum Step {
    Over,
    Into,
}

impl Step {
    fn command(self) -> &'static str {
        match self {
            Step::Over => "next",
            Step::Into => "stepIn",
        }
    }
}

impl Session {
    /// Goes to an event.
    pub(super) fn go_to(&mut self, event: usize) -> Result<Stop> {
        self.switch_breakpoints(false);
        let stop = self.run_to(event);
        self.switch_breakpoints(true);
        let mut stop = stop?;
        if stop.standing != Standing::Event {
            // The waits of threads that were about to take a lock are events of the end.
            let thread = self.target.as_ref().and_then(|target| target.events.waiting_at_end(event));
            match thread {
                Some(thread) if stop.standing == Standing::End => {
                    stop.thread = FIRST_THREAD + i64::from(thread)
                }
                _ => self.say(&format!("event {event} was not reached: the replay takes another course\n")),
            }
        }
        Ok(stop)
    }

    /// Lets the program go on: to the next line, into a function, out of one, or to the next breakpoint.
    pub(super) fn step(&mut self, command: &str, arguments: &Value) -> Result<Stop> {
        if let Some(here) = self.here.clone().filter(|here| here.standing == Standing::End) {
            self.say("the execution is over: go back, or to an event (`raddle goto 3`)\n");
            return Ok(here);
        }
        let thread = arguments["threadId"].as_i64().or(self.here.as_ref().map(|here| here.thread));
        let thread = thread.unwrap_or_default();
        match command {
            "next" | "stepIn" => {
                if let Some(stop) = self.leave_hidden(thread)? {
                    return Ok(stop);
                }
            }
            "stepOut" => {
                let stack = self.frames(thread)?;
                if let Some(first) = frames::first_shown(&stack).filter(|&first| first > 0) {
                    return self.finish(&stack[first]);
                }
            }
            _ => {}
        }
        self.run(command, thread)
    }

    /// Goes back one line in the thread that is stopped: to where a step over the line before came from.
    pub(super) fn step_back(&mut self) -> Result<Stop> {
        let here = self.here.clone().ok_or_else(|| Error::usage("nothing is stopped"))?;
        let target = self.target.as_ref().ok_or_else(|| Error::usage("nothing is debugged"))?;
        if self.inner.is_gone {
            return self.go_to(target.events.failing());
        }
        if here.standing == Standing::End {
            let is_made = |event: usize| {
                target.events.place(event).is_some_and(|(thread, number)| number < self.table.made_by(thread))
            };
            let mut event = target.events.failing();
            while !is_made(event) && event > 0 {
                event = target.events.before(event).unwrap_or(0);
            }
            return self.go_to(event);
        }
        let thread = virtual_thread(here.thread)
            .ok_or_else(|| Error::usage("only the threads of the test go back; go to an event instead"))?;
        let made = self.table.made_by(thread);
        let before = if here.standing == Standing::Event { made.saturating_sub(1) } else { made };
        let Some(anchor) = target.events.before_in_thread(thread, before) else {
            // The thread has not done anything before: back to whoever ran then.
            let now = target.events.at(thread, before).unwrap_or_else(|| target.events.first());
            let earlier = target.events.before(now).unwrap_or_else(|| target.events.first());
            return self.go_to(earlier);
        };
        let failing = target.events.failing();
        let place = self.place(&here)?;
        let debugger = self.inner.generation;
        let stop = self.travelling(|session| {
            session.switch_breakpoints(false);
            let path = session.path_before(anchor, &place);
            session.await_nothing();
            let stop = path.and_then(|path| session.walk(anchor, here.thread, &path));
            session.switch_breakpoints(true);
            stop
        });
        if self.inner.generation != debugger && self.given_up != Some(debugger) {
            // The program had ended, and the debugger had not said so yet.
            return self.go_to(failing);
        }
        stop
    }

    /// Goes back to the last breakpoint before this place; to the first event, if there is none.
    pub(super) fn reverse_continue(&mut self) -> Result<Stop> {
        let here = self.here.clone().ok_or_else(|| Error::usage("nothing is stopped"))?;
        let first = self.target.as_ref().map_or(0, |target| target.events.first());
        let place = self.place(&here)?;
        let at_breakpoint = here.standing == Standing::Elsewhere && here.reason.contains("breakpoint");
        self.travelling(|session| {
            let passed = session.stops_before(&place, at_breakpoint, usize::MAX)?.0;
            if passed == 0 {
                session.await_nothing();
                return session.go_to(first);
            }
            let stop = session.stops_before(&place, at_breakpoint, passed)?.1;
            session.await_nothing();
            Ok(stop)
        })
    }

    /// Moves the program without trust in the debugger: see [`Session::wait_for_stop`]. If it was ended because it said nothing for
    /// long, the way is gone once more, with a new one.
    fn travelling<T>(&mut self, go: impl Fn(&mut Session) -> Result<T>) -> Result<T> {
        let outer = self.travels_from.replace(self.table.progress());
        let was_gone = self.inner.is_gone;
        let mut arrived = go(self);
        if arrived.is_err() && !was_gone && self.inner.is_gone {
            arrived = go(self);
        }
        self.travels_from = outer;
        arrived
    }

    /// Notes how far the program is before it moves.
    fn departs(&mut self) {
        if self.travels_from.is_some() {
            self.travels_from = Some(self.table.progress());
        }
    }

    /// Runs from the beginning past breakpoints, until so many were passed or the place is reached. Returns their number and
    /// the last stop.
    fn stops_before(&mut self, place: &Place, at_breakpoint: bool, most: usize) -> Result<(usize, Stop)> {
        self.switch_breakpoints(false);
        let begun = self.run_to(0);
        self.switch_breakpoints(true);
        let mut stop = begun?;
        self.await_place(place)?;
        let mut passed = 0;
        while passed < most.min(MOST_STOPS) {
            stop = self.run("continue", stop.thread)?;
            let now = self.place(&stop)?;
            if is_same(&now, place) || is_past(&now, place) {
                break;
            }
            // The breakpoint that waits for the place may be hit before.
            passed += usize::from(at_breakpoint || now.pc != place.pc);
        }
        Ok((passed, stop))
    }

    /// The steps from an event of the thread to the line before a place of the same thread. None are needed if the event is
    /// in that line, and none are given if the place is not reached.
    fn path_before(&mut self, anchor: usize, place: &Place) -> Result<Vec<Step>> {
        let mut path = Vec::new();
        'again: loop {
            self.run_to(anchor)?;
            self.await_place(place)?;
            if self.leave_hidden(place.thread)?.is_some() || self.walk_on(place.thread, &path)?.is_none() {
                return Ok(Vec::new());
            }
            let mut now = self.place_of(place.thread)?;
            while path.len() < MOST_STEPS && !is_past(&now, place) {
                if is_same(&now, place) {
                    path.pop();
                    return Ok(path);
                }
                let stop = self.run(Step::Over.command(), place.thread)?;
                let next = self.place(&stop)?;
                if !is_same(&next, place) {
                    path.push(Step::Over);
                    now = next;
                    continue;
                }
                if place.shown <= now.shown {
                    return Ok(path);
                }
                // The place is in a function that the line calls.
                self.run_to(anchor)?;
                self.await_place(place)?;
                self.leave_hidden(place.thread)?;
                self.walk_on(place.thread, &path)?;
                let stop = self.run(Step::Into.command(), place.thread)?;
                let inside = self.place(&stop)?;
                if is_same(&inside, place) || is_past(&inside, place) || inside.shown <= now.shown {
                    return Ok(path);
                }
                path.push(Step::Into);
                continue 'again;
            }
            return Ok(Vec::new());
        }
    }

    /// Goes to an event of a thread, and from there along a path.
    fn walk(&mut self, anchor: usize, thread: i64, path: &[Step]) -> Result<Stop> {
        let stop = self.run_to(anchor)?;
        if path.is_empty() {
            return Ok(stop);
        }
        if let Some(stop) = self.leave_hidden(thread)? {
            return Ok(stop);
        }
        Ok(self.walk_on(thread, path)?.unwrap_or(stop))
    }

    /// Makes steps. The last stop, or one that stands for it if there are none; none if something else stopped the program.
    fn walk_on(&mut self, thread: i64, path: &[Step]) -> Result<Option<Stop>> {
        let mut last =
            Stop { thread, reason: "step".to_owned(), standing: Standing::Elsewhere, watched: None };
        for step in path {
            last = self.run(step.command(), thread)?;
            if last.standing != Standing::Elsewhere || last.thread != thread {
                return Ok(None);
            }
        }
        last.reason = "step".to_owned();
        Ok(Some(last))
    }

    /// Runs to an event, from here or from the beginning. If the program has ended, it is started again, and so it is if the debugger says
    /// nothing for long: a stop was lost.
    fn run_to(&mut self, event: usize) -> Result<Stop> {
        self.travelling(|session| session.try_to_run_to(event))
    }

    fn try_to_run_to(&mut self, event: usize) -> Result<Stop> {
        let target = self.target.as_ref().ok_or_else(|| Error::usage("nothing is debugged"))?;
        let place = target.events.place(event);
        let (thread, number) =
            place.ok_or_else(|| Error::usage(format_args!("there is no event {event}")))?;
        if self.inner.is_gone {
            self.relaunch()?;
            self.switch_breakpoints(false);
            self.table.stop_at(thread, number);
            self.departs();
            self.inner.send("configurationDone", &json!({}));
        } else {
            if self.table.made_by(thread) > number || self.table.standing() == Standing::End {
                self.table.begin_again();
            }
            self.table.stop_at(thread, number);
            let running = self.here.as_ref().map_or(0, |here| here.thread);
            self.departs();
            self.inner.ask("continue", &json!({"threadId": running}))?;
        }
        let stop = self.wait_for_stop();
        self.table.stop_nowhere();
        stop
    }

    /// Lets a thread run, and waits for the stop.
    fn run(&mut self, command: &str, thread: i64) -> Result<Stop> {
        self.departs();
        self.inner.ask(command, &json!({"threadId": thread}))?;
        let mut stop = self.wait_for_stop()?;
        // LLDB goes on with a step that was interrupted; gdb forgets it.
        let goes_on = command == "continue" || self.inner.debugger.kind == Kind::Lldb;
        while goes_on && self.is_raddles_write(&stop)? {
            self.departs();
            self.inner.ask("continue", &json!({"threadId": stop.thread}))?;
            stop = self.wait_for_stop()?;
        }
        Ok(stop)
    }

    /// Whether a watchpoint has stopped the program at a write that is not the program's: Raddle overwrites what is freed, and
    /// uses the stacks of threads. Each atomic write of the program is an event; the write is made after that, once.
    fn is_raddles_write(&mut self, stop: &Stop) -> Result<bool> {
        let Some(made) = stop.watched else { return Ok(false) };
        let stack = self.frames(stop.thread)?;
        let innermost = frames::first_shown(&stack).unwrap_or(stack.len());
        let innermost = &stack[..innermost];
        if !frames::is_raddles_work(innermost) {
            return Ok(false);
        }
        // The last event before may be the write that gave up the last handle.
        if frames::is_freeing(innermost) {
            return Ok(true);
        }
        let is_reported = self.here.as_ref().is_some_and(|here| here.watched == Some(made));
        let last = virtual_thread(stop.thread).and_then(|thread| {
            let events = &self.target.as_ref()?.events;
            events
                .at(thread, self.table.made_by(thread).checked_sub(1)?)
                .filter(|&event| events.writes(event))
        });
        Ok(is_reported || last.is_none())
    }

    /// Returns from Raddle's functions, and those of std that called them, to the code under test. A stop, if something else
    /// stopped the program on the way.
    fn leave_hidden(&mut self, thread: i64) -> Result<Option<Stop>> {
        let stack = self.frames(thread)?;
        let Some(first) = frames::first_shown(&stack).filter(|&first| first > 0) else { return Ok(None) };
        let stop = self.finish(&stack[first - 1])?;
        let is_there = stop.standing == Standing::Elsewhere && stop.thread == thread;
        Ok((!is_there || stop.reason.contains("breakpoint")).then_some(stop))
    }

    /// Runs until a frame has returned.
    fn finish(&mut self, frame: &Value) -> Result<Stop> {
        let number = frame["id"].as_i64().unwrap_or_default();
        self.departs();
        for command in self.inner.debugger.finish(number) {
            self.inner.console(&command, Some(number))?;
        }
        self.wait_for_stop()
    }

    fn place(&mut self, stop: &Stop) -> Result<Place> {
        let mut place = self.place_of(stop.thread)?;
        place.standing = stop.standing;
        Ok(place)
    }

    fn place_of(&mut self, thread: i64) -> Result<Place> {
        let stack = self.frames(thread)?;
        let first = frames::first_shown(&stack).unwrap_or(0);
        Ok(Place {
            standing: self.table.standing(),
            made: self.table.made(),
            thread,
            made_by_thread: virtual_thread(thread).map_or(0, |thread| self.table.made_by(thread)),
            pc: stack.first().map(|frame| frame["instructionPointerReference"].clone()).unwrap_or_default(),
            depth: stack.len(),
            shown: stack.len() - first,
        })
    }

    /// Makes the program stop at a place.
    fn await_place(&mut self, place: &Place) -> Result<()> {
        match (place.standing, virtual_thread(place.thread)) {
            (Standing::Event, Some(thread)) => {
                self.table.stop_at(thread, place.made_by_thread.saturating_sub(1));
            }
            (Standing::Elsewhere, _) if self.awaited.is_none() => {
                let command = self.inner.debugger.break_at(place.pc.as_str().unwrap_or_default());
                let answer = self.inner.console(&command, None)?;
                self.awaited = number_of_breakpoint(answer["result"].as_str().unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes the program stop where the user wants it to, and nowhere else.
    fn await_nothing(&mut self) {
        self.table.stop_nowhere();
        if let Some(number) = self.awaited.take() {
            let command = self.inner.debugger.remove_breakpoint(number);
            self.inner.console(&command, None).ok();
        }
    }
}

fn is_same(now: &Place, place: &Place) -> bool {
    let same_event = now.standing == place.standing && now.made == place.made && now.thread == place.thread;
    same_event && (now.standing != Standing::Elsewhere || (&now.pc, now.depth) == (&place.pc, place.depth))
}

fn is_past(now: &Place, place: &Place) -> bool {
    now.made > place.made || now.standing == Standing::End
}
