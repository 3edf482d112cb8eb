//! Transfer of control between threads and the explorer.

use super::{Backend, Engine, Outcome};
use crate::op::ThreadId;
use crate::platform::coroutine::{self, Context};
use crate::platform::global::GLOBAL;
use crate::platform::os_thread::Turn;
use crate::platform::unwind::{self, CallFrame};
use crate::thread::{Start, ThreadStatus, Wake};
use crate::trace::{Action, Links, SwitchReason};

/// A holder of control.
#[derive(Clone, Copy)]
pub(crate) enum Flow {
    /// The code that called the engine.
    Explorer,
    /// A virtual thread.
    Thread(ThreadId),
}

/// Maximal number of frames in the call stack of a crash.
const MAX_FRAMES: usize = 64;

impl Engine {
    /// Ends the execution from within: the current thread never returns.
    pub(crate) fn stop(&mut self, outcome: Outcome) -> ! {
        if self.exploration.limits.notes_stacks {
            self.execution.stopped_at = unwind::call_stack();
        }
        self.execution.outcome = Some(outcome);
        loop {
            // SAFETY: a thread of this engine runs; the explorer never comes back to it.
            unsafe { Engine::pass(self, Flow::Thread(self.execution.current), Flow::Explorer) };
        }
    }

    /// Runs `work` on the explorer's stack and with its thread-locals, if it needs more of either than a virtual thread
    /// can spare.
    pub(super) fn on_explorer<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> T {
        let this: *mut Engine = self;
        let (mut work, mut result) = (Some(work), None);
        // SAFETY: nothing else uses the engine until the explorer passes control back.
        unsafe {
            Engine::ask_explorer(this, &mut || result = work.take().map(|work| work(&mut *this)));
        }
        result.expect("the explorer has answered")
    }

