//! Programs of GenMC's own tests: each execution once, under either model.
//!
//! Where a comment does not say more, the count is the oracle's; it is written down to see it.

use litmus::check;
use litmus::check::explored;
use litmus::programs::synthetic::*;
use litmus::{Model, Real, Test};

/// For programs that are too long for the oracle, and whose count the literature knows.
#[track_caller]
fn count(expected: u64, build: impl Fn() -> Test) {
    for model in Model::ALL {
        assert_eq!(explored(model, &build).as_assumed(), expected, "{model:?}");
    }
}

mod synthetic_program {
    use super::*;

    /// GenMC has 398 under SC.
    #[test]
    fn sieve() {
        check!(eratosthenes(5), 398, 1512);
    }

    /// GenMC has 410 for 100 reads.
    #[test]
    fn pointer_to_atomic() {
        check!(shared_pointer(2), 18, 18);
        count(410, || shared_pointer::<Real>(100));
        check!(shared_pointer_initialised(1), 17, 17);
        check!(shared_pointer_initialised(2), 21, 21);
        count(410, || shared_pointer_initialised::<Real>(100));
    }

    /// Found at each look, or never.
    #[test]
    fn flag() {
        check!(publish(5), 6, 6);
        count(42, || publish::<Real>(41));
    }

    #[test]
    fn list() {
        check!(list_prepend(2), 4, 4);
        check!(list_prepend(3), 48, 48);
    }

    #[test]
    fn stores_beside_locks() {
        check!(store_beside_lock(), 8 + 0, 8 + 0);
        check!(locked_message(), 6 + 0, 6 + 0);
    }

    /// GenMC has as many.
    #[test]
    fn locks() {
        check!(two_locks(2), 10 + 0, 10 + 0);
        count(342, || two_locks::<Real>(3));
        check!(casw_with_locks(2), 6 + 0, 6 + 0);
    }

    /// All orders of the critical sections: (2n)! / (n!)² and (2n)! / 2ⁿ.
    #[test]
    fn orders_of_critical_sections() {
        check!(locked_stack(3), 20 + 0, 20 + 0);
        count(252, || locked_stack::<Real>(5));
        check!(casw_with_locks(3), 90 + 0, 90 + 0);
        count(2520, || casw_with_locks::<Real>(4));
    }
}
