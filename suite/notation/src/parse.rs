//! The parser of the notation.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

use crate::{Comparison, Location, ORDERS, Program, Register, Retry, Statement, Value};

type Result<T> = std::result::Result<T, String>;

/// A whole program.
pub(crate) fn program(text: &str) -> Result<Program> {
    let (initial, threads) = match text.split_once(':') {
        Some((initial, threads)) => (initial_values(initial)?, threads),
        None => (BTreeMap::new(), text),
    };
    let threads = threads.split("||").map(|thread| {
        let mut parser = Parser { rest: thread.trim(), unused: unused_registers(thread) };
        let statements = parser.statements()?;
        if parser.rest.is_empty() { Ok(statements) } else { Err(parser.expected("`;`")) }
    });
    Ok(Program { initial, threads: threads.collect::<Result<_>>()? })
}

fn initial_values(text: &str) -> Result<BTreeMap<Location, u32>> {
    let values = text.split_whitespace().map(|assignment| {
        let (location, value) = assignment.split_once('=')?;
        Some((location.parse().ok()?, value.parse().ok()?))
    });
    values.collect::<Option<_>>().ok_or_else(|| format!("`{text}` is not like `x=1 y=2`"))
}

/// Registers are the letters that are not locations by custom; those that the text assigns to are taken.
fn unused_registers(text: &str) -> Vec<Register> {
    let taken = |register: &Register| text.contains(&format!("{register}="));
    ('a'..'s').rev().filter(|register| !taken(register)).collect()
}

struct Parser<'a> {
    rest: &'a str,
    /// The next to use is the last.
    unused: Vec<Register>,
}

impl Parser<'_> {
    fn statements(&mut self) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            if self.rest.is_empty() || self.rest.starts_with('}') {
                return Ok(statements);
            }
            statements.push(self.statement()?);
            if !self.take(";") {
                return Ok(statements);
            }
        }
    }

    fn statement(&mut self) -> Result<Statement> {
        if self.take("if ") {
            return self.choice();
        }
        if self.take("assume ") {
            let (register, comparison, constant) = self.condition()?;
            return Ok(Statement::Assume(register, comparison, constant));
        }
        if self.take("retry ") {
            let times = if self.rest.starts_with('{') { None } else { Some(self.number()?) };
            let body = self.block()?;
            self.expect("until ")?;
            let until = (self.letter()?, self.comparison()?, self.value()?);
            return Ok(Statement::Retry(Retry { times, body, until }));
        }
        if self.take("lock ") {
            return Ok(Statement::Lock(self.letter()?));
        }
        if self.take("unlock ") {
            return Ok(Statement::Unlock(self.letter()?));
        }
        if self.take("drop ") {
            let location = self.letter()?;
            let body = if self.rest.starts_with('{') { self.block()? } else { Vec::new() };
            return Ok(Statement::Drop(location, body));
        }
        if self.take("op ") {
            return Ok(Statement::Operation(self.block()?));
        }
        self.access()
    }

    fn choice(&mut self) -> Result<Statement> {
        let (register, comparison, constant) = self.condition()?;
        let then = self.block()?;
        let otherwise = if self.take("else") { self.block()? } else { Vec::new() };
        Ok(Statement::If(register, comparison, constant, then, otherwise))
    }

    fn condition(&mut self) -> Result<(Register, Comparison, u32)> {
        let register = self.letter()?;
        Ok((register, self.comparison()?, self.number()?))
    }

    fn comparison(&mut self) -> Result<Comparison> {
        Ok(match () {
            () if self.take("==") => Comparison::Equal,
            () if self.take("!=") => Comparison::Unequal,
            () if self.take(">") => Comparison::Greater,
            () => return Err(self.expected("`==`, `!=` or `>`")),
        })
    }

    fn block(&mut self) -> Result<Vec<Statement>> {
        self.expect("{")?;
        let statements = self.statements()?;
        self.expect("}")?;
        Ok(statements)
    }

    fn access(&mut self) -> Result<Statement> {
        let assigned = match self.rest.as_bytes() {
            [_, b'=', ..] => {
                let register = self.letter()?;
                self.expect("=")?;
                Some(register)
            }
            _ => None,
        };
        if self.take("R") {
            let order = self.order()?;
            return Ok(Statement::Load(self.register(assigned), self.letter()?, order));
        }
        if self.take("FAA") {
            let order = self.order()?;
            let (at, [value]) = self.arguments()?;
            return Ok(Statement::FetchAdd(self.register(assigned), at, value, order));
        }
        if self.take("SWP") {
            let order = self.order()?;
            let (at, [value]) = self.arguments()?;
            return Ok(Statement::Swap(self.register(assigned), at, value, order));
        }
        if self.take("CAS") {
            let success = self.order()?;
            let failure = if self.rest.starts_with('(') { of_failure(success) } else { self.order()? };
            let (at, [current, new]) = self.arguments()?;
            return Ok(Statement::CompareExchange(
                self.register(assigned),
                at,
                current,
                new,
                success,
                failure,
            ));
        }
        if assigned.is_some() {
            return Err(self.expected("an access that reads"));
        }
        if self.take("W") {
            let order = self.order()?;
            let (to, [value]) = self.arguments()?;
            return Ok(Statement::Store(to, value, order));
        }
        if self.take("F") {
            return Ok(Statement::Fence(self.order()?));
        }
        Err(self.expected("a statement"))
    }

    /// `(location, value, …)`
    fn arguments<const VALUES: usize>(&mut self) -> Result<(Location, [Value; VALUES])> {
        self.expect("(")?;
        let location = self.letter()?;
        let mut values = [const { Value { registers: Vec::new(), constant: 0 } }; VALUES];
        for value in &mut values {
            self.expect(",")?;
            *value = self.value()?;
        }
        self.expect(")")?;
        Ok((location, values))
    }

    fn value(&mut self) -> Result<Value> {
        let mut value = Value::default();
        loop {
            if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
                value.constant += self.number()?;
            } else {
                value.registers.push(self.letter()?);
            }
            if !self.take("+") {
                return Ok(value);
            }
        }
    }

    fn register(&mut self, assigned: Option<Register>) -> Register {
        assigned.unwrap_or_else(|| self.unused.pop().expect("programs are shorter than the alphabet"))
    }

    fn order(&mut self) -> Result<Ordering> {
        let known = ORDERS.iter().find(|known| self.rest.starts_with(known.1));
        let order = known.ok_or_else(|| self.expected("an order (x, a, r, q or s)"))?.0;
        self.advance(1);
        Ok(order)
    }

    fn letter(&mut self) -> Result<char> {
        let letter = self.rest.chars().next().filter(char::is_ascii_lowercase);
        let letter = letter.ok_or_else(|| self.expected("a letter"))?;
        self.advance(1);
        Ok(letter)
    }

    fn number(&mut self) -> Result<u32> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest[..digits].parse().map_err(|_| self.expected("a number"))?;
        self.advance(digits);
        Ok(number)
    }

    fn take(&mut self, token: &str) -> bool {
        let there = self.rest.starts_with(token);
        if there {
            self.advance(token.len());
        }
        there
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }

    fn expected(&self, what: &str) -> String {
        format!("expected {what} at `{}`", self.rest)
    }
}

