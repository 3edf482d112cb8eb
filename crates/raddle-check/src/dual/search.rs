//! The search for an order of requests, follow-ups and cancellations, each configuration once.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::lts::{Lts, Move, Name, StateId};
use super::{Blocking, Step, Ticket};
use crate::contract::order::Precedence;
use crate::engine::limits::{Budget, Exhausted};
use crate::engine::mask::{Mask, Words};
use crate::history::{Operation, Outcome};
use crate::verdict::Phase;

/// How many failed attempts are kept to explain a rejection.
const ATTEMPTS: usize = 5;

/// How an operation ended, with its output by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Returned(Name),
    Cancelled,
    Suspended,
    Unknown,
}

/// Operations by number, and the order they are under.
pub(super) struct Problem {
    pub(super) inputs: Vec<Name>,
    pub(super) endings: Vec<Ending>,
    pub(super) order: Precedence,
}

impl Problem {
    pub(super) fn new<B: Blocking>(
        lts: &mut Lts<B>,
        operations: &[Operation<B::Input, B::Output>],
        order: Precedence,
    ) -> Problem {
        let inputs = operations.iter().map(|op| lts.input(&op.input)).collect();
        let ending = |op: &Operation<B::Input, B::Output>| match &op.outcome {
            Outcome::Returned { output, .. } => Ending::Returned(lts.output(output)),
            Outcome::Cancelled { .. } => Ending::Cancelled,
            Outcome::Suspended => Ending::Suspended,
            Outcome::Unknown => Ending::Unknown,
        };
        Problem { inputs, endings: operations.iter().map(ending).collect(), order }
    }
}

/// What a search found.
pub(super) enum Found {
    Accepted,
    /// No order explains what ended.
    Rejected(Vec<Attempt>),
    /// All that ended is explained at best by this order, but these operations stay suspended though they may go on.
    LostWakeUp(Vec<usize>, Attempt),
}

/// How far one order got.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) steps: Vec<(usize, Phase, StateId)>,
    pub(super) config: Config,
}

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Status {
    /// Its request is still to come.
    Fresh,
    Waiting(Ticket),
    Over,
}

/// What the rest of a search depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Config {
    pub(super) statuses: Box<[Status]>,
    pub(super) state: StateId,
}

impl Config {
    /// The lowest number that no operation waits under.
    pub(super) fn free_ticket(&self) -> Ticket {
        let is_free = |ticket: &Ticket| !self.statuses.contains(&Status::Waiting(*ticket));
        (0..).map(Ticket).find(is_free).expect("there are more numbers than operations")
    }
}

/// What to try first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// To go on from where the search is: the quickest way to an answer.
    Deep,
    /// What is nearest to the beginning: the shortest way to explain it.
    Wide,
}

pub(super) fn search<B: Blocking>(
    problem: &Problem,
    spec: &B,
    lts: &mut Lts<B>,
    budget: &mut Budget,
    haste: Haste,
) -> Result<Found, Exhausted> {
    let statuses = vec![Status::Fresh; problem.inputs.len()].into();
    let start = Config { statuses, state: lts.initial(spec) };
    let mut search = Search { problem, spec, lts, nodes: Vec::new(), longest: Vec::new(), closest: None };
    let mut memo: FxHashSet<Config> = FxHashSet::default();
    let mut ahead = VecDeque::from([(start, ROOT)]);
    while let Some((config, node)) = match haste {
        Haste::Deep => ahead.pop_back(),
        Haste::Wide => ahead.pop_front(),
    } {
        let each = size_of::<Config>() * 2 + problem.inputs.len() * size_of::<Status>();
        budget.spend(|| memo.len() * each + search.nodes.len() * size_of::<Node>() + search.lts.bytes())?;
        if !memo.insert(config.clone()) {
            continue;
        }
        if search.is_explained(&config) && search.has_arrived(&config, node) {
            return Ok(Found::Accepted);
        }
        search.note(&config, node);
        search.expand(&config, node, &mut ahead);
    }
    Ok(match search.closest.take() {
        Some((lost, config, node)) => {
            let attempt = search.attempt(config, node);
            Found::LostWakeUp(lost, attempt)
        }
        None => {
            let longest = std::mem::take(&mut search.longest);
            Found::Rejected(
                longest.into_iter().map(|(_, config, node)| search.attempt(config, node)).collect(),
            )
        }
    })
}

struct Search<'a, B: Blocking> {
    problem: &'a Problem,
    spec: &'a B,
    lts: &'a mut Lts<B>,
    /// The orders, as a tree.
    nodes: Vec<Node>,
    /// The configurations with the most operations over, most first.
    longest: Vec<(usize, Config, u32)>,
    /// The order that explains what ended and leaves the fewest wake-ups lost, with whose these are.
    closest: Option<(Vec<usize>, Config, u32)>,
}

struct Node {
    parent: u32,
    op: usize,
    phase: Phase,
    state: StateId,
}

const ROOT: u32 = u32::MAX;

