//! The built-in models by name, as history files and the command line know them.

use super::keyed::Keyed;
use super::kv::Text;
use super::{Named, bank, counter, deque, dual_queue, lock, log, map, multi_register};
use super::{priority_queue, queue, register, set, stack};
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
    Entry { name: "multi-register", operations: "txn [[:r k nil] [:w k v] …]" },
    Entry { name: "counter", operations: "read, inc, dec, add n, add-and-get n, get-and-add n" },
    Entry { name: "mutex", operations: "acquire, try-acquire, release" },
    Entry { name: "semaphore:permits", operations: "acquire n, try-acquire n, release n, available" },
    Entry { name: "set", operations: "add v, remove v, contains v, size, read" },
    Entry { name: "map", operations: "put [k v], insert [k v], get k, remove k, contains k, size" },
    Entry { name: "kv", operations: "put v, append v, get; each with a key" },
    Entry { name: "queue", operations: "enqueue v, dequeue, peek" },
    Entry { name: "bounded-queue:capacity", operations: "enqueue v, dequeue, peek" },
    Entry { name: "blocking-queue", operations: "put v, take, follow-up ticket, cancel ticket" },
    Entry { name: "stack", operations: "push v, pop, peek" },
    Entry {
        name: "deque",
        operations: "push-front v, push-back v, pop-front, pop-back, peek-front, peek-back",
    },
    Entry { name: "priority-queue", operations: "insert v, remove, peek; largest first" },
    Entry { name: "min-priority-queue", operations: "insert v, remove, peek; smallest first" },
    Entry { name: "log", operations: "append v, read [offset], length" },
    Entry { name: "bank:accounts×balance", operations: "transfer [from to amount], read, balance account" },
];

/// Something to do with a model whose type is known only by name.
pub trait Visitor {
    /// What it gives.
    type Result;

    /// Does it.
    fn visit<M>(self, model: M) -> Self::Result
    where
        M: Named<Input: Send + Sync> + Clone + Sync;
}

/// Finds the model called `name` and hands it to `visitor`; with `keyed`, one such object under every key.
///
/// ```
/// use raddle_check::model::catalog::{self, Visitor};
/// use raddle_check::{Value, model::Named};
///
/// struct Parse;
/// impl Visitor for Parse {
///     type Result = Result<String, String>;
///     fn visit<M: Named>(self, model: M) -> Self::Result {
///         model.operation("cas", &vec![1.into(), 2.into()].into()).map(|op| model.describe(&op, None))
///     }
/// }
///
/// assert_eq!(catalog::visit("cas-register", false, Parse), Ok(Ok("cas(1, 2) -> ?".into())));
/// assert!(catalog::visit("cas-regster", false, Parse).is_err());
/// ```
pub fn visit<V: Visitor>(name: &str, keyed: bool, visitor: V) -> Result<V::Result, String> {
    let (base, parameter) = name.split_once(':').map_or((name, None), |(base, rest)| (base, Some(rest)));
    macro_rules! with {
        ($model:expr) => {
            match $model {
                model if keyed => Ok(visitor.visit(Keyed(model))),
                model => Ok(visitor.visit(model)),
            }
        };
    }
    let number = |what: &str| match parameter.map(str::parse::<usize>) {
        Some(Ok(n)) => Ok(n),
        _ => Err(format!("model `{base}` needs {what}: `{base}:4`")),
    };
    let takes_parameter = ["register", "cas-register", "semaphore", "bounded-queue", "bank"].contains(&base);
    if parameter.is_some() && !takes_parameter && is_known(base) {
        return Err(format!("model `{base}` takes no parameter"));
    }
    match base {
        "register" | "cas-register" => with!(register::Register { initial: initial(parameter) }),
        "multi-register" => with!(multi_register::MultiRegister),
        "counter" => with!(counter::Counter),
        "mutex" => with!(lock::Semaphore::mutex()),
        "semaphore" => with!(lock::Semaphore::new(number("its number of permits")? as u64)),
        "set" => with!(set::Set),
        "map" => with!(map::Map),
        "kv" => Ok(visitor.visit(Keyed(Text::new()))),
        "queue" => with!(queue::Queue::new()),
        "bounded-queue" => with!(queue::Queue::bounded(number("its capacity")?)),
        "blocking-queue" => with!(dual_queue::DualQueue),
        "stack" => with!(stack::Stack::new()),
        "deque" => with!(deque::Deque),
        "priority-queue" => with!(priority_queue::PriorityQueue::new()),
        "min-priority-queue" => {
            with!(priority_queue::PriorityQueue { smallest_first: true, slack: 0 })
        }
        "log" => with!(log::Log),
        "bank" => {
            let sizes = parameter.and_then(|p| p.split_once(['x', '×']));
            match sizes.map(|(count, balance)| (count.parse(), balance.parse())) {
                Some((Ok(count), Ok(balance))) => with!(bank::Bank::new(count, balance)),
                _ => Err("model `bank` needs its accounts and what is in each: `bank:8x10`".into()),
            }
        }
        _ => Err(format!("no model is called `{base}`: there are {}", names().join(", "))),
    }
}

/// Whether operations of the model always come with a key.
pub fn has_keys(name: &str) -> bool {
    name == "kv"
}

fn initial(parameter: Option<&str>) -> Value {
    match parameter {
        None | Some("nil") => Value::Nil,
        Some(text) => text.parse().map_or_else(|_| Value::from(text), Value::Int),
    }
}

fn names() -> Vec<&'static str> {
    MODELS.iter().map(|entry| entry.name.split([':', '[']).next().unwrap_or(entry.name)).collect()
}

fn is_known(base: &str) -> bool {
    names().contains(&base)
}
