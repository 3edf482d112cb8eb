//! Random programs, by `cargo run -p differential -- generate`.

#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(unused, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]

use std::cell::{RefCell, UnsafeCell};
use std::hint::spin_loop;
use std::mem::replace;
use std::ptr::without_provenance_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::*;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

/// Data that threads share as they like.
#[derive(Default)]
struct Plain<T>(UnsafeCell<T>);

unsafe impl<T> Sync for Plain<T> {}

impl<T> Plain<T> {
    #[allow(clippy::mut_from_ref)]
    fn get(&self) -> &mut T {
        unsafe { &mut *self.0.get() }
    }
}

/// Does something when it is dropped.
struct Bump<F: Fn()>(F);

impl<F: Fn()> Drop for Bump<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local! {
    static LOCAL: RefCell<Option<Bump<Box<dyn Fn()>>>> = const { RefCell::new(None) };
}

fn initialise_local(at_end: impl Fn() + 'static) {
    LOCAL.with_borrow_mut(|local| {
        local.get_or_insert_with(|| Bump(Box::new(at_end)));
    });
}

fn leak<T>(object: T) -> &'static T {
    Box::leak(Box::new(object))
}

fn tried(received: Result<u64, TryRecvError>) -> u64 {
    received.unwrap_or_else(|error| if error == TryRecvError::Empty { u64::MAX - 1 } else { u64::MAX })
}

fn waited(received: Result<u64, RecvTimeoutError>) -> u64 {
    received.unwrap_or_else(|error| if error == RecvTimeoutError::Timeout { u64::MAX - 1 } else { u64::MAX })
}

fn no_weak<T>(_: &Arc<T>) -> Option<Weak<T>> {
    None
}

use differential::fuzz::generated;
use differential::random::Profile;

#[test]
fn atomics_0() {
    generated(Profile::Atomics, 0, run_atomics_0);
}

fn run_atomics_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicU8 = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    see(a0.load(SeqCst) as u64);
    see(a1.load(Relaxed) as u64);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        see(a1.fetch_add(1, Acquire) as u64);
        see(a1.load(SeqCst) as u64);
    });
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        see(a1.load(Relaxed) as u64);
    });
    t1.join().unwrap();
    t2.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn locks_0() {
    generated(Profile::Locks, 0, run_locks_0);
}

fn run_locks_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicU64 = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let m1: &(Mutex<u64>, Condvar) = leak(Default::default());
    let l0: &RwLock<u64> = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    thread::scope(|scope| {
        let t1 = scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            {
                let mut m0_held = m0.0.lock().unwrap();
                see(replace(&mut m0_held, 1));
            }
            a1.store(2, SeqCst);
            if let Ok(l0_read) = l0.try_read() {
                see(1);
                see(*l0_read);
            } else {
                see(0);
            }
        });
        scope.spawn(move || {
            let see = move |value: u64| seen[2].get().push(value);
            {
                let mut m1_held = m1.0.lock().unwrap();
                see(replace(&mut m1_held, 3));
            }
            {
                let mut m0_held = m0.0.lock().unwrap();
                see(replace(&mut m0_held, 1));
            }
        });
        {
            let mut m1_held = m1.0.lock().unwrap();
            see(replace(&mut m1_held, 3));
            {
                let mut m0_held = m0.0.lock().unwrap();
                see(replace(&mut m0_held, 1));
            }
        }
        t1.join().unwrap();
    });
    {
        let mut m0_held = m0.0.lock().unwrap();
        see(replace(&mut m0_held, 2));
    }
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn condvar_0() {
    generated(Profile::Condvar, 0, run_condvar_0);
}

fn run_condvar_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicU32 = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    {
        let mut m0_held = m0.0.lock().unwrap();
        see(replace(&mut m0_held, 2));
    }
    m0.1.notify_one();
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        see(*m0.1.wait_while(m0.0.lock().unwrap(), |value| *value == 0).unwrap());
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 3));
        }
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 2));
        }
        m0.1.notify_all();
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 2));
        }
        m0.1.notify_one();
    });
    {
        let mut m0_held = m0.0.lock().unwrap();
        see(replace(&mut m0_held, 1));
    }
    m0.1.notify_all();
    t1.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn channels_0() {
    generated(Profile::Channels, 0, run_channels_0);
}

