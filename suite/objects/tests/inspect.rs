//! Objects that show themselves, instead of being shown by their fields.

use std::fmt::{self, Debug, Formatter};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;

use raddle::{Explorer, Failure, Inspect, Scenario, TestDefinition, call};

/// Two small sets in one word: what was added, and what was taken.
#[derive(Default)]
struct Pool {
    word: AtomicU64,
}

impl Pool {
    fn add(&self, item: u32) {
        // Two events, where one is needed: an addition in between is lost.
        let word = self.word.load(SeqCst);
        self.word.store(word | 1 << item, SeqCst);
    }

    fn items(&self) -> Vec<u32> {
        let word = self.word.load(SeqCst);
        (0..32).filter(|item| word >> item & 1 == 1).collect()
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "it is printed")]
struct Contents {
    items: Vec<u32>,
    is_empty: bool,
}

impl Inspect for Pool {
    fn inspect(&self) -> impl Debug {
        let items = self.items();
        Contents { is_empty: items.is_empty(), items }
    }
}

fn scenario() -> Scenario {
    let both = Scenario::new().thread([call("add", (1_u32,))]).thread([call("add", (2_u32,))]);
    both.post([call("items", ())])
}

#[raddle::test(manual, iterations = 0, scenario = scenario())]
impl Pool {
    #[operation(name = "add")]
    fn added(&self, #[arg(0..=3)] item: u32) {
        self.add(item);
    }

    #[operation(name = "items")]
    fn all(&self) -> Vec<u32> {
        self.items()
    }
}

const STORY: &str = "\
T0 other: Pool#1 = Contents { items: [], is_empty: true }
T1 store: Pool#1.0 = [1]
T1 store: Pool#1.1 = false
T2 store: Pool#1.0.0 = 2
";

#[test]
fn a_declarative_test_shows_its_object_as_that_shows_itself() {
    let failure = Pool::test().try_run().expect_err("the pool is broken");
    // What the view reads is no event: the loads are those of the operations.
    assert_eq!(story_by_values(&failure), STORY);
    let loads = failure.trace.events.iter().filter(|event| objects::kind(&event.action) == "load").count();
    assert_eq!(loads, 3);
    assert_eq!(objects::objects(&failure).list[0].name, "Pool#1");
}

#[test]
fn a_function_shows_an_object_of_any_type() {
    let failure = raddle::Test::new(Pool::default)
        .operation("add", |pool: &Pool, item: u32| pool.add(item))
        .operation("items", |pool: &Pool| pool.items())
        .scenario(scenario())
        .iterations(0)
        .inspect(|pool| (pool.items().len(), pool.items()))
        .try_run()
        .expect_err("the pool is broken");
    let story = objects::story(&failure);
    assert!(story.starts_with("T0 other: Pool#1 = (0, [])\n"), "{story}");
    assert_eq!(objects::end(&failure).len(), 1, "{story}");
}

/// The story of the failure in which the first thread stores first, or that of the other one with the threads exchanged.
fn story_by_values(failure: &Failure) -> String {
    let story = objects::story(failure);
    match story.contains("= [1]") {
        true => story,
        false => story
            .replace("T2", "Tx")
            .replace("T1", "T2")
            .replace("Tx", "T1")
            .replace("= [2]", "= [1]")
            .replace(".0.0 = 1", ".0.0 = 2"),
    }
}

#[test]
fn an_object_of_a_closure_shows_itself_while_that_is_wanted() {
    let failure = Explorer::new()
        .try_run(|| {
            let pool = Pool::default();
            raddle::inspect(&pool, || {
                thread::scope(|scope| {
                    scope.spawn(|| pool.add(1));
                    scope.spawn(|| pool.add(2));
                });
            });
            // From here on it is not asked any more.
            pool.word.store(pool.word.load(SeqCst) | 8, SeqCst);
            assert_eq!(pool.items().len(), 3);
        })
        .expect_err("an addition is lost");
    let shown: Vec<String> = objects::end(&failure);
    let pool = shown.iter().find(|object| object.starts_with("Pool#1")).expect("the pool is shown");
    assert!(
        pool.ends_with("= Contents { items: [1], is_empty: false }")
            || pool.ends_with("= Contents { items: [2], is_empty: false }"),
        "{pool}"
    );
}

/// An object that cannot be looked at while its lock is held, unless one tries.
#[derive(Default)]
struct Account {
    balance: Mutex<i32>,
    sum: AtomicUsize,
}

impl Inspect for Account {
    fn inspect(&self) -> impl Debug {
        // The `Debug` of a mutex tries to lock it.
        format!("{:?}", self.balance)
    }
}

#[test]
fn views_look_at_locks_without_waiting() {
    let failure = Explorer::new()
        .try_run(|| {
            let account = Account::default();
            raddle::inspect(&account, || {
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            let mut balance = account.balance.lock().unwrap();
                            *balance += 1;
                            let sum = account.sum.load(SeqCst);
                            drop(balance);
                            account.sum.store(sum + 1, SeqCst);
                        });
                    }
                });
                assert_eq!(account.sum.load(SeqCst), 2);
            });
        })
        .expect_err("an addition is lost");
    let story = objects::story(&failure);
    assert!(story.contains("<locked>") && story.contains("data: 2"), "{story}");
}

/// An object whose `Debug` fails in some states.
#[derive(Default)]
struct Moody(AtomicUsize);

impl Inspect for Moody {
    fn inspect(&self) -> impl Debug {
        let value = self.0.load(SeqCst);
        assert!(value < 1, "not in this mood");
        value
    }
}

#[test]
fn a_view_that_panics_is_told_and_not_asked_again() {
    let failure = Explorer::new()
        .try_run(|| {
            let moody = Moody::default();
            raddle::inspect(&moody, || {
                thread::scope(|scope| _ = scope.spawn(|| moody.0.fetch_add(1, SeqCst)));
                moody.0.store(0, SeqCst);
                assert_eq!(moody.0.load(SeqCst), 1);
            });
        })
        .expect_err("the closure fails");
    let story = objects::story(&failure);
    assert!(story.contains("= 0\n") && story.contains("<its `inspect` or `Debug` panics>"), "{story}");
    assert!(objects::end(&failure)[0].contains("panics"), "{story}");
}

/// `Debug` is asked only where debug information does not know the type.
struct Printed(AtomicUsize);

impl Debug for Printed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "printed {}", self.0.load(SeqCst))
    }
}

#[test]
fn fields_come_before_debug() {
    let failure = raddle::Test::new(|| Printed(AtomicUsize::new(0)))
        .operation("add", |printed: &Printed| {
            let value = printed.0.load(SeqCst);
            printed.0.store(value + 1, SeqCst);
            value
        })
        .scenario(Scenario::new().thread([call("add", ())]).thread([call("add", ())]))
        .iterations(0)
        .debug()
        .try_run()
        .expect_err("an addition is lost");
    assert_eq!(objects::end(&failure), ["Printed#1 = 1"]);
}
