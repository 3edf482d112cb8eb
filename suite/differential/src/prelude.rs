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
