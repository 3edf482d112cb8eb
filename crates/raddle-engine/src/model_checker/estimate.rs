//! About how many executions there are.
//!
//! The search is a tree: an execution forks wherever an event could be added in another way. A descent takes one of the ways at
//! each fork, all with equal probability, and so comes to a given execution with a probability of one in the product of the
//! numbers of ways that it met. On average, that product is the number of executions, if descents that come to none count
//! as zero (Knuth, *Estimating the efficiency of backtrack programs*, 1975). Trees are uneven, so the mean of some hundred
//! descents says the order of magnitude, rather too little than too much.
//!
//! Executions of descents are real ones: what fails in one of them fails.

use super::{Branch, ModelChecker, WorkItem};
use crate::graph::stored::Stored;
use crate::rng::Rng;

/// What descents came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimator {
    ended: u64,
    sum: f64,
    squares: f64,
}

impl Estimator {
    fn add(&mut self, product: f64) {
        self.ended += 1;
        self.sum += product;
        self.squares += product * product;
    }

    fn mean(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.sum / self.ended as f64)
    }

    /// Whether more descents would say little that is new: the standard error is a twentieth of the mean.
    fn is_precise(&self) -> bool {
        let ended = self.ended as f64;
        let variance = (self.squares / ended - (self.sum / ended).powi(2)).max(0.0);
        self.ended >= 500 && (variance / ended).sqrt() <= self.sum / ended / 20.0
    }
}

impl Stored for Estimator {
    fn put(&self, words: &mut Vec<u64>) {
        words.extend([self.ended, self.sum.to_bits(), self.squares.to_bits()]);
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Estimator> {
        let ended = *words.next()?;
        let mut number = || words.next().copied().map(f64::from_bits);
        Some(Estimator { ended, sum: number()?, squares: number()? })
    }
}

/// A descent that is under way, one of several.
#[derive(Debug)]
pub(crate) struct RandomProbe {
    rng: Rng,
    /// The product of the numbers of ways so far.
    product: f64,
    /// Whether the latest execution was one that counts.
    arrived: bool,
    /// What the search itself had come to, unless it has to begin anew.
    aside: Option<Vec<Branch>>,
}

impl ModelChecker {
    /// About how many executions there are, if that was estimated.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.tally.mean()
    }

    /// Whether the estimate is as good as it gets.
    pub(crate) fn is_well_estimated(&self) -> bool {
        self.tally.is_precise()
    }

    /// Leaves the search for descents, until [`end_descents`](Exhaustive::end_descents).
    pub(crate) fn begin_descents(&mut self, seed: u64) {
        let fresh = self.fresh_frame();
        let aside = std::mem::replace(&mut self.frames, vec![fresh]);
        self.begun = false;
        let rng = Rng::of_execution(seed, self.tally.ended);
        self.descent = Some(RandomProbe { rng, product: 1.0, arrived: false, aside: Some(aside) });
    }

    /// The execution that was made is one that counts.
    pub(crate) fn arrives(&mut self) {
        if let Some(descent) = &mut self.descent {
            descent.arrived = true;
        }
    }

    /// Goes on with the search.
    pub(crate) fn end_descents(&mut self) {
        let Some(RandomProbe { product, aside, .. }) = self.descent.take() else { return };
        if self.tally.ended == 0 && product > 1.0 {
            // What was seen of it is all that is known.
            self.tally.add(product);
        }
        self.begun = aside.is_some();
        self.frames = aside.unwrap_or_else(|| vec![self.fresh_frame()]);
    }

    /// The search has to begin anew, and so have its descents.
    pub(crate) fn begin_descents_anew(&mut self) {
        self.tally = Estimator::default();
        if let Some(descent) = &mut self.descent {
            *descent = RandomProbe { rng: descent.rng.clone(), product: 1.0, arrived: false, aside: None };
        }
    }

