//! Random schemas, with the weights of Violat.
//!
//! The number of threads and of invocations is uniform. Each thread but the last gets a number of invocations from a normal distribution
//! around the even share, with standard deviation 1, the last the rest. Methods that are trusted and change the object count three
//! times. Beyond Violat: at most one method that is not trusted is in a schema, so that it is clear whom to blame; three of four
//! schemas are aimed at that method ([`aimed`](super::aimed)); values may be spread over a larger range ([`spread`](super::spread)); a schema is not
//! made twice, not even with its threads in another order; and a schema in which nothing changes the object is not made at all.

use std::collections::HashSet;

use super::aimed::aimed;
use super::rng::Rng;
use super::spread::spread;
use super::{Bounds, Candidate};
use crate::schema::{Invocation, Schema};

/// Which methods that are not trusted a schema may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspects {
    /// One, at least once: that which is blamed.
    One,
    /// Any.
    Any,
}

/// Schemas at random, each once.
#[derive(Clone, Debug)]
pub struct Random {
    methods: Vec<Method>,
    bounds: Bounds,
    suspects: Suspects,
    /// How many values there are to take those of a schema from.
    range: usize,
    rng: Rng,
    made: HashSet<Schema>,
}

#[derive(Clone, Debug)]
struct Method {
    calls: Vec<Invocation>,
    readonly: bool,
    trusted: bool,
}

/// So many schemas in a row that were made before mean that there are hardly any others.
const MOST_REPETITIONS: usize = 2000;
/// So many draws are made for an invocation that a schema does not have yet.
const MOST_DRAWS: usize = 8;
/// Of so many schemas that are aimed, all but one have something that moves.
const MOVES: usize = 3;
/// Of so many schemas, all but one are aimed at the method to blame.
const AIMED: usize = 4;
/// The weight of a trusted method that changes the object.
const TRUSTED_MUTATOR: usize = 3;

impl Random {
    /// Schemas of these calls.
    pub fn new(candidates: &[Candidate], bounds: Bounds, suspects: Suspects, seed: u64) -> Random {
        let mut methods: Vec<Method> = Vec::new();
        for candidate in candidates {
            let name = &candidate.invocation.method;
            let call = candidate.invocation.clone();
            match methods.iter_mut().find(|method| method.calls[0].method == *name) {
                Some(method) => method.calls.push(call),
                None => methods.push(Method {
                    calls: vec![call],
                    readonly: candidate.readonly,
                    trusted: candidate.trusted,
                }),
            }
        }
        // Without trusted methods there is nobody else to make programs of.
        let suspects = match methods.iter().any(|method| method.trusted && !method.readonly) {
            true => suspects,
            false => Suspects::Any,
        };
        Random { methods, bounds, suspects, range: 0, rng: Rng::new(seed), made: HashSet::new() }
    }

    /// The same schemas, with other values for each: those of the candidates stand for as many of the first `range` ones.
    pub fn spread(mut self, range: usize) -> Random {
        self.range = range;
        self
    }

    fn draw(&mut self) -> Option<Schema> {
        let bounds = self.bounds;
        let threads = self.rng.between(bounds.min_threads, bounds.max_threads).max(1);
        let (low, high) = (bounds.min_invocations.max(threads), bounds.max_invocations.max(threads));
        let invocations = self.rng.between(low, high);
        let suspected: Vec<usize> =
            (0..self.methods.len()).filter(|&method| !self.methods[method].trusted).collect();
        let suspect = match self.suspects {
            Suspects::One if !suspected.is_empty() => Some(suspected[self.rng.below(suspected.len())]),
            _ => None,
        };
        let pool: Vec<usize> = (0..self.methods.len())
            .filter(|method| {
                self.methods[*method].trusted || suspect.is_none_or(|suspect| *method == suspect)
            })
            .collect();
        let mut schema = match suspect {
            Some(suspect) if self.rng.below(AIMED) > 0 => self.aimed(suspect, threads, invocations),
            _ => self.even(&pool, threads, invocations),
        };
        spread(&mut schema, self.range, &mut self.rng);
        let method = |invocation: &Invocation| {
            self.methods.iter().find(|method| method.calls[0].method == invocation.method)
        };
        let changes =
            schema.invocations().any(|invocation| method(invocation).is_some_and(|method| !method.readonly));
        let accuses = suspect.is_none_or(|suspect| {
            schema.invocations().any(|invocation| invocation.method == self.methods[suspect].calls[0].method)
        });
        (changes && accuses).then_some(schema)
    }