/// The strongest order of failure that std allows, not stronger than that of success.
fn of_failure(success: Ordering) -> Ordering {
    match success {
        Release => Relaxed,
        AcqRel => Acquire,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back() {
        for text in [
            "Wr(x,1); a=Ra y || Fs",
            "x=1 y=2: a=FAAq(x,1); b=SWPs(y,a+2); c=CASqx(z,0,b) || Wx(x,0)",
            "a=Rx x; assume a!=1; if a==1 { Wx(y,a) } else { b=Ra y; if b>2 { Fa } } || retry { a=Ra x } until a==3",
            "retry { a=Rx x; b=CASqa(x,a,a+1) } until b==a || retry 3 { a=Ra x } until a!=0",
            "lock m; Wx(x,1); unlock m || drop h; drop g { a=Rx x } || op { a=FAAs(x,1) }; op {}",
        ] {
            assert_eq!(program(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn registers_and_orders_of_failure_may_be_left_out() {
        let program = program("b=Ra x; Rx y; CASq(x,0,1); CASr(x,0,1)").unwrap();
        assert_eq!(program.to_string(), "b=Ra x; a=Rx y; c=CASqa(x,0,1); d=CASrx(x,0,1)");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, problem) in [
            ("Wz(x,1)", "expected an order (x, a, r, q or s) at `z(x,1)`"),
            ("Wr(x)", "expected `,` at `)`"),
            ("a=Fs", "expected an access that reads at `Fs`"),
            ("Ra x }", "expected `;` at `}`"),
            ("x: Ra x", "`x` is not like `x=1 y=2`"),
        ] {
            assert_eq!(program(text).unwrap_err(), problem);
        }
    }
}