fn run_channels_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU64 = leak(Default::default());
    let a1: &AtomicPtr<u8> = leak(Default::default());
    let (tx, rx) = sync_channel::<u64>(2);
    let mut rx = Some(rx);
    let mut tx1 = Some(tx.clone());
    let mut tx2 = Some(tx.clone());
    drop(tx);
    let see = move |value: u64| seen[0].get().push(value);
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            tx1.iter().for_each(|tx| see(tx.send(1).is_ok() as u64));
            see(a0.load(Acquire) as u64);
            drop(tx1.take());
        });
        scope.spawn(move || {
            let see = move |value: u64| seen[2].get().push(value);
            rx.iter().for_each(|rx| see(tried(rx.try_recv())));
            tx2.iter().for_each(|tx| see(tx.send(1).is_ok() as u64));
            drop(tx2.take());
            drop(rx.take());
        });
        a0.store(2, SeqCst);
    });
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst).addr() as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn scopes_0() {
    generated(Profile::Scopes, 0, run_scopes_0);
}

fn run_scopes_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    see(a1.load(SeqCst) as u64);
    see(a0.load(Relaxed) as u64);
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            see(a1.load(Relaxed) as u64);
        });
        see(a0.load(Relaxed) as u64);
        thread::park();
    });
    see(a0.load(Relaxed) as u64);
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn arc_0() {
    generated(Profile::Arc, 0, run_arc_0);
}

fn run_arc_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let arc = Arc::new(Bump(move || _ = a0.fetch_add(1, SeqCst)));
    let (mut arcs0, mut weak0) = (vec![Arc::clone(&arc)], no_weak(&arc));
    let (mut arcs1, mut weak1) = (vec![Arc::clone(&arc)], no_weak(&arc));
    let (mut arcs2, mut weak2) = (vec![Arc::clone(&arc)], no_weak(&arc));
    drop(arc);
    let see = move |value: u64| seen[0].get().push(value);
    arcs0.last_mut().into_iter().for_each(|arc| see(Arc::get_mut(arc).is_some() as u64));
    if let Some(weak) = &weak0 { let arc = weak.upgrade(); see(arc.is_some() as u64); arcs0.extend(arc); }
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        see(a1.load(Relaxed) as u64);
        arcs1.last().iter().for_each(|arc| see(Arc::strong_count(arc) as u64));
        if let Some(arc) = arcs1.last() { weak1 = Some(Arc::downgrade(arc)); }
        while let Some(arc) = arcs1.pop() {
            drop(arc);
        }
        drop(weak1.take());
    });
    a1.store(true, Relaxed);
    see(a0.load(Acquire) as u64);
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        arcs2.pop().into_iter().for_each(|arc| see(Arc::into_inner(arc).is_some() as u64));
        see(a1.load(Acquire) as u64);
        while let Some(arc) = arcs2.pop() {
            drop(arc);
        }
        drop(weak2.take());
    });
    while let Some(arc) = arcs0.pop() {
        drop(arc);
    }
    drop(weak0.take());
    t1.join().unwrap();
    t2.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn time_0() {
    generated(Profile::Time, 0, run_time_0);
}

fn run_time_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicUsize = leak(Default::default());
    let a1: &AtomicPtr<u8> = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            {
                let mut m0_held = m0.0.lock().unwrap();
                see(replace(&mut m0_held, 1));
            }
            m0.1.notify_all();
            see(a0.load(Relaxed) as u64);
            a1.store(without_provenance_mut(2), Relaxed);
        });
    });
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst).addr() as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn tls_0() {
    generated(Profile::Tls, 0, run_tls_0);
}

fn run_tls_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicUsize = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let m1: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    {
        let mut m1_held = m1.0.lock().unwrap();
        see(replace(&mut m1_held, 1));
    }
    a0.store(2, Release);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        see(a1.fetch_xor(false, SeqCst) as u64);
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 1));
        }
        see(a1.load(Acquire) as u64);
    });
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        see(a0.load(Relaxed) as u64);
        a0.store(2, Release);
    });
    t1.join().unwrap();
    t2.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn races_0() {
    generated(Profile::Races, 0, run_races_0);
}

fn run_races_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU32 = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let d0: &Plain<u64> = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    see(a0.fetch_xor(2, Relaxed) as u64);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        *d0.get() = 2;
        a0.store(1, Relaxed);
        a0.store(2, SeqCst);
    });
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        a1.store(true, SeqCst);
    });
    a0.store(1, Release);
    t1.join().unwrap();
    t2.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn mixed_0() {
    generated(Profile::Mixed, 0, run_mixed_0);
}

fn run_mixed_0() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let d0: &Plain<u64> = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    a0.store(2, Release);
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            thread::park();
            thread::park();
            thread::yield_now();
        });
        while a1.load(Relaxed) != false {
            spin_loop();
        }
        if let Ok(mut m0_held) = m0.0.try_lock() {
            see(1);
            see(replace(&mut m0_held, 2));
        } else {
            see(0);
        }
    });
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[2].get().push(value);
            a1.store(false, SeqCst);
            *d0.get() = 0;
            thread::yield_now();
        });
    });
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn atomics_1() {
    generated(Profile::Atomics, 1, run_atomics_1);
}

