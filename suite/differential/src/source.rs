//! Programs as Rust: each operation at a place of its own, as a person would write it.

use std::fmt::{self, Write};

use crate::oracle::code::unjoined;
use crate::program::{ArcOp, Body, Change, Mode, OnceKind, Op, Program, ThreadId, Width};

/// What all programs need: imports, plain data that threads share, and something that acts when it is dropped.
pub const PRELUDE: &str = include_str!("prelude.rs");

/// A function that runs the program once, without the [`PRELUDE`].
pub fn function(name: &str, program: &Program) -> String {
    let mut writer = Writer { program, text: String::new(), depth: 0 };
    writer.function(name).expect("strings can be written to");
    writer.text
}

/// A program with all that it needs.
pub fn source(program: &Program) -> String {
    format!("{PRELUDE}\n{}", function("program", program))
}

struct Writer<'a> {
    program: &'a Program,
    text: String,
    depth: usize,
}

macro_rules! line {
    ($writer:expr, $($arguments:tt)*) => {
        $writer.line(format_args!($($arguments)*))
    };
}

impl Writer<'_> {
    fn line(&mut self, line: fmt::Arguments<'_>) -> fmt::Result {
        writeln!(self.text, "{:indent$}{line}", "", indent = 4 * self.depth)
    }

    /// A block: its first line, what is in it, and its last line.
    fn block(
        &mut self,
        first: &str,
        last: &str,
        inside: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        line!(self, "{first}")?;
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        line!(self, "{last}")
    }

    fn function(&mut self, name: &str) -> fmt::Result {
        let count = self.program.threads.len();
        self.block(&format!("fn {name}() -> Vec<Vec<u64>> {{"), "}", |to| {
            line!(to, "let seen: &[Plain<Vec<u64>>; {count}] = leak(Default::default());")?;
            line!(to, "let threads: &[Plain<Option<Thread>>; {count}] = leak(Default::default());")?;
            to.objects()?;
            to.thread(0)?;
            line!(to, "seen.iter().map(|seen| seen.get().clone()).collect()")
        })
    }

    fn objects(&mut self) -> fmt::Result {
        let program = self.program;
        for (number, width) in program.atomics.iter().enumerate() {
            line!(self, "let a{number}: &{} = leak(Default::default());", width.name())?;
        }
        for (count, name, of) in [
            (program.cells(), "d", "Plain<u64>"),
            (program.locks(true), "m", "(Mutex<u64>, Condvar)"),
            (program.locks(false), "l", "RwLock<u64>"),
            (program.onces(OnceKind::OnceLock), "k", "OnceLock<u64>"),
        ] {
            for number in 0..count {
                line!(self, "let {name}{number}: &{of} = leak(Default::default());")?;
            }
        }
        for number in 0..program.onces(OnceKind::Once) {
            line!(self, "let o{number}: &Once = leak(Once::new());")?;
        }
        for number in 0..program.onces(OnceKind::LazyLock) {
            line!(
                self,
                "let z{number}: &LazyLock<u64, _> = leak(LazyLock::new(move || a0.fetch_add(1, SeqCst) as u64));"
            )?;
        }
        if program.has(|op| *op == Op::Barrier) {
            line!(self, "let barrier: &Barrier = leak(Barrier::new({}));", program.barrier)?;
        }
        self.ends()
    }

    /// What threads own.
    fn ends(&mut self) -> fmt::Result {
        let program = self.program;
        let owners = |has: &dyn Fn(ThreadId) -> bool| {
            (0..program.threads.len()).filter(|&thread| has(thread)).collect::<Vec<_>>()
        };
        if program.has_channel() {
            match program.capacity {
                None => line!(self, "let (tx, rx) = channel::<u64>();")?,
                Some(capacity) => line!(self, "let (tx, rx) = sync_channel::<u64>({capacity});")?,
            }
            line!(self, "let mut rx = Some(rx);")?;
            if program.receiver().is_none() {
                line!(self, "drop(rx.take());")?;
            }
            for owner in owners(&|thread| program.has_sender(thread)) {
                line!(self, "let mut tx{owner} = Some(tx.clone());")?;
            }
            line!(self, "drop(tx);")?;
        }
        let arcs = owners(&|thread| program.has_arc(thread));
        if !arcs.is_empty() {
            line!(self, "let arc = Arc::new(Bump(move || _ = a0.fetch_add(1, SeqCst)));")?;
            for owner in arcs {
                line!(
                    self,
                    "let (mut arcs{owner}, mut weak{owner}) = (vec![Arc::clone(&arc)], no_weak(&arc));"
                )?;
            }
            line!(self, "drop(arc);")?;
        }
        Ok(())
    }

    /// The inside of the closure of a thread.
    fn thread(&mut self, me: ThreadId) -> fmt::Result {
        let program = self.program;
        line!(self, "let see = move |value: u64| seen[{me}].get().push(value);")?;
        let wakes = |thread: &ThreadId| {
            program.started_by(*thread).is_some_and(|(by, _)| by == me)
                && program.thread_has(*thread, |op| *op == Op::Unpark(me))
        };
        if (0..program.threads.len()).any(|thread| wakes(&thread)) {
            line!(self, "*threads[{me}].get() = Some(thread::current());")?;
        }
        self.body(me, &program.threads[me])?;
        if program.has_sender(me) {
            line!(self, "drop(tx{me}.take());")?;
        }
        if program.receiver() == Some(me) {
            line!(self, "drop(rx.take());")?;
        }
        if program.has_arc(me) {
            line!(self, "while let Some(arc) = arcs{me}.pop() {{")?;
            line!(self, "    drop(arc);")?;
            line!(self, "}}")?;
            line!(self, "drop(weak{me}.take());")?;
        }
        for joined in unjoined(program, me) {
            line!(self, "t{joined}.join().unwrap();")?;
        }
        if me == 0 {
            for (number, width) in program.atomics.iter().enumerate() {
                line!(self, "see({});", width.number(&format!("a{number}.load(SeqCst)")))?;
            }
        }
        Ok(())
    }

    fn body(&mut self, me: ThreadId, body: &Body) -> fmt::Result {
        body.iter().try_for_each(|op| self.op(me, op))
    }

    fn op(&mut self, me: ThreadId, op: &Op) -> fmt::Result {
        let program = self.program;
        let width = |at: usize| program.atomics[at];
        match op {
            Op::Load(at, order) => {
                let loaded = width(*at).number(&format!("a{at}.load({order:?})"));
                line!(self, "see({loaded});")
            }
            Op::Store(at, value, order) => {
                line!(self, "a{at}.store({}, {order:?});", width(*at).literal(*value))
            }
            Op::Fetch(change, at, value, order) => {
                let value = width(*at).literal(*value);
                let old = width(*at).number(&format!("a{at}.{}({value}, {order:?})", change.name()));
                line!(self, "see({old});")
            }
            Op::CompareExchange(exchange) => {
                let (at, width) = (exchange.at, width(exchange.at));
                let name = if exchange.weak { "compare_exchange_weak" } else { "compare_exchange" };
                let (current, new) = (width.literal(exchange.current), width.literal(exchange.new));
                let call =
                    format!("a{at}.{name}({current}, {new}, {:?}, {:?})", exchange.success, exchange.failure);
                line!(self, "see({});", width.number(&format!("{call}.unwrap_or_else(|found| found)")))
            }
            Op::Fence(order) => line!(self, "fence({order:?});"),
            Op::SpinUntil(at, value, order, yields) => {
                let wait = if *yields { "thread::yield_now" } else { "spin_loop" };
                let value = width(*at).literal(*value);
                line!(self, "while a{at}.load({order:?}) != {value} {{")?;
                line!(self, "    {wait}();")?;
                line!(self, "}}")
            }
            Op::Read(cell) => line!(self, "see(*d{cell}.get());"),
            Op::Write(cell, value) => line!(self, "*d{cell}.get() = {value};"),
            Op::Locked { mode, lock, only_try, body } => self.locked(me, *mode, *lock, *only_try, body),
            Op::Replace(Mode::Mutex, lock, value) => line!(self, "see(replace(&mut m{lock}_held, {value}));"),
            Op::Replace(Mode::Write, lock, value) => line!(self, "see(replace(&mut l{lock}_write, {value}));"),
            Op::Replace(Mode::Read, lock, _) => line!(self, "see(*l{lock}_read);"),
            Op::WaitWhileZero { mutex, timeout: None } => {
                line!(self, "see(*m{mutex}.1.wait_while(m{mutex}.0.lock().unwrap(), |value| *value == 0).unwrap());")
            }
            Op::WaitWhileZero { mutex, timeout: Some(time) } => self.block("{", "}", |to| {
                line!(to, "let (guard, time) = (m{mutex}.0.lock().unwrap(), Duration::from_micros({time}));")?;
                line!(to, "let (guard, result) = m{mutex}.1.wait_timeout_while(guard, time, |value| *value == 0).unwrap();")?;
                line!(to, "see(result.timed_out() as u64);")?;
                line!(to, "see(*guard);")
            }),
            Op::Notify(mutex, all) => line!(self, "m{mutex}.1.notify_{}();", if *all { "all" } else { "one" }),
            Op::Send(value) => line!(self, "tx{me}.iter().for_each(|tx| see(tx.send({value}).is_ok() as u64));"),
            Op::Receive => line!(self, "rx.iter().for_each(|rx| see(rx.recv().unwrap_or(u64::MAX)));"),
            Op::TryReceive => line!(self, "rx.iter().for_each(|rx| see(tried(rx.try_recv())));"),
            Op::ReceiveTimeout(time) => {
                let wait = format!("rx.recv_timeout(Duration::from_micros({time}))");
                line!(self, "rx.iter().for_each(|rx| see(waited({wait})));")
            }
            Op::DropSender => line!(self, "drop(tx{me}.take());"),
            Op::DropReceiver => line!(self, "drop(rx.take());"),
            Op::Park => line!(self, "thread::park();"),
            Op::ParkTimeout(time) => line!(self, "thread::park_timeout(Duration::from_micros({time}));"),
            Op::Unpark(target) => line!(self, "threads[{target}].get().as_ref().unwrap().unpark();"),
            Op::Barrier => line!(self, "see(barrier.wait().is_leader() as u64);"),
            Op::Initialise(OnceKind::Once, number, body, _) => {
                self.block(&format!("o{number}.call_once(|| {{"), "});", |to| to.body(me, body))
            }
            Op::Initialise(OnceKind::OnceLock, number, body, value) => {
                self.block(&format!("see(*k{number}.get_or_init(|| {{"), "}));", |to| {
                    to.body(me, body)?;
                    line!(to, "{value}")
                })
            }
            Op::Initialise(OnceKind::LazyLock, number, ..) => line!(self, "see(*LazyLock::force(z{number}));"),
            Op::IsInitialised(OnceKind::Once, number) => line!(self, "see(o{number}.is_completed() as u64);"),
            Op::IsInitialised(_, number) => line!(self, "see(k{number}.get().is_some() as u64);"),
            Op::Arc(op) => line!(self, "{}", arc(*op).replace('#', &me.to_string())),
            Op::Spawn(thread) => self.start(me, *thread, "thread::spawn", true),
            Op::Join(thread) => line!(self, "t{thread}.join().unwrap();"),
            Op::IsFinished(thread) => line!(self, "see(t{thread}.is_finished() as u64);"),
            Op::Scope(threads, body) => self.block("thread::scope(|scope| {", "});", |to| {
                for &thread in threads {
                    let asks = |op: &Op| matches!(op, Op::Join(asked) | Op::IsFinished(asked) if *asked == thread);
                    to.start(me, thread, "scope.spawn", program.has(asks))?;
                }
                to.body(me, body)
            }),
            Op::Sleep(time) => line!(self, "thread::sleep(Duration::from_micros({time}));"),
            Op::Yield => line!(self, "thread::yield_now();"),
            Op::ThreadLocal => {
                line!(self, "initialise_local(move || _ = a0.fetch_add(1, SeqCst));")
            }
        }
    }

    fn start(&mut self, me: ThreadId, thread: ThreadId, spawn: &str, keeps: bool) -> fmt::Result {
        let wakes = self.program.thread_has(me, |op| *op == Op::Unpark(thread));
        let name = if keeps || wakes { format!("let t{thread} = ") } else { String::new() };
        self.block(&format!("{name}{spawn}(move || {{"), "});", |to| to.thread(thread))?;
        if wakes {
            line!(self, "*threads[{thread}].get() = Some(t{thread}.thread().clone());")?;
            if !keeps {
                line!(self, "drop(t{thread});")?;
            }
        }
        Ok(())
    }

    fn locked(&mut self, me: ThreadId, mode: Mode, lock: usize, only_try: bool, body: &Body) -> fmt::Result {
        let (object, name, guard) = match mode {
            Mode::Mutex => (format!("m{lock}.0"), "lock", format!("mut m{lock}_held")),
            Mode::Read => (format!("l{lock}"), "read", format!("l{lock}_read")),
            Mode::Write => (format!("l{lock}"), "write", format!("mut l{lock}_write")),
        };
        if !only_try {
            return self.block("{", "}", |to| {
                line!(to, "let {guard} = {object}.{name}().unwrap();")?;
                to.body(me, body)
            });
        }
        let first = format!("if let Ok({guard}) = {object}.try_{name}() {{");
        self.block(&first, "} else {", |to| {
            line!(to, "see(1);")?;
            to.body(me, body)
        })?;
        line!(self, "    see(0);")?;
        line!(self, "}}")
    }
}

