//! The estimate of the number of executions.
//!
//! The search is a tree that branches wherever an event has alternatives. A *random probe* descends from the root and chooses one
//! alternative at each branching point, all with equal probability. So it reaches a given execution with a probability of one in
//! the product of the branching factors on its path. The mean of this product is the number of executions, if probes that reach
//! no execution count as zero (Knuth, *Estimating the efficiency of backtrack programs*, 1975). Trees are uneven, so the mean of a
//! few hundred probes gives the order of magnitude, and is more often too small than too large.
//!
//! The executions of probes are real: a failure in one of them is a failure.

use super::ModelChecker;
use super::worklist::{Branch, WorkItem};
use crate::graph::stored::Stored;
use crate::rng::Rng;

/// The results of all probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    probes: u64,
    sum: f64,
    sum_of_squares: f64,
}

impl Estimator {
    fn add(&mut self, product: f64) {
        self.probes += 1;
        self.sum += product;
        self.sum_of_squares += product * product;
    }

    fn mean(&self) -> Option<f64> {
        (self.probes > 0).then(|| self.sum / self.probes as f64)
    }

    /// Whether the standard error is at most a twentieth of the mean.
    fn is_precise(&self) -> bool {
        let probes = self.probes as f64;
        let variance = (self.sum_of_squares / probes - (self.sum / probes).powi(2)).max(0.0);
        self.probes >= 500 && (variance / probes).sqrt() <= self.sum / probes / 20.0
    }
}

impl Stored for Estimator {
    fn put(&self, words: &mut Vec<u64>) {
        words.extend([self.probes, self.sum.to_bits(), self.sum_of_squares.to_bits()]);
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Estimator> {
        let probes = *words.next()?;
        let mut number = || words.next().copied().map(f64::from_bits);
        Some(Estimator { probes, sum: number()?, sum_of_squares: number()? })
    }
}

/// A random probe under way.
#[derive(Debug)]
pub(super) struct RandomProbe {
    rng: Rng,
    /// The product of the branching factors so far.
    product: f64,
    /// Whether the latest execution is complete and within the bound.
    completed: bool,
    /// The branches of the search, which are set aside until the probes end, and whether its latest execution must be repeated. None if
    /// the search has restarted.
    search: Option<(Vec<Branch>, bool)>,
}

impl ModelChecker {
    /// The estimated number of executions, if there were probes.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.estimator.mean()
    }

    /// Whether more probes would hardly change the estimate.
    pub(crate) fn is_well_estimated(&self) -> bool {
        self.estimator.is_precise()
    }

    /// Sets the search aside for probes, until [`ModelChecker::end_probes`].
    pub(crate) fn begin_probes(&mut self, seed: u64) {
        let search = (self.branches.reset(self.model), std::mem::take(&mut self.repeat));
        self.started = false;
        let rng = Rng::of_execution(seed, self.estimator.probes);
        self.probe = Some(RandomProbe { rng, product: 1.0, completed: false, search: Some(search) });
    }

    /// Notes that the latest execution is complete and within the bound.
    pub(crate) fn probe_completed(&mut self) {
        if let Some(probe) = &mut self.probe {
            probe.completed = true;
        }
    }

    /// Continues the search.
    pub(crate) fn end_probes(&mut self) {
        let Some(RandomProbe { product, search, .. }) = self.probe.take() else { return };
        if self.estimator.probes == 0 && product > 1.0 {
            // The unfinished probe is the only information.
            self.estimator.add(product);
        }
        self.started = search.is_some();
        match search {
            Some((search, repeat)) => {
                self.branches.replace(search);
                self.repeat = repeat;
            }
            None => {
                self.branches.reset(self.model);
                self.repeat = false;
            }
        }
    }

    /// Discards the results of all probes, because the search restarts.
    pub(super) fn restart_probes(&mut self) {
        self.estimator = Estimator::default();
        if let Some(probe) = &mut self.probe {
            *probe = RandomProbe { rng: probe.rng.clone(), product: 1.0, completed: false, search: None };
        }
    }

    /// Takes a probe to its next execution, or begins the next probe.
    pub(super) fn advance_probe(&mut self, probe: &mut RandomProbe) {
        let work = self.choose_alternative(probe);
        let result = if probe.completed && work.is_none() { probe.product } else { 0.0 };
        probe.completed = false;
        if !work.is_some_and(|work| self.apply(work)) {
            self.estimator.add(result);
            probe.product = 1.0;
            self.branches.reset(self.model);
        }
    }

    /// Chooses, at each branching point of the latest execution, between the event that it added and the alternatives. Returns the
    /// first alternative chosen; None if the execution is where the probe ends.
    fn choose_alternative(&mut self, probe: &mut RandomProbe) -> Option<WorkItem> {
        let mut items = self.take_work_items();
        let mut from = 0;
        while let Some(&WorkItem { position, .. }) = items.get(from) {
            let alternatives = items[from..].iter().take_while(|work| work.position == position).count();
            probe.product *= (alternatives + 1) as f64;
            let choice = probe.rng.below(alternatives + 1);
            if choice < alternatives {
                return Some(items.swap_remove(from + choice));
            }
            from += alternatives;
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

    /// The estimate of some probes, made `after` some executions of the search, and the number of executions of the search.
    fn estimated(model: Model, program: &Program, probes: u64, after: u64) -> (f64, u64) {
        let mut search = ModelChecker::new(model);
        let mut executions = 0;
        run(&mut search, program, true, true, |search, _| {
            match search.probe.is_some() {
                true => search.probe_completed(),
                false => executions += 1,
            }
            if executions == after && search.estimator.probes == 0 && search.probe.is_none() {
                search.begin_probes(executions);
            }
            if search.estimator.probes >= probes {
                search.end_probes();
            }
        });
        (search.estimate().unwrap_or(0.0), executions)
    }

    /// The number of executions.
    fn count(model: Model, program: &Program) -> u64 {
        estimated(model, program, 1, u64::MAX).1
    }

    #[test]
    fn one_probe_estimates_an_even_tree_exactly() {
        let readers = parse(&format!("Ws(x,1) || {}", identical(8, "Rs x")));
        assert_eq!(estimated(Model::Sc, &readers, 1, 1), (256.0, 256));
    }

    #[test]
    fn probes_estimate_the_number_of_executions() {
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
    fn probes_are_unbiased_and_leave_the_search_as_it_was() {
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
