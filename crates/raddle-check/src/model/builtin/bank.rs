//! Accounts between which money moves.

use std::collections::BTreeMap;

use super::{Named, misfit, sentence, unknown};
use crate::model::Model;
use crate::value::Value;

/// A bank. Transfers that would overdraw an account fail.
#[derive(Clone, Debug)]
pub struct Bank {
    /// The accounts and what is in them at first.
    pub accounts: BTreeMap<Value, i64>,
}

impl Bank {
    /// Accounts `0..count`, each with `balance`.
    pub fn new(count: i64, balance: i64) -> Bank {
        Bank { accounts: (0..count).map(|account| (Value::Int(account), balance)).collect() }
    }

    /// What is in the accounts after a transfer; none if it is not possible.
    fn transferred(
        &self,
        state: &BTreeMap<Value, i64>,
        from: &Value,
        to: &Value,
        amount: i64,
    ) -> Option<BTreeMap<Value, i64>> {
        let mut next = state.clone();
        let source = next.get_mut(from).filter(|held| **held >= amount)?;
        *source = source.checked_sub(amount)?;
        let target = next.get_mut(to)?;
        *target = target.checked_add(amount)?;
        Some(next)
    }
}

/// An operation of a [`Bank`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BankOp {
    /// Moves money. Returns `false` if there was not enough; anything else is success.
    Transfer {
        /// Out of this account.
        from: Value,
        /// Into this one.
        to: Value,
        /// This much.
        amount: i64,
    },
    /// Returns pairs `[account balance]` of every account.
    Read,
    /// Returns one balance; nil if there is no such account.
    Balance(Value),
}

use BankOp::{Balance, Read, Transfer};

impl Model for Bank {
    type State = BTreeMap<Value, i64>;
    type Input = BankOp;
    type Output = Value;

    fn init(&self) -> BTreeMap<Value, i64> {
        self.accounts.clone()
    }

    fn step(
        &self,
        state: &BTreeMap<Value, i64>,
        op: &BankOp,
        output: Option<&Value>,
    ) -> impl IntoIterator<Item = BTreeMap<Value, i64>> {
        match op {
            Transfer { from, to, amount } => {
                let after = self.transferred(state, from, to, *amount);
                let fits = output.is_none_or(|seen| after.is_some() == (*seen != Value::Bool(false)));
                fits.then(|| after.unwrap_or_else(|| state.clone()))
            }
            Read => {
                let fits = output.is_none_or(|seen| balances(seen).is_some_and(|seen| seen == *state));
                fits.then(|| state.clone())
            }
            Balance(account) => {
                let balance = Value::from(state.get(account).copied());
                output.is_none_or(|seen| *seen == balance).then(|| state.clone())
            }
        }
    }

    fn is_read_only(&self, op: &BankOp, output: Option<&Value>) -> bool {
        !matches!(op, Transfer { .. }) || output == Some(&Value::Bool(false))
    }

    fn describe(&self, op: &BankOp, output: Option<&Value>) -> String {
        match op {
            Transfer { from, to, amount } => {
                let failed = output.filter(|seen| **seen == Value::Bool(false));
                let arguments = format!("{amount}: {from} to {to}");
                sentence("transfer", arguments, failed.or(output.map(|_| &Value::Nil)))
            }
            Read => sentence("read", "", output),
            Balance(account) => sentence("balance", account, output),
        }
    }

    fn describe_state(&self, state: &BTreeMap<Value, i64>) -> String {
        let accounts: Vec<String> =
            state.iter().map(|(account, held)| format!("{account}: {held}")).collect();
        format!("{{{}}}", accounts.join(", "))
    }

    fn state_bytes(&self, state: &BTreeMap<Value, i64>) -> usize {
        size_of_val(state) + state.len() * 40
    }
}

/// Pairs `[account balance]` as a map; a mapping in a file arrives as such pairs.
pub(super) fn balances(seen: &Value) -> Option<BTreeMap<Value, i64>> {
    let pair =
        |value: &Value| value.as_pair().and_then(|(account, held)| Some((account.clone(), held.as_int()?)));
    seen.as_list()?.iter().map(pair).collect()
}

impl Named for Bank {
    fn operation(&self, name: &str, argument: &Value) -> Result<BankOp, String> {
        match name {
            "transfer" => match transfer(argument) {
                Some(op) => Ok(op),
                None => misfit(name, "[from to amount] or a mapping with from, to and amount", argument),
            },
            "read" => Ok(Read),
            "balance" => Ok(Balance(argument.clone())),
            _ => unknown(name, &["transfer", "read", "balance"]),
        }
    }
}

fn transfer(argument: &Value) -> Option<BankOp> {
    if let Some([from, to, amount @ Value::Int(_)]) = argument.as_list() {
        return Some(Transfer { from: from.clone(), to: to.clone(), amount: amount.as_int()? });
    }
    let pairs = argument.as_list()?;
    let field = |name: &str| {
        pairs
            .iter()
            .filter_map(Value::as_pair)
            .find_map(|(key, value)| (key.as_text()?.trim_start_matches(':') == name).then(|| value.clone()))
    };
    Some(Transfer { from: field("from")?, to: field("to")?, amount: field("amount")?.as_int()? })
}