/// `#` stands for the thread.
fn arc(op: ArcOp) -> &'static str {
    match op {
        ArcOp::Clone => "arcs#.extend(arcs#.last().cloned());",
        ArcOp::Drop => "drop(arcs#.pop());",
        ArcOp::Count => "arcs#.last().iter().for_each(|arc| see(Arc::strong_count(arc) as u64));",
        ArcOp::GetMut => {
            "arcs#.last_mut().into_iter().for_each(|arc| see(Arc::get_mut(arc).is_some() as u64));"
        }
        ArcOp::TryUnwrap => {
            "if let Some(arc) = arcs#.pop() { match Arc::try_unwrap(arc) { Ok(_) => see(1), Err(arc) => { see(0); arcs#.push(arc) } } }"
        }
        ArcOp::IntoInner => {
            "arcs#.pop().into_iter().for_each(|arc| see(Arc::into_inner(arc).is_some() as u64));"
        }
        ArcOp::Downgrade => "if let Some(arc) = arcs#.last() { weak# = Some(Arc::downgrade(arc)); }",
        ArcOp::Upgrade => {
            "if let Some(weak) = &weak# { let arc = weak.upgrade(); see(arc.is_some() as u64); arcs#.extend(arc); }"
        }
        ArcOp::DropWeak => "drop(weak#.take());",
    }
}

impl Width {
    fn name(self) -> &'static str {
        match self {
            Width::Bool => "AtomicBool",
            Width::U8 => "AtomicU8",
            Width::U16 => "AtomicU16",
            Width::U32 => "AtomicU32",
            Width::U64 => "AtomicU64",
            Width::Usize => "AtomicUsize",
            Width::Ptr => "AtomicPtr<u8>",
        }
    }

    fn literal(self, value: u64) -> String {
        match self {
            Width::Bool => (value & 1 == 1).to_string(),
            Width::Ptr => format!("without_provenance_mut({value})"),
            _ => value.to_string(),
        }
    }

    /// What makes a number of a value.
    fn number(self, value: &str) -> String {
        match self {
            Width::Ptr => format!("{value}.addr() as u64"),
            _ => format!("{value} as u64"),
        }
    }
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Change::Swap => "swap",
            Change::Add => "fetch_add",
            Change::Sub => "fetch_sub",
            Change::And => "fetch_and",
            Change::Or => "fetch_or",
            Change::Xor => "fetch_xor",
            Change::Min => "fetch_min",
            Change::Max => "fetch_max",
        }
    }
}
