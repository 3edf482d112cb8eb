//! Makes any program one that can be run: what has lost its meaning, because something else is not there, is left out.

use crate::program::{Body, Mode, OnceKind, Op, Program, ThreadId};

impl Program {
    /// The program without operations that make no sense where they are.
    pub fn repaired(mut self) -> Program {
        self.keep_one_receiver();
        let mut threads = vec![Body::new(); self.threads.len()];
        let mut started = vec![(0, None)];
        while let Some((thread, starter)) = started.pop() {
            let mut repair = Repair { program: &self, starter, started: Vec::new(), me: thread };
            threads[thread] = repair.body(&self.threads[thread], &mut Vec::new(), &mut Inside::default());
            started.extend(repair.started.into_iter().map(|started| (started, Some(thread))));
        }
        self.threads = threads;
        self
    }

    fn keep_one_receiver(&mut self) {
        let receiver = self.receiver();
        for (thread, body) in self.threads.iter_mut().enumerate() {
            if Some(thread) != receiver {
                remove(body, &|op| op.receives());
            }
        }
    }
}

fn remove(body: &mut Body, unwanted: &dyn Fn(&Op) -> bool) {
    body.retain(|op| !unwanted(op));
    body.iter_mut().filter_map(Op::body_mut).for_each(|inner| remove(inner, unwanted));
}

struct Repair<'a> {
    program: &'a Program,
    me: ThreadId,
    starter: Option<ThreadId>,
    started: Vec<ThreadId>,
}

/// What is around an operation.
#[derive(Clone, Default)]
struct Inside {
    held: Vec<(Mode, usize)>,
    initialising: Vec<(OnceKind, usize)>,
}

impl Inside {
    /// Whether what stands here is always done.
    fn is_certain(&self) -> bool {
        self.held.is_empty() && self.initialising.is_empty()
    }
}

impl Repair<'_> {
    /// `open` are the threads that were started around here and not joined yet.
    fn body(&mut self, body: &[Op], open: &mut Vec<ThreadId>, inside: &mut Inside) -> Body {
        body.iter().filter_map(|op| self.op(op, open, inside)).collect()
    }

    fn op(&mut self, op: &Op, open: &mut Vec<ThreadId>, inside: &mut Inside) -> Option<Op> {
        let keep = |keep: bool| keep.then(|| op.clone());
        match op {
            Op::Replace(mode, lock, _) => keep(inside.held.contains(&(*mode, *lock))),
            Op::Locked { mode, lock, only_try, body } => {
                let mut inside = inside.clone();
                inside.held.push((*mode, *lock));
                let body = self.body(body, open, &mut inside);
                Some(Op::Locked { mode: *mode, lock: *lock, only_try: *only_try, body })
            }
            Op::Initialise(kind, number, _, _) if inside.initialising.contains(&(*kind, *number)) => None,
            Op::Initialise(OnceKind::LazyLock, number, _, _) => {
                Some(Op::Initialise(OnceKind::LazyLock, *number, Body::new(), 0))
            }
            Op::Initialise(kind, number, body, value) => {
                let mut inside = inside.clone();
                inside.initialising.push((*kind, *number));
                Some(Op::Initialise(*kind, *number, self.body(body, open, &mut inside), *value))
            }
            Op::IsInitialised(OnceKind::LazyLock, _) => None,
            Op::Spawn(thread) => {
                let fresh = inside.is_certain() && self.can_start(*thread);
                if fresh {
                    self.started.push(*thread);
                    open.push(*thread);
                }
                keep(fresh)
            }
            Op::Scope(threads, body) => {
                if !inside.is_certain() {
                    return None;
                }
                let mut open: Vec<_> =
                    threads.iter().copied().filter(|&thread| self.can_start(thread)).collect();
                self.started.extend(&open);
                Some(Op::Scope(open.clone(), self.body(body, &mut open, inside)))
            }
            Op::Join(thread) => {
                let index = open.iter().position(|open| open == thread).filter(|_| inside.is_certain())?;
                open.remove(index);
                keep(true)
            }
            Op::IsFinished(thread) => keep(open.contains(thread) && inside.is_certain()),
            Op::Unpark(thread) => keep(self.starter == Some(*thread) || self.started.contains(thread)),
            Op::ThreadLocal => keep(self.me != 0),
            Op::Barrier => keep(self.program.barrier > 0),
            _ => keep(true),
        }
    }

    fn can_start(&self, thread: ThreadId) -> bool {
        thread > self.me && thread < self.program.threads.len() && !self.started.contains(&thread)
    }
}
