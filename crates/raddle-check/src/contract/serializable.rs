//! Serializability (Papadimitriou 1979): any order that the model allows. Operations are whole transactions.

use super::{Finding, Problem, quiescent};
use crate::model::Model;

pub(crate) fn check<M: Model>(problem: &mut Problem<'_, M>) -> Finding {
    quiescent::check_periods(problem, |_| 0, |_| true)
}
