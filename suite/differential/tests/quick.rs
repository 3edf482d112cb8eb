//! A few programs of each kind, the same ones every time.

use std::time::Duration;

use differential::check::Effort;
use differential::fuzz::fuzz;
use differential::random::Profile;

fn agree(profile: Profile, seeds: u64) {
    let table = fuzz(&[profile], 0..seeds, &Effort::QUICK, Duration::from_secs(5));
    println!("{table}");
    assert!(table.differences.is_empty(), "{} programs differ", table.differences.len());
}

mod strategies_agree_with_brute_force_on {
    use super::*;

    #[test]
    fn atomics() {
        agree(Profile::Atomics, 25);
    }

    #[test]
    fn locks() {
        agree(Profile::Locks, 25);
    }

    #[test]
    fn condvar() {
        agree(Profile::Condvar, 25);
    }

    #[test]
    fn channels() {
        agree(Profile::Channels, 25);
    }

    #[test]
    fn scopes() {
        agree(Profile::Scopes, 25);
    }

    #[test]
    fn arc() {
        agree(Profile::Arc, 25);
    }

    #[test]
    fn time() {
        agree(Profile::Time, 25);
    }

    #[test]
    fn tls() {
        agree(Profile::Tls, 25);
    }

    #[test]
    fn races() {
        agree(Profile::Races, 25);
    }

    #[test]
    fn mixed() {
        agree(Profile::Mixed, 25);
    }
}