    /// Lets the explorer run `request` on its own stack. Returns when control is passed back to the current thread.
    ///
    /// # Safety
    /// `this` must be the engine in [`GLOBAL`], the current thread must call this, and no reference to the engine may be used
    /// meanwhile.
    pub(crate) unsafe fn ask_explorer(this: *mut Engine, request: &mut dyn FnMut()) {
        let request: *mut (dyn FnMut() + '_) = request;
        // SAFETY: the caller's. Only the lifetime of the request changes; it is taken out before control comes back.
        unsafe {
            let request = std::mem::transmute::<*mut (dyn FnMut() + '_), *mut dyn FnMut()>(request);
            (*this).exploration.request = Some(request);
            Engine::pass(this, Flow::Thread((*this).execution.current), Flow::Explorer);
        }
    }

    /// Saves the call stack of a thread that a signal ended. After a stack overflow, the trace ends with that event.
    pub(super) fn save_crash_stack(&mut self) {
        let is_wanted = self.exploration.limits.notes_stacks || self.exploration.trace.is_some();
        let Some(caller) = self.execution.crashed_at.filter(|_| is_wanted) else { return };
        let stack = self.current().stack;
        let mut frames = vec![CallFrame { return_address: caller.pc, frame_pointer: caller.fp }];
        let mut above = stack.bottom()..stack.top() - 16;
        let mut fp = caller.fp;
        while frames.len() < MAX_FRAMES && above.contains(&fp) && fp.is_multiple_of(8) {
            above.start = fp + 1;
            // SAFETY: within a stack, all of which is mapped.
            let (outer, return_address) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
            fp = outer;
            frames.push(CallFrame { return_address, frame_pointer: fp });
        }
        let thread = self.execution.current;
        let is_code = |address: usize| address.wrapping_sub(GLOBAL.text_start.get()) < GLOBAL.text_len.get();
        if !frames.get(1).is_some_and(|caller| is_code(caller.return_address))
            && let Some(trace) = &self.exploration.trace
            && let Some(last) = trace.events.iter().rev().find(|event| event.thread == thread)
        {
            // The signal hit code without frame pointers, which is Raddle's own: the thread's last event is close.
            frames.clone_from(&last.stack);
        }
        if let Some(trace) = &mut self.exploration.trace
            && matches!(self.execution.outcome, Some(Outcome::StackOverflow { .. }))
        {
            trace.record(thread, Action::Overflow, frames.clone(), None, Links::default(), false);
        }
        self.execution.stopped_at = frames;
    }

    /// Passes control from one flow to another. Returns when control comes back.
    ///
    /// # Safety
    /// `from` must be the flow that calls this, and `this` the engine in [`GLOBAL`].
    #[inline(never)]
    pub(crate) unsafe fn pass(this: *mut Engine, from: Flow, to: Flow) {
        // SAFETY: contexts are those of paused flows of this engine. The FS base is that of the thread that goes on; the
        // explorer sets its own.
        unsafe {
            if let Flow::Thread(id) = to {
                (*this).execution.current = id;
            }
            if (*this).exploration.limits.backend == Backend::OsThreads {
                // Read before the turn is given away: then the engine belongs to the other thread.
                let own: *const Turn = (*this).turn(from);
                (*this).turn(to).give();
                return (*own).take();
            }
            let saved: *mut Context = match from {
                Flow::Explorer => &raw mut (*this).exploration.explorer,
                Flow::Thread(id) => &raw mut (*this).thread(id.into()).context,
            };
            let next: *const Context = match to {
                Flow::Explorer => &raw const (*this).exploration.explorer,
                Flow::Thread(id) => {
                    let fs_base = (*this).exploration.fs_base;
                    let thread = (*this).thread(id.into());
                    fs_base.set(thread.tls.fs_base);
                    &raw const thread.context
                }
            };
            coroutine::switch(saved, next);
        }
    }

    pub(crate) fn turn(&self, flow: Flow) -> &Turn {
        match flow {
            Flow::Explorer => &self.exploration.explorers_turn,
            Flow::Thread(id) => {
                &self.threads[id as usize].os_thread.as_ref().expect("threads are OS threads").turn
            }
        }
    }

    /// Runs the threads until the execution is over, and serves their requests to the explorer.
    pub(super) unsafe fn drive(this: *mut Engine) {
        // SAFETY: no reference into the engine lives while others have control.
        unsafe {
            let explorer_fs = (*this).exploration.explorer_fs;
            while (*this).execution.outcome.is_none() {
                Engine::pass(this, Flow::Explorer, Flow::Thread((*this).execution.current));
                (*this).exploration.fs_base.set(explorer_fs);
                if let Some(request) = (*this).exploration.request.take() {
                    (*request)();
                }
            }
        }
    }

    /// Ends the current thread. Returns the flow that continues: the explorer, if the execution is over.
    fn finish_current(&mut self) -> Flow {
        let id = self.execution.current;
        self.current().clear();
        self.record(|| Action::End);
        self.hash_end();
        self.execution.runnable.retain(|&runnable| runnable != id);
        for index in 0..self.execution.alive {
            if self.threads[index].status == ThreadStatus::Join(id) {
                self.unblock(index as ThreadId, Wake::Woken);
            }
        }
        if id == 0 && self.threads[0].panicked {
            self.execution.outcome = Some(Outcome::Panic { thread: 0 });
            return Flow::Explorer;
        }
        match self.next_thread() {
            Some(next) => {
                self.leave_for(next, SwitchReason::Finished);
                Flow::Thread(next)
            }
            None => Flow::Explorer,
        }
    }
}

/// The body of every coroutine.
pub(super) unsafe extern "C" fn coroutine_body() -> ! {
    // SAFETY: the engine outlives its threads; the flow that control is passed to never passes it back.
    unsafe {
        run_thread();
        let engine = super::engine();
        let me = (*engine).execution.current;
        let next = (*engine).finish_current();
        loop {
            Engine::pass(engine, Flow::Thread(me), next);
        }
    }
}

/// The body of every OS thread.
pub(super) unsafe fn os_thread_body() {
    // SAFETY: the engine outlives its threads; it is not used after the turn has been given away.
    unsafe {
        run_thread();
        let engine = super::engine();
        if let Some(os_thread) = &(*engine).current().os_thread {
            os_thread.will_end();
        }
        let next = (*engine).finish_current();
        if let Flow::Thread(id) = next {
            (*engine).execution.current = id;
        }
        (*engine).turn(next).give();
    }
}

/// The continuation of a coroutine that a signal ended: back to the explorer, for ever.
pub(crate) unsafe extern "C" fn trapped() -> ! {
    let engine = super::engine();
    loop {
        // SAFETY: the current thread runs this, on its own stack; the outcome is set.
        unsafe { Engine::pass(engine, Flow::Thread((*engine).execution.current), Flow::Explorer) };
    }
}

/// The life of a thread: its code, then the destructors of its thread-locals and thread-specific values.
unsafe fn run_thread() {
    use super::engine;
    // SAFETY: the engine outlives its threads, and no reference to it is held while the code under test runs.
    unsafe {
        let id = usize::from((*engine()).execution.current);
        let start = (*engine()).thread(id).start.take().expect("a thread begins once");
        (*engine()).begin_thread();
        (*engine()).record(|| Action::Begin);
        GLOBAL.in_engine.set(false);
        match start {
            Start::Root(body) => (*body)(),
            Start::Routine(routine, argument) => {
                let result = routine(argument);
                GLOBAL.in_engine.set(true);
                (*engine()).thread(id).result = result;
                (*engine()).end_thread();
                GLOBAL.in_engine.set(false);
            }
        }
        while let Some((destructor, object)) = {
            GLOBAL.in_engine.set(true);
            let next = (*engine()).thread(id).destructors.pop();
            GLOBAL.in_engine.set(false);
            next
        } {
            destructor(object);
        }
        GLOBAL.in_engine.set(true);
        while let Some((destructor, value)) = (*engine()).next_specific() {
            GLOBAL.in_engine.set(false);
            destructor(value);
            GLOBAL.in_engine.set(true);
        }
    }
}
