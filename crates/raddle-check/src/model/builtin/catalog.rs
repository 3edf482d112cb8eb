//! The built-in models by name, as history files and the command line know them.

use super::erased::{Datum, Erased};
use super::keyed::Keyed;
use super::kv::Text;
use super::register::{Nil, Register};
use super::starting::Starting;
use super::{Named, bank, counter, deque, dual_queue, lock, log, map, multi_register};
use super::{priority_queue, queue, set, stack};
use crate::value::Value;

/// A built-in model, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; what stands behind a colon is its parameter.
    pub name: &'static str,
    /// Its operations.
    pub operations: &'static str,
}

/// Every built-in model.
pub const MODELS: &[Entry] = &[
    Entry { name: "register[:initial]", operations: "read, write v" },
    Entry { name: "cas-register[:initial]", operations: "read, write v, cas [old new]" },
    Entry { name: "multi-register[:{…}]", operations: "txn [[:r k nil] [:w k v] …]" },
    Entry { name: "counter[:n]", operations: "read, inc, dec, add n, add-and-get n, get-and-add n" },
    Entry { name: "mutex[:locked]", operations: "acquire, try-acquire, release" },
    Entry { name: "semaphore:permits", operations: "acquire n, try-acquire n, release n, available" },
    Entry { name: "set[:[…]]", operations: "add v, remove v, contains v, size, read" },
    Entry { name: "map[:{…}]", operations: "put [k v], insert [k v], get k, remove k, contains k, size" },
    Entry { name: "kv[:{…}]", operations: "put v, append v, get; each with a key" },
    Entry { name: "queue[:[…]]", operations: "enqueue v, dequeue, peek" },
    Entry { name: "bounded-queue:capacity[:[…]]", operations: "enqueue v, dequeue, peek" },
    Entry { name: "blocking-queue[:[…]]", operations: "put v, take, follow-up ticket, cancel ticket" },
    Entry { name: "stack[:[…]]", operations: "push v, pop, peek" },
    Entry {
        name: "deque[:[…]]",
        operations: "push-front v, push-back v, pop-front, pop-back, peek-front, peek-back",
    },
    Entry { name: "priority-queue[:[…]]", operations: "insert v, remove, peek; largest first" },
    Entry { name: "min-priority-queue[:[…]]", operations: "insert v, remove, peek; smallest first" },
    Entry { name: "log[:[…]]", operations: "append v, read [offset], length" },
    Entry { name: "bank:accounts×balance", operations: "transfer [from to amount], read, balance account" },
    Entry { name: "bank:{…}", operations: "likewise, with the balance of each account" },
];

/// The model called `name`; with `keyed`, one such object under every key.
///
/// ```
/// use raddle_check::Model;
/// use raddle_check::model::{Named, catalog};
///
/// let register = catalog::find("cas-register", false).unwrap();
/// let cas = register.operation("cas", &vec![1.into(), 2.into()].into()).unwrap();
/// assert_eq!(register.describe(&cas, None), "cas(1, 2) -> ?");
/// assert!(catalog::find("cas-regster", false).is_err());
/// ```
pub fn find(name: &str, keyed: bool) -> Result<Erased, String> {
    find_with(name, keyed, Nil::Value)
}

/// Like [`find`], with a say in what it means that a read of a register returned nil.
pub fn find_with(name: &str, keyed: bool, nil: Nil) -> Result<Erased, String> {
    let (base, parameter) = name.split_once(':').map_or((name, None), |(base, rest)| (base, Some(rest)));
    if nil == Nil::Anything && is_known(base) && !base.ends_with("register") {
        return Err(format!("nil stands for any value in reads of registers only, not of `{base}`"));
    }
    let (model, fill, contents) = match base {
        "register" | "cas-register" => {
            (Erased::new(Register { initial: initial(parameter), nil }), Fill::Nothing, None)
        }
        "multi-register" => (Erased::new(multi_register::MultiRegister { nil }), Fill::Registers, parameter),
        "counter" => (Erased::new(counter::Counter), Fill::Whole("add"), parameter),
        "mutex" => {
            let locked = match parameter {
                None | Some("free") => None,
                Some("locked") => Some("1"),
                Some(_) => return Err("write `mutex:locked` for a mutex that is locked at first".into()),
            };
            (Erased::new(lock::Semaphore::mutex()), Fill::Whole("acquire"), locked)
        }
        "semaphore" => match parameter.map(str::parse) {
            Some(Ok(permits)) => (Erased::new(lock::Semaphore::new(permits)), Fill::Nothing, None),
            _ => return Err("model `semaphore` needs its number of permits: `semaphore:4`".into()),
        },
        "set" => (Erased::new(set::Set), Fill::Each("add"), parameter),
        "map" => (Erased::new(map::Map), Fill::Each("put"), parameter),
        // Its objects have keys, so its contents do.
        "kv" => (under_keys(Erased::new(Text::new())), Fill::Each("put"), parameter),
        "queue" => (Erased::new(queue::Queue::new()), Fill::Each("enqueue"), parameter),
        "bounded-queue" => {
            let (capacity, contents) = match parameter.and_then(|parameter| parameter.split_once(':')) {
                Some((capacity, contents)) => (Some(capacity), Some(contents)),
                None => (parameter, None),
            };
            match capacity.map(str::parse) {
                Some(Ok(capacity)) => {
                    (Erased::new(queue::Queue::bounded(capacity)), Fill::Each("enqueue"), contents)
                }
                _ => return Err("model `bounded-queue` needs its capacity: `bounded-queue:4`".into()),
            }
        }
        "blocking-queue" => (Erased::new(dual_queue::DualQueue), Fill::Each("put"), parameter),
        "stack" => (Erased::new(stack::Stack::new()), Fill::Each("push"), parameter),
        "deque" => (Erased::new(deque::Deque::default()), Fill::Each("push-back"), parameter),
        "priority-queue" => {
            (Erased::new(priority_queue::PriorityQueue::new()), Fill::Each("insert"), parameter)
        }
        "min-priority-queue" => {
            let queue = priority_queue::PriorityQueue { smallest_first: true, ..Default::default() };
            (Erased::new(queue), Fill::Each("insert"), parameter)
        }
        "log" => (Erased::new(log::Log), Fill::Each("append"), parameter),
        "bank" => (Erased::new(bank(parameter)?), Fill::Nothing, None),
        _ => return Err(format!("no model is called `{base}`: there are {}", names().join(", "))),
    };
    let model = filled(base, model, fill, contents)?;
    Ok(if keyed && !has_keys(base) { under_keys(model) } else { model })
}

