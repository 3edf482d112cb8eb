//! All schemas within the bounds, smallest first, with their number known beforehand.

use super::{Bounds, Candidate};
use crate::schema::{Invocation, Schema};

/// All schemas with threads in one order only, without those in which nothing changes the object.
#[derive(Clone, Debug)]
pub struct Systematic {
    calls: Vec<Invocation>,
    readonly: Vec<bool>,
    /// The lengths of sequences, longest first, of the shapes still to come, the next one last.
    shapes: Vec<Vec<usize>>,
    /// For each sequence of the present shape, its number among those of its length.
    present: Option<Vec<u128>>,
}

impl Systematic {
    /// Schemas of these calls.
    pub fn new(candidates: &[Candidate], bounds: Bounds) -> Systematic {
        let mut shapes = Vec::new();
        for invocations in bounds.min_invocations..=bounds.max_invocations {
            for threads in bounds.min_threads.max(1)..=bounds.max_threads {
                partitions(invocations, threads, invocations, &mut Vec::new(), &mut shapes);
            }
        }
        shapes.reverse();
        Systematic {
            calls: candidates.iter().map(|candidate| candidate.invocation.clone()).collect(),
            readonly: candidates.iter().map(|candidate| candidate.readonly).collect(),
            shapes,
            present: None,
        }
    }

    /// How many schemas there are; nothing if that number has no name any more (more than 2¹²⁸).
    pub fn count_all(&self) -> Option<u128> {
        let readonly = self.readonly.iter().filter(|readonly| **readonly).count();
        let mut sum: u128 = 0;
        for shape in &self.shapes {
            let all = count_shape(shape, self.calls.len())?;
            sum = sum.checked_add(all - count_shape(shape, readonly)?)?;
        }
        Some(sum)
    }

    /// The schema of the present numbers.
    fn schema(&self, shape: &[usize], numbers: &[u128]) -> Option<Schema> {
        let base = self.calls.len() as u128;
        let mut changes = false;
        let sequences = shape.iter().zip(numbers).map(|(&length, &number)| {
            let mut rest = number;
            let mut sequence = Vec::with_capacity(length);
            for _ in 0..length {
                let call = usize::try_from(rest % base).expect("less than the number of calls");
                rest /= base;
                changes |= !self.readonly[call];
                sequence.push(self.calls[call].clone());
            }
            sequence.reverse();
            sequence
        });
        let sequences = sequences.collect();
        changes.then(|| Schema::parallel(sequences))
    }

    /// The next numbers: in each group of equal lengths they do not decrease, so that threads come in one order only.
    fn advance(shape: &[usize], numbers: &mut [u128], base: u128) -> bool {
        for position in (0..numbers.len()).rev() {
            let most =
                base.checked_pow(u32::try_from(shape[position]).unwrap_or(u32::MAX)).unwrap_or(u128::MAX);
            if numbers[position] + 1 < most {
                numbers[position] += 1;
                for later in position + 1..numbers.len() {
                    let grouped = shape[later] == shape[later - 1];
                    numbers[later] = if grouped { numbers[later - 1] } else { 0 };
                }
                return true;
            }
        }
        false
    }
}

impl Iterator for Systematic {
    type Item = Schema;

    fn next(&mut self) -> Option<Schema> {
        let base = self.calls.len() as u128;
        if base == 0 {
            return None;
        }
        loop {
            let shape = self.shapes.last()?.clone();
            let more = match &mut self.present {
                Some(numbers) => Systematic::advance(&shape, numbers, base),
                None => {
                    self.present = Some(vec![0; shape.len()]);
                    true
                }
            };
            if !more {
                self.present = None;
                self.shapes.pop();
                continue;
            }
            let numbers = self.present.as_ref()?;
            if let Some(schema) = self.schema(&shape, numbers) {
                return Some(schema);
            }
        }
    }
}

/// The ways to write `sum` as this many numbers, none larger than the one before.
fn partitions(sum: usize, parts: usize, most: usize, prefix: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if parts == 0 {
        if sum == 0 {
            found.push(prefix.clone());
        }
        return;
    }
    for part in (1..=most.min(sum)).rev() {
        prefix.push(part);
        partitions(sum - part, parts - 1, part, prefix, found);
        prefix.pop();
    }
}

/// The number of schemas of a shape: for each length, multisets of sequences of that length.
fn count_shape(shape: &[usize], calls: usize) -> Option<u128> {
    let mut product: u128 = 1;
    let mut rest = shape;
    while let Some(&length) = rest.first() {
        let group = rest.iter().take_while(|&&other| other == length).count();
        let sequences = (calls as u128).checked_pow(u32::try_from(length).ok()?)?;
        // C(sequences + group - 1, group)
        let mut ways: u128 = 1;
        for member in 0..group as u128 {
            ways = ways.checked_mul(sequences.checked_add(member)?)? / (member + 1);
        }
        product = product.checked_mul(ways)?;
        rest = &rest[group..];
    }
    Some(product)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn the_number_is_known_beforehand(
            mutators in 0..3_usize,
            readers in 0..3_usize,
            threads in 1..4_usize,
            more_threads in 0..2_usize,
            invocations in 1..4_usize,
            more in 0..2_usize,
        ) {
            let bounds = Bounds {
                min_threads: threads,
                max_threads: threads + more_threads,
                min_invocations: invocations,
                max_invocations: invocations + more,
            };
            let calls: Vec<Candidate> = (0..mutators + readers).map(|call| Candidate {
                invocation: format!("f{call}()").parse().unwrap(),
                readonly: call >= mutators,
                trusted: false,
            }).collect();
            let systematic = Systematic::new(&calls, bounds);
            let count = systematic.count_all().unwrap();
            let schemas: Vec<Schema> = systematic.collect();
            prop_assert_eq!(schemas.len() as u128, count);
            let distinct: HashSet<Schema> = schemas.iter().cloned().map(Schema::canonical).collect();
            prop_assert_eq!(distinct.len(), schemas.len());
            prop_assert!(schemas.is_sorted_by_key(Schema::len));
            // Each random schema within the bounds is one of them.
            for schema in crate::enumerate::Random::new(&calls, bounds, crate::enumerate::Suspects::Any, 1).take(20) {
                if schema.len() <= bounds.max_invocations {
                    prop_assert!(distinct.contains(&schema.clone().canonical()), "{}", schema);
                }
            }
        }
    }

    #[test]
    fn numbers_that_are_too_large_are_not_named() {
        let call = Candidate { invocation: "f()".parse().unwrap(), readonly: false, trusted: true };
        let bounds = Bounds { min_threads: 4, max_threads: 4, min_invocations: 60, max_invocations: 60 };
        assert_eq!(Systematic::new(&vec![call; 50], bounds).count_all(), None);
    }
}