    /// Chooses one of the ways that the latest execution found, or begins the next descent.
    pub(crate) fn descend(&mut self, descent: &mut RandomProbe) {
        let work = self.choose(descent);
        let comes_to = if descent.arrived && work.is_none() { descent.product } else { 0.0 };
        descent.arrived = false;
        if !work.is_some_and(|work| self.takes_up(work)) {
            self.tally.add(comes_to);
            descent.product = 1.0;
            self.frames = vec![self.fresh_frame()];
        }
    }

    /// Chooses at every fork; None if the latest execution is where that leads.
    fn choose(&mut self, descent: &mut RandomProbe) -> Option<WorkItem> {
        let mut noted = self.noted_ways();
        let mut from = 0;
        while let Some(&WorkItem { at, .. }) = noted.get(from) {
            let ways = noted[from..].iter().take_while(|work| work.at == at).count();
            descent.product *= (ways + 1) as f64;
            let way = descent.rng.below(ways + 1);
            if way < ways {
                return Some(noted.swap_remove(from + way));
            }
            from += ways;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use notation::Program;
    use notation::random::locking_programs;

    use super::super::Model;
    use super::super::tests::{identical, numbered, parse, run, samples};
    use super::*;

    /// What so many descents say of a program, and what the search comes to in which they are made after some executions.
    fn estimated(model: Model, program: &Program, descents: u64, after: u64) -> (f64, u64) {
        let mut search = ModelChecker::new(model);
        let mut executions = 0;
        run(&mut search, program, true, true, |search, _| {
            match search.descent.is_some() {
                true => search.arrives(),
                false => executions += 1,
            }
            if executions == after && search.tally.ended == 0 && search.descent.is_none() {
                search.begin_descents(executions);
            }
            if search.tally.ended >= descents {
                search.end_descents();
            }
        });
        (search.estimate().unwrap_or(0.0), executions)
    }

    /// How many executions there are.
    fn count(model: Model, program: &Program) -> u64 {
        estimated(model, program, 1, u64::MAX).1
    }

    #[test]
    fn one_descent_says_how_large_an_even_tree_is() {
        let readers = parse(&format!("Ws(x,1) || {}", identical(8, "Rs x")));
        assert_eq!(estimated(Model::Sc, &readers, 1, 1), (256.0, 256));
    }

    #[test]
    fn descents_say_about_how_many_executions_there_are() {
        let programs = [
            identical(7, "FAAs(x,1)"),
            identical(6, "lock m; FAAs(x,1); unlock m"),
            numbered(7, |i| format!("CASs(x,{i},{})", i + 1)),
            identical(4, "Rs x; Ws(x,1)"),
            identical(2, "Rs x; Ws(x,1); Rs x; Ws(x,1); Rs x; Ws(x,1)"),
            identical(3, "Rs x; Ws(y,1); Rs y; Ws(x,1)"),
        ];
        for program in programs.map(|program| parse(&program)) {
            let program = &program;
            for model in [Model::Sc, Model::Rc11] {
                let all = count(model, program) as f64;
                for after in 1..10 {
                    let (estimate, executions) = estimated(model, program, 500, after);
                    assert_eq!(executions as f64, all);
                    assert!((all / 4.0..all * 4.0).contains(&estimate), "{estimate} of {all}: {program}");
                }
            }
        }
    }

    #[test]
    fn descents_find_their_mean_and_leave_the_search_as_it_was() {
        for (number, program) in (0..).zip(samples(locking_programs(2..=4), 100)) {
            for model in [Model::Sc, Model::Rc11] {
                let all = count(model, &program);
                let (estimate, executions) = estimated(model, &program, 1000, 1 + number % all);
                assert_eq!(executions, all, "{program}");
                let all = all as f64;
                let made = (1 + number % executions) < executions;
                assert!(
                    !made || (all / 2.0..all * 2.0).contains(&estimate),
                    "{estimate} of {all}: {program}"
                );
            }
        }
    }
}