/// One such object under every key.
fn under_keys(model: Erased) -> Erased {
    Erased::new(Keyed(model))
}

/// How contents at first become operations.
enum Fill {
    /// There are none.
    Nothing,
    /// One operation of this name with all of it.
    Whole(&'static str),
    /// An operation of this name for each element, or for each pair of key and value.
    Each(&'static str),
    /// A transaction that writes each value under its key.
    Registers,
}

/// The model `base` with these contents at first.
fn filled(base: &str, model: Erased, fill: Fill, contents: Option<&str>) -> Result<Erased, String> {
    let Some(text) = contents else { return Ok(model) };
    let misfit = |wanted: &str, error: &str| {
        format!("model `{base}` cannot begin with `{text}`: write {wanted} in JSON{error}")
    };
    let value: Value =
        serde_json::from_str(text).map_err(|error| misfit("what it holds", &format!(" ({error})")))?;
    let list = || value.as_list().ok_or_else(|| misfit("a list or a mapping", ""));
    let operations: Result<Vec<Datum>, String> = match fill {
        Fill::Nothing => return Err(format!("model `{base}` takes no contents")),
        Fill::Whole(name) => model.operation(name, &value).map(|operation| vec![operation]),
        Fill::Each(name) => list()?.iter().map(|element| model.operation(name, element)).collect(),
        Fill::Registers => {
            let write = |pair: &Value| {
                let (key, value) = pair.as_pair().ok_or_else(|| misfit("a mapping", ""))?;
                Ok(Value::from(vec![":w".into(), key.clone(), value.clone()]))
            };
            let writes = list()?.iter().map(write).collect::<Result<Vec<Value>, String>>()?;
            model.operation("txn", &writes.into()).map(|transaction| vec![transaction])
        }
    };
    let operations = operations.map_err(|error| misfit("its contents", &format!(" ({error})")))?;
    let starting = Starting::with(model, operations);
    starting.map(Erased::new).ok_or_else(|| misfit("less", ": it does not hold that much"))
}

/// Accounts and their balances: `8x10`, or `{"savings": 10, "current": 3}`.
fn bank(parameter: Option<&str>) -> Result<bank::Bank, String> {
    const MOST: i64 = 1 << 20;
    let text = parameter.unwrap_or_default();
    let sizes = text.split_once(['x', '×']).map(|(count, balance)| (count.parse(), balance.parse()));
    if let Some((Ok(count), Ok(balance))) = sizes
        && (0..=MOST).contains(&count)
    {
        return Ok(bank::Bank::new(count, balance));
    }
    let balances = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'));
    let accounts = balances.and_then(|balances: Value| bank::balances(&balances));
    accounts.map(|accounts| bank::Bank { accounts }).ok_or_else(|| {
        format!("model `bank` needs up to {MOST} accounts and what is in them: `bank:8x10`, `bank:{{\"a\": 10, \"b\": 0}}`")
    })
}

/// Whether operations of the model always come with a key.
pub fn has_keys(name: &str) -> bool {
    name == "kv" || name.starts_with("kv:")
}

fn initial(parameter: Option<&str>) -> Value {
    match parameter {
        None | Some("nil") => Value::Nil,
        Some(text) => text.parse().map_or_else(|_| Value::from(text), Value::Int),
    }
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> =
        MODELS.iter().map(|entry| entry.name.split([':', '[']).next().unwrap_or(entry.name)).collect();
    names.dedup();
    names
}

fn is_known(base: &str) -> bool {
    names().contains(&base)
}
