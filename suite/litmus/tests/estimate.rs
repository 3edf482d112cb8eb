//! How large a search is, is known long before its end.

use std::time::{Duration, Instant};

use litmus::check::explorer;
use litmus::programs::classics::*;
use litmus::programs::structures::*;
use litmus::{Model, Real, Test};
use raddle::{Explorer, Strategy};

/// An estimate is off by this factor at most.
const FACTOR: u64 = 10;

#[track_caller]
fn estimate(all: u64, model: Model, build: impl Fn() -> Test) {
    let report = explorer(model).executions(all / 2).run(|| _ = Real::run(build()));
    assert!(!report.complete && report.executions == all / 2);
    let estimate = report.estimate.expect("it took long enough");
    println!("{model:?}: about {estimate} of {all}");
    assert!((all / FACTOR..all * FACTOR).contains(&estimate), "{model:?}: {estimate} of {all}");
}

#[test]
fn estimates_are_near_the_counts() {
    for model in Model::ALL {
        estimate(147_456, model, || lastzero::<Real>(15));
        estimate(362_880, model, || ainc::<Real>(9));
        estimate(1 << 18, model, || readers::<Real>(18));
    }
}

/// Twice two thirds of the budget are more than enough, but its part of the portfolio is not.
#[test]
fn a_search_that_is_expected_to_end_may_take_longer() {
    let report = Explorer::new().budget(Duration::from_secs(60)).run(|| _ = Real::run(treiber::<Real>(3, 1)));
    let exhaustive = report.searches.iter().find(|ran| ran.strategy == Strategy::Exhaustive).unwrap();
    assert!(exhaustive.complete && exhaustive.executions == 25_680, "{:?}", report.searches);
    let report = Explorer::new().executions(60_000).run(|| _ = Real::run(treiber::<Real>(3, 1)));
    let exhaustive = report.searches.iter().find(|ran| ran.strategy == Strategy::Exhaustive).unwrap();
    assert!(exhaustive.complete && exhaustive.executions == 25_680, "{:?}", report.searches);
}

#[test]
fn a_search_that_is_far_from_its_end_ends() {
    let report = Explorer::new().budget(Duration::from_secs(10)).run(|| _ = Real::run(racy::<Real>(2, 12)));
    let exhaustive = report.searches.iter().find(|ran| ran.strategy == Strategy::Exhaustive).unwrap();
    println!("{exhaustive}");
    assert!(!exhaustive.complete && exhaustive.executions < 10_000, "{:?}", report.searches);
    assert!(exhaustive.estimate.unwrap() > 10_000_000, "{:?}", report.searches);
    assert!(exhaustive.to_string().contains(" of about "), "{exhaustive}");
}

/// Where it takes long to find out that nothing is left within a bound, time still passes.
#[test]
fn the_budget_is_kept_where_few_executions_are_within_the_bound() {
    let begin = Instant::now();
    let report = Explorer::new().budget(Duration::from_secs(5)).run(|| _ = Real::run(racy::<Real>(4, 6)));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}: {:?}", begin.elapsed(), report.searches);
}