impl<B: Blocking> Search<'_, B> {
    /// Whether everything that ended is over.
    fn is_explained(&self, config: &Config) -> bool {
        config.statuses.iter().zip(&self.problem.endings).all(|(status, ending)| match ending {
            Ending::Returned(_) | Ending::Cancelled => *status == Status::Over,
            Ending::Suspended | Ending::Unknown => true,
        })
    }

    /// Whether what is suspended has to be. If not, and nothing else is to come, whose wake-ups are lost is noted.
    fn has_arrived(&mut self, config: &Config, node: u32) -> bool {
        let mut lost = Vec::new();
        for op in 0..config.statuses.len() {
            if self.problem.endings[op] != Ending::Suspended {
                continue;
            }
            let may_go = match config.statuses[op] {
                Status::Waiting(ticket) => self.take(config, Move::FollowUp(ticket)).is_some(),
                Status::Fresh => match self.request(config, op) {
                    // It has to wait, and that may change things for others.
                    Step::Suspend => return false,
                    Step::Return(_) => true,
                },
                Status::Over => unreachable!("a suspended operation is never over"),
            };
            if may_go {
                lost.push(op);
            }
        }
        let is_closer = self.closest.as_ref().is_none_or(|(best, ..)| lost.len() < best.len());
        let has_arrived = lost.is_empty();
        if is_closer {
            self.closest = Some((lost, config.clone(), node));
        }
        has_arrived
    }

    /// Tries everything that can be next.
    fn expand(&mut self, config: &Config, node: u32, ahead: &mut VecDeque<(Config, u32)>) {
        let over: Words =
            config.statuses.iter().enumerate().fold(Words::default(), |mut over, (op, status)| {
                if *status == Status::Over {
                    over.insert(op);
                }
                over
            });
        for op in 0..config.statuses.len() {
            let ending = self.problem.endings[op];
            match config.statuses[op] {
                Status::Over => {}
                Status::Fresh if !self.problem.order.before(op).is_subset(&over) => {}
                Status::Fresh => {
                    let request = Move::Request(self.problem.inputs[op], config.free_ticket());
                    self.follow(config, node, op, request, ahead);
                    if ending == Ending::Cancelled && self.request(config, op) != Step::Suspend {
                        // Suspended and cancelled at once: as if it had not been called.
                        let mut next = config.clone();
                        next.statuses[op] = Status::Over;
                        let node = self.record(node, op, Phase::Cancelled, next.state);
                        ahead.push_back((next, node));
                    }
                }
                Status::Waiting(ticket) => {
                    self.follow(config, node, op, Move::FollowUp(ticket), ahead);
                    if matches!(ending, Ending::Cancelled | Ending::Unknown) {
                        self.follow(config, node, op, Move::Cancel(ticket), ahead);
                    }
                }
            }
        }
    }

    /// Has `op` take a move, if that fits how it ended.
    fn follow(
        &mut self,
        config: &Config,
        node: u32,
        op: usize,
        taken: Move,
        ahead: &mut VecDeque<(Config, u32)>,
    ) {
        let ending = self.problem.endings[op];
        let Some(arrival) = self.lts.take(self.spec, config.state, taken) else { return };
        let (status, phase) = match (taken, arrival.step) {
            (Move::Cancel(_), _) => (Status::Over, Phase::Cancelled),
            (Move::Request(_, ticket) | Move::FollowUp(ticket), Step::Suspend) => {
                (Status::Waiting(ticket), Phase::Suspended)
            }
            (_, Step::Return(output)) => {
                let fits = match ending {
                    Ending::Returned(seen) => output == Some(seen),
                    Ending::Unknown => true,
                    Ending::Cancelled | Ending::Suspended => false,
                };
                if !fits {
                    return;
                }
                let waited = matches!(taken, Move::FollowUp(_));
                (Status::Over, if waited { Phase::Resumed } else { Phase::Whole })
            }
        };
        let mut next = Config { statuses: config.statuses.clone(), state: arrival.state };
        next.statuses[op] = status;
        arrival.rename(next.statuses.iter_mut().filter_map(|status| match status {
            Status::Waiting(ticket) => Some(ticket),
            Status::Fresh | Status::Over => None,
        }));
        let node = self.record(node, op, phase, next.state);
        ahead.push_back((next, node));
    }

    fn take(&mut self, config: &Config, taken: Move) -> Option<Step<Option<Name>>> {
        self.lts.take(self.spec, config.state, taken).map(|arrival| arrival.step)
    }

    /// What the request of `op` would come to.
    fn request(&mut self, config: &Config, op: usize) -> Step<Option<Name>> {
        let request = Move::Request(self.problem.inputs[op], config.free_ticket());
        self.take(config, request).expect("a request is always possible")
    }

    fn record(&mut self, parent: u32, op: usize, phase: Phase, state: StateId) -> u32 {
        self.nodes.push(Node { parent, op, phase, state });
        self.nodes.len() as u32 - 1
    }

    fn note(&mut self, config: &Config, node: u32) {
        let over = config.statuses.iter().filter(|status| **status == Status::Over).count();
        let at = self.longest.partition_point(|(other, ..)| *other >= over);
        if at < ATTEMPTS {
            self.longest.insert(at, (over, config.clone(), node));
            self.longest.truncate(ATTEMPTS);
        }
    }

    fn attempt(&self, config: Config, mut node: u32) -> Attempt {
        let mut steps = Vec::new();
        while node != ROOT {
            let Node { parent, op, phase, state } = self.nodes[node as usize];
            steps.push((op, phase, state));
            node = parent;
        }
        steps.reverse();
        Attempt { steps, config }
    }
}
