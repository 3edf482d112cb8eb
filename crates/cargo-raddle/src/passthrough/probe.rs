//! Compiled, never run: the compiled functions of std that it needs are those that wait for other threads or wake them.

use std::io;
use std::sync::mpsc::Receiver;
use std::sync::{Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::Duration;

pub fn probe(
    condvar: &Condvar,
    mutex: &Mutex<()>,
    lock: &RwLock<()>,
    once: &Once,
    receiver: &Receiver<()>,
    barrier: &Barrier,
) {
    let guard = condvar.wait(mutex.lock().unwrap()).unwrap();
    drop(condvar.wait_timeout(guard, Duration::ZERO));
    condvar.notify_one();
    condvar.notify_all();
    thread::park();
    thread::park_timeout(Duration::ZERO);
    drop(lock.read());
    drop(lock.write());
    once.call_once(|| ());
    once.wait();
    once.wait_force();
    receiver.recv().unwrap();
    receiver.recv_timeout(Duration::ZERO).unwrap();
    barrier.wait();
    thread::scope(|scope| _ = scope.spawn(|| ()));
    drop((io::stdin().lock(), io::stdin().lines(), io::stdout().lock(), io::stderr().lock()));
}