fn run_atomics_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        a1.store(false, Relaxed);
    });
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        see(a0.load(SeqCst) as u64);
        see(a0.compare_exchange_weak(2, 1, AcqRel, Acquire).unwrap_or_else(|found| found) as u64);
    });
    see(a0.compare_exchange(2, 2, AcqRel, Relaxed).unwrap_or_else(|found| found) as u64);
    t2.join().unwrap();
    see(a0.load(Acquire) as u64);
    t1.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn locks_1() {
    generated(Profile::Locks, 1, run_locks_1);
}

fn run_locks_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicBool = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let m1: &(Mutex<u64>, Condvar) = leak(Default::default());
    let l0: &RwLock<u64> = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    thread::scope(|scope| {
        let t1 = scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            {
                let mut l0_write = l0.write().unwrap();
                see(replace(&mut l0_write, 2));
            }
            if let Ok(mut m1_held) = m1.0.try_lock() {
                see(1);
                see(replace(&mut m1_held, 3));
            } else {
                see(0);
            }
        });
        t1.join().unwrap();
    });
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn condvar_1() {
    generated(Profile::Condvar, 1, run_condvar_1);
}

fn run_condvar_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU8 = leak(Default::default());
    let a1: &AtomicU32 = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let m1: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 2));
        }
        m0.1.notify_all();
        if let Ok(mut m1_held) = m1.0.try_lock() {
            see(1);
            see(replace(&mut m1_held, 3));
        } else {
            see(0);
        }
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 1));
        }
        m0.1.notify_all();
    });
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        see(a1.load(SeqCst) as u64);
        a1.store(1, Release);
        {
            let mut m0_held = m0.0.lock().unwrap();
            see(replace(&mut m0_held, 1));
        }
        m0.1.notify_all();
        see(*m0.1.wait_while(m0.0.lock().unwrap(), |value| *value == 0).unwrap());
    });
    see(*m0.1.wait_while(m0.0.lock().unwrap(), |value| *value == 0).unwrap());
    see(*m0.1.wait_while(m0.0.lock().unwrap(), |value| *value == 0).unwrap());
    t1.join().unwrap();
    t2.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn channels_1() {
    generated(Profile::Channels, 1, run_channels_1);
}

fn run_channels_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU16 = leak(Default::default());
    let a1: &AtomicU64 = leak(Default::default());
    let (tx, rx) = sync_channel::<u64>(1);
    let mut rx = Some(rx);
    let mut tx0 = Some(tx.clone());
    drop(tx);
    let see = move |value: u64| seen[0].get().push(value);
    tx0.iter().for_each(|tx| see(tx.send(3).is_ok() as u64));
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        rx.iter().for_each(|rx| see(rx.recv().unwrap_or(u64::MAX)));
        a0.store(1, Release);
        drop(rx.take());
    });
    tx0.iter().for_each(|tx| see(tx.send(1).is_ok() as u64));
    drop(tx0.take());
    t1.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn scopes_1() {
    generated(Profile::Scopes, 1, run_scopes_1);
}

fn run_scopes_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicU16 = leak(Default::default());
    let a1: &AtomicU32 = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let m1: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        see(a0.load(SeqCst) as u64);
        {
            let mut m1_held = m1.0.lock().unwrap();
            see(replace(&mut m1_held, 1));
        }
    });
    *threads[1].get() = Some(t1.thread().clone());
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[2].get().push(value);
            a0.store(1, Release);
        });
        see(a0.load(Acquire) as u64);
        threads[1].get().as_ref().unwrap().unpark();
    });
    a0.store(2, Release);
    a0.store(1, Release);
    t1.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn arc_1() {
    generated(Profile::Arc, 1, run_arc_1);
}

