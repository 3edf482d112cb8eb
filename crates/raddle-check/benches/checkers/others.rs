//! The other checkers on the same histories.
//!
//! Neither can be interrupted, and stateright takes exponential time on most etcd histories, so each of its runs is a
//! child process that is ended after a while.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use raddle_check::format::{Format, Kind, records};
use raddle_check::model::register::RegisterOp;
use raddle_check::{History, Value};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use todc_utils::linearizability::WGLChecker;
use todc_utils::specifications::etcd::{EtcdSpecification, history_from_log};
use todc_utils::specifications::register::{RegisterOperation, RegisterSpecification};
use todc_utils::{Action, History as TodcHistory};

use crate::{measure, row};

const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) fn etcd(files: &[PathBuf], operations: usize) {
    let loaded: Vec<_> = files.iter().map(|file| history_from_log(file.display().to_string())).collect();
    let (accepted, cost) = measure(|| {
        loaded
            .into_iter()
            .map(WGLChecker::<EtcdSpecification>::is_linearizable)
            .filter(|linearizable| *linearizable)
            .count()
    });
    row("  todc-utils", operations, &format!("{accepted} ok"), &cost);

    let (results, mut cost) =
        measure(|| files.iter().map(stateright_in_child).collect::<Vec<Option<bool>>>());
    // The work was done by children.
    (cost.cpu, cost.heap) = (None, 0);
    let (accepted, undecided) = (
        results.iter().filter(|result| **result == Some(true)).count(),
        results.iter().filter(|result| result.is_none()).count(),
    );
    let name = format!("  stateright ({undecided} undecided within {PATIENCE:?} each)");
    row(&name, operations, &format!("{accepted} ok"), &cost);
}

pub(crate) fn register(history: &History<RegisterOp, Value>) {
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    for (index, op) in history.operations().iter().enumerate() {
        events.push((op.call, index, false));
        events.push((op.returned_at().expect("all returned"), index, true));
    }
    events.sort_unstable();
    let number = |value: &Value| value.as_int().unwrap_or(0) as u32;
    let actions = events.iter().map(|&(_, index, is_return)| {
        let op = &history.operations()[index];
        let done = match &op.input {
            RegisterOp::Write(value) => RegisterOperation::Write(number(value)),
            _ => RegisterOperation::Read(op.output().filter(|_| is_return).map(number)),
        };
        (op.process as usize, if is_return { Action::Response(done) } else { Action::Call(done) })
    });
    let converted = TodcHistory::from_actions(actions.collect());
    let (accepted, cost) = measure(|| WGLChecker::<RegisterSpecification<u32>>::is_linearizable(converted));
    let verdict = |accepted| if accepted { "accepted" } else { "violation" };
    row("  todc-utils", history.operations().len(), verdict(accepted), &cost);

    if history.operations().len() > 1000 {
        return;
    }
    let mut tester = LinearizabilityTester::new(CasRegister(0));
    for (_, index, is_return) in events {
        let op = &history.operations()[index];
        let done = if is_return {
            let seen = op.output().map_or(0, |value| value.as_int().unwrap_or(0));
            let result = if op.input == RegisterOp::Read { seen } else { 0 };
            tester.on_return(op.process, result)
        } else {
            tester.on_invoke(op.process, op.input.clone())
        };
        done.expect("the history is well formed");
    }
    let (accepted, cost) = measure(|| tester.is_consistent());
    row("  stateright", history.operations().len(), verdict(accepted), &cost);
}

/// The register as stateright wants it. Nil is 0, and values are one more than they were.
#[derive(Clone, Debug, Hash, PartialEq)]
struct CasRegister(i64);

impl SequentialSpec for CasRegister {
    type Op = RegisterOp;
    type Ret = i64;

    fn invoke(&mut self, op: &RegisterOp) -> i64 {
        let number = |value: &Value| value.as_int().unwrap_or(0);
        match op {
            RegisterOp::Read => self.0,
            RegisterOp::Write(value) => {
                self.0 = number(value);
                0
            }
            RegisterOp::Cas(from, to) => {
                let swapped = self.0 == number(from);
                if swapped {
                    self.0 = number(to);
                }
                i64::from(swapped)
            }
        }
    }
}

const CHILD: &str = "RADDLE_STATERIGHT_ON";

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Checks one etcd history with stateright: exit code 0 if it is linearizable, 1 if not.
pub(crate) fn run_child() {
    let file = std::env::var_os(CHILD).expect("a child has a file");
    let mut tester = LinearizabilityTester::new(CasRegister(0));
    let shift = |value: &Value| Value::Int(value.as_int().map_or(0, |n| n + 1));
    let reader = BufReader::new(File::open(file).expect("file"));
    let mut failed = Vec::new();
    let all: Vec<_> = records(reader, Format::JepsenLog).map(|record| record.expect("record")).collect();
    // An operation that did not happen must not be invoked at all.
    let mut open = std::collections::HashMap::new();
    for (index, record) in all.iter().enumerate() {
        match record.kind {
            Kind::Invoke => drop(open.insert(record.process, index)),
            Kind::Fail => failed.push(open[&record.process]),
            _ => {}
        }
    }
    for (index, record) in all.iter().enumerate() {
        let done = match (record.kind, record.name.as_str()) {
            (Kind::Invoke, _) if failed.contains(&index) => continue,
            (Kind::Invoke, "read") => tester.on_invoke(record.process, RegisterOp::Read),
            (Kind::Invoke, "write") => {
                tester.on_invoke(record.process, RegisterOp::Write(shift(&record.value)))
            }
            (Kind::Invoke, _) => {
                let (from, to) = record.value.as_pair().expect("cas has a pair");
                tester.on_invoke(record.process, RegisterOp::Cas(shift(from), shift(to)))
            }
            (Kind::Ok, "read") => {
                tester.on_return(record.process, shift(&record.value).as_int().unwrap_or(0))
            }
            (Kind::Ok, name) => tester.on_return(record.process, i64::from(name == "cas")),
            _ => continue,
        };
        done.expect("the history is well formed");
    }
    std::process::exit(i32::from(!tester.is_consistent()));
}

fn stateright_in_child(file: &PathBuf) -> Option<bool> {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .env(CHILD, file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child process");
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            return status.code().filter(|code| *code < 2).map(|code| code == 0);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("a child to end");
    child.wait().expect("a child to wait for");
    None
}