    /// A schema whose threads are alike, as Violat has it.
    fn even(&mut self, pool: &[usize], threads: usize, invocations: usize) -> Schema {
        let (mut sequences, mut left) = (Vec::new(), invocations);
        for thread in 0..threads {
            let share = match thread + 1 == threads {
                true => left,
                false => self.rng.normal(invocations as f64 / threads as f64).round().max(1.0) as usize,
            };
            // The others get one each, too.
            let share = share.min(left.saturating_sub(threads - thread - 1)).max(1);
            left = left.saturating_sub(share);
            sequences.push((0..share).map(|_| self.invocation(pool)).collect::<Vec<_>>());
        }
        Schema::parallel(sequences)
    }

    fn aimed(&mut self, suspect: usize, threads: usize, invocations: usize) -> Schema {
        let trusted = |readonly: Option<bool>| -> Vec<usize> {
            let fits = |method: &Method| {
                method.trusted && readonly.is_none_or(|readonly| method.readonly == readonly)
            };
            (0..self.methods.len()).filter(|&method| fits(&self.methods[method])).collect()
        };
        let (any, mutators, readers) = (trusted(None), trusted(Some(false)), trusted(Some(true)));
        let looks_after = !self.methods[suspect].readonly && !readers.is_empty();
        // Something that moves takes three calls. Small schemas are left to those whose threads are alike.
        let moves = threads > 1 && threads + 2 <= self.bounds.max_invocations && self.rng.below(MOVES) > 0;
        let rest = if moves { invocations.max(threads + 2) - 2 } else { invocations };
        let parts = aimed(threads, rest, looks_after, &mut self.rng);
        let mut used = HashSet::new();
        let (mut initial, mut moving) = (Vec::new(), Vec::new());
        if moves {
            let [there, rest @ ..] = self.moving(&mutators);
            used.extend([&there].into_iter().chain(&rest).cloned());
            initial.push(there);
            moving.extend(rest);
        }
        let mut make = |pool: &[usize], count: usize| -> Vec<Invocation> {
            (0..count).map(|_| self.unused(pool, &mut used)).collect()
        };
        initial.extend(make(&mutators, parts.initial));
        let mut phase =
            vec![[make(&any, parts.before), make(&[suspect], 1), make(&any, parts.after)].concat()];
        for (number, &count) in parts.others.iter().enumerate() {
            match number == 0 && moves {
                true => phase.push([std::mem::take(&mut moving), make(&any, count - 1)].concat()),
                false => phase.push(make(&any, count)),
            }
        }
        let mut phases = vec![vec![initial], phase, vec![make(&readers, parts.last)]];
        phases.retain(|phase| phase.iter().any(|sequence| !sequence.is_empty()));
        Schema { phases }
    }

    /// Three changes by which something moves from one place to another, if the methods are those that add and remove: the first makes it be
    /// there, the others take it away and add another, in either order. Who looks in between, and misses it or sees it twice, is found out.
    fn moving(&mut self, mutators: &[usize]) -> [Invocation; 3] {
        let add = mutators[self.rng.below(mutators.len())];
        let others: Vec<usize> = mutators.iter().copied().filter(|&method| method != add).collect();
        let remove = if others.is_empty() { add } else { others[self.rng.below(others.len())] };
        let there = self.invocation(&[add]);
        let place = |call: &Invocation| call.arguments.first().cloned();
        let mut like = |method: usize, same: bool| {
            let calls = &self.methods[method].calls;
            let fits: Vec<&Invocation> =
                calls.iter().filter(|call| (place(call) == place(&there)) == same).collect();
            match fits.is_empty() {
                true => calls[self.rng.below(calls.len())].clone(),
                false => fits[self.rng.below(fits.len())].clone(),
            }
        };
        let (away, elsewhere) = (like(remove, true), like(add, false));
        match self.rng.below(2) {
            0 => [there, away, elsewhere],
            _ => [there, elsewhere, away],
        }
    }