fn run_arc_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 3] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 3] = leak(Default::default());
    let a0: &AtomicUsize = leak(Default::default());
    let a1: &AtomicUsize = leak(Default::default());
    let arc = Arc::new(Bump(move || _ = a0.fetch_add(1, SeqCst)));
    let (mut arcs0, mut weak0) = (vec![Arc::clone(&arc)], no_weak(&arc));
    let (mut arcs1, mut weak1) = (vec![Arc::clone(&arc)], no_weak(&arc));
    let (mut arcs2, mut weak2) = (vec![Arc::clone(&arc)], no_weak(&arc));
    drop(arc);
    let see = move |value: u64| seen[0].get().push(value);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        drop(arcs1.pop());
        while let Some(arc) = arcs1.pop() {
            drop(arc);
        }
        drop(weak1.take());
    });
    drop(arcs0.pop());
    arcs0.extend(arcs0.last().cloned());
    let t2 = thread::spawn(move || {
        let see = move |value: u64| seen[2].get().push(value);
        a0.store(2, Relaxed);
        see(a0.load(SeqCst) as u64);
        drop(arcs2.pop());
        while let Some(arc) = arcs2.pop() {
            drop(arc);
        }
        drop(weak2.take());
    });
    if let Some(arc) = arcs0.last() { weak0 = Some(Arc::downgrade(arc)); }
    t2.join().unwrap();
    while let Some(arc) = arcs0.pop() {
        drop(arc);
    }
    drop(weak0.take());
    t1.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn time_1() {
    generated(Profile::Time, 1, run_time_1);
}

fn run_time_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU64 = leak(Default::default());
    let a1: &AtomicU8 = leak(Default::default());
    let (tx, rx) = channel::<u64>();
    let mut rx = Some(rx);
    drop(tx);
    let see = move |value: u64| seen[0].get().push(value);
    *threads[0].get() = Some(thread::current());
    rx.iter().for_each(|rx| see(waited(rx.recv_timeout(Duration::from_micros(100)))));
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        threads[0].get().as_ref().unwrap().unpark();
    });
    *threads[1].get() = Some(t1.thread().clone());
    rx.iter().for_each(|rx| see(waited(rx.recv_timeout(Duration::from_micros(100)))));
    thread::park_timeout(Duration::from_micros(100));
    threads[1].get().as_ref().unwrap().unpark();
    drop(rx.take());
    t1.join().unwrap();
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn tls_1() {
    generated(Profile::Tls, 1, run_tls_1);
}

fn run_tls_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU32 = leak(Default::default());
    let a1: &AtomicU64 = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    see(a1.load(SeqCst) as u64);
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            initialise_local(move || _ = a0.fetch_add(1, SeqCst));
        });
    });
    a0.store(2, Release);
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn races_1() {
    generated(Profile::Races, 1, run_races_1);
}

fn run_races_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU32 = leak(Default::default());
    let a1: &AtomicU64 = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let see = move |value: u64| seen[0].get().push(value);
    {
        let mut m0_held = m0.0.lock().unwrap();
        see(replace(&mut m0_held, 2));
        see(a1.swap(1, Acquire) as u64);
    }
    a0.store(1, SeqCst);
    let t1 = thread::spawn(move || {
        let see = move |value: u64| seen[1].get().push(value);
        see(a1.fetch_xor(1, Release) as u64);
    });
    t1.join().unwrap();
    a1.store(1, Relaxed);
    fence(Acquire);
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}

#[test]
fn mixed_1() {
    generated(Profile::Mixed, 1, run_mixed_1);
}

fn run_mixed_1() -> Vec<Vec<u64>> {
    let seen: &[Plain<Vec<u64>>; 2] = leak(Default::default());
    let threads: &[Plain<Option<Thread>>; 2] = leak(Default::default());
    let a0: &AtomicU64 = leak(Default::default());
    let a1: &AtomicU16 = leak(Default::default());
    let m0: &(Mutex<u64>, Condvar) = leak(Default::default());
    let m1: &(Mutex<u64>, Condvar) = leak(Default::default());
    let arc = Arc::new(Bump(move || _ = a0.fetch_add(1, SeqCst)));
    let (mut arcs1, mut weak1) = (vec![Arc::clone(&arc)], no_weak(&arc));
    drop(arc);
    let see = move |value: u64| seen[0].get().push(value);
    see(a1.fetch_xor(2, Release) as u64);
    thread::scope(|scope| {
        scope.spawn(move || {
            let see = move |value: u64| seen[1].get().push(value);
            if let Ok(mut m1_held) = m1.0.try_lock() {
                see(1);
                see(replace(&mut m1_held, 1));
                while a1.load(Acquire) != 2 {
                    spin_loop();
                }
            } else {
                see(0);
            }
            see(a1.load(Acquire) as u64);
            {
                let mut m0_held = m0.0.lock().unwrap();
                see(replace(&mut m0_held, 1));
            }
            m0.1.notify_all();
            if let Some(weak) = &weak1 { let arc = weak.upgrade(); see(arc.is_some() as u64); arcs1.extend(arc); }
            while let Some(arc) = arcs1.pop() {
                drop(arc);
            }
            drop(weak1.take());
        });
    });
    a1.store(1, Release);
    see(a0.load(SeqCst) as u64);
    see(a1.load(SeqCst) as u64);
    seen.iter().map(|seen| seen.get().clone()).collect()
}