    /// An invocation that is not used yet, if such a one is soon found: a change that was made already is none, and a look that was had
    /// tells little.
    fn unused(&mut self, pool: &[usize], used: &mut HashSet<Invocation>) -> Invocation {
        let mut drawn = self.invocation(pool);
        for _ in 0..MOST_DRAWS {
            if !used.contains(&drawn) {
                break;
            }
            drawn = self.invocation(pool);
        }
        used.insert(drawn.clone());
        drawn
    }

    fn invocation(&mut self, pool: &[usize]) -> Invocation {
        let weight = |method: &Method| if method.trusted && !method.readonly { TRUSTED_MUTATOR } else { 1 };
        let total: usize = pool.iter().map(|&method| weight(&self.methods[method])).sum();
        let mut ticket = self.rng.below(total);
        let chosen = pool.iter().copied().find(|&method| {
            let weight = weight(&self.methods[method]);
            let hit = ticket < weight;
            ticket = ticket.wrapping_sub(weight);
            hit
        });
        let calls = self.methods[chosen.unwrap_or(pool[0])].calls.len();
        let call = self.rng.below(calls);
        self.methods[chosen.unwrap_or(pool[0])].calls[call].clone()
    }
}

impl Iterator for Random {
    type Item = Schema;

    fn next(&mut self) -> Option<Schema> {
        if self.methods.is_empty() {
            return None;
        }
        for _ in 0..MOST_REPETITIONS {
            if let Some(schema) = self.draw()
                && self.made.insert(schema.clone().canonical())
            {
                return Some(schema);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(call: &str, readonly: bool, trusted: bool) -> Candidate {
        Candidate { invocation: call.parse().unwrap(), readonly, trusted }
    }

    fn map() -> Vec<Candidate> {
        let mut calls = vec![candidate("size()", true, false), candidate("clear()", false, false)];
        for key in 0..2 {
            calls.push(candidate(&format!("get({key})"), true, true));
            calls.push(candidate(&format!("put({key},0)"), false, true));
        }
        calls
    }

    #[test]
    fn schemas_are_within_the_bounds_and_different() {
        let bounds = Bounds { max_threads: 3, ..Bounds::default() };
        let schemas: Vec<Schema> = Random::new(&map(), bounds, Suspects::One, 7).take(300).collect();
        let distinct: HashSet<Schema> = schemas.iter().cloned().map(Schema::canonical).collect();
        assert_eq!((schemas.len(), distinct.len()), (300, 300));
        for schema in &schemas {
            assert!((3..=6).contains(&schema.len()) && (2..=3).contains(&schema.threads()), "{schema}");
            let calls = |name: &str| schema.invocations().any(|call| call.method == name);
            assert!(calls("size") != calls("clear"), "one to blame: {schema}");
            assert!(calls("put") || calls("clear"), "something changes: {schema}");
        }
    }

    #[test]
    fn a_seed_makes_the_same_schemas_again() {
        let schemas =
            |seed| Random::new(&map(), Bounds::default(), Suspects::One, seed).take(20).collect::<Vec<_>>();
        assert_eq!(schemas(1), schemas(1));
        assert_ne!(schemas(1), schemas(2));
    }

    #[test]
    fn trusted_mutators_count_three_times() {
        let mut random = Random::new(&map(), Bounds::default(), Suspects::One, 3);
        let pool: Vec<usize> = (0..4).collect();
        let drawn: Vec<String> = (0..6000).map(|_| random.invocation(&pool).method).collect();
        let puts = drawn.iter().filter(|method| *method == "put").count();
        assert!((2700..3300).contains(&puts), "{puts} of 6000 should be half");
    }

    #[test]
    fn a_small_space_ends() {
        let calls = [candidate("inc()", false, true)];
        let bounds = Bounds { max_invocations: 4, ..Bounds::default() };
        // {inc}||{inc;inc}, {inc}||{inc;inc;inc}, {inc;inc}||{inc;inc}
        assert_eq!(Random::new(&calls, bounds, Suspects::One, 0).count(), 3);
    }
}
