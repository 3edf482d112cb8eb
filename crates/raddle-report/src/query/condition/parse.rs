//! The text of a condition as a tree.

use crate::query::Index;

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Operand, Comparison, Operand),
    /// Whether a value is of this variant.
    Is(Operand, String),
    /// Whether a value is true.
    Holds(Operand),
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Number(i128),
    Text(String),
    Bool(bool),
    Null,
    Path(Path),
}

/// A part of an object, or a location.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// The path as written, for messages.
    pub(super) text: String,
    pub(super) start: Start,
    pub(super) parts: Vec<Part>,
}

/// The beginning of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// An object, by index.
    Object(u32),
    /// A memory location, by address.
    Location(u64),
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Field(String),
    /// An element of a list, or the value of a key.
    Index(String),
}

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The signs of comparisons; longer ones first.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// Conditions nest no deeper than this.
const MAX_DEPTH: usize = 50;

/// The names that a path can begin with.
pub(super) struct Names(Vec<(String, Start)>);

impl Names {
    /// The names of a failure: roots and objects, then locations; of those that fit, the first is taken, so longer ones come first.
    pub(super) fn of(index: &Index<'_>) -> Names {
        let mut names = Vec::new();
        if let Some(objects) = &index.failure.objects {
            names.extend(objects.roots.iter().map(|root| (root.name.clone(), Start::Object(root.object))));
            let list = objects.list.iter().enumerate();
            names.extend(list.map(|(number, object)| (object.name.clone(), Start::Object(number as u32))));
        }
        let mut locations: Vec<(String, Start)> = index
            .locations
            .names()
            .iter()
            .map(|(&address, name)| (name.clone(), Start::Location(address)))
            .collect();
        let numbered = index.locations.numbered();
        locations.extend(
            numbered.into_iter().map(|(number, address)| (format!("#{number}"), Start::Location(address))),
        );
        let by_length = |(name, _): &(String, Start)| std::cmp::Reverse(name.len());
        names.sort_by_key(by_length);
        locations.sort_by_key(by_length);
        names.extend(locations);
        Names(names.into_iter().filter(|(name, _)| !name.is_empty()).collect())
    }

    fn some(&self) -> String {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.truncate(8);
        match names.is_empty() {
            true => "the failure has no named objects or locations".to_owned(),
            false => format!("some that there are: {}", names.join(", ")),
        }
    }
}

/// Parses a condition. The error is one sentence.
pub(super) fn parse(text: &str, names: &Names) -> Result<Expr, String> {
    let mut parser = Parser { text, at: 0, names, depth: 0 };
    let condition = parser.or()?;
    parser.skip_space();
    match parser.rest().is_empty() {
        true => Ok(condition),
        false => Err(parser.expected("the end of the condition")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    names: &'a Names,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn or(&mut self) -> Result<Expr, String> {
        let mut parts = vec![self.and()?];
        while self.take("||") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::Or(parts) })
    }

    fn and(&mut self) -> Result<Expr, String> {
        let mut parts = vec![self.term()?];
        while self.take("&&") {
            parts.push(self.term()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::And(parts) })
    }

    fn term(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the condition nests deeper than {MAX_DEPTH} levels: write a simpler one"));
        }
        let term = if !self.rest().trim_start().starts_with("!=") && self.take("!") {
            Expr::Not(Box::new(self.term()?))
        } else if self.take("(") {
            let inner = self.or()?;
            if !self.take(")") {
                return Err(self.expected("`)`"));
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(term)
    }

    fn comparison(&mut self) -> Result<Expr, String> {
        let left = self.operand(false)?;
        for (sign, comparison) in COMPARISONS {
            if self.take(sign) {
                return Ok(Expr::Compare(left, comparison, self.operand(true)?));
            }
        }
        let before = self.at;
        self.skip_space();
        if self.word() == Some("is") {
            self.skip_space();
            let variant = self.word().ok_or_else(|| self.expected("the name of a variant"))?;
            return Ok(Expr::Is(left, variant.to_owned()));
        }
        self.at = before;
        Ok(Expr::Holds(left))
    }

    /// A side of a comparison. On the right side, a word that is no name is the name of a variant.
    fn operand(&mut self, is_right: bool) -> Result<Operand, String> {
        self.skip_space();
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.string().map(Operand::Text);
        }
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return self.number().map(Operand::Number);
        }
        if let Some(path) = self.path()? {
            return Ok(Operand::Path(path));
        }
        let before = self.at;
        match self.word() {
            Some("null") => Ok(Operand::Null),
            Some("true") => Ok(Operand::Bool(true)),
            Some("false") => Ok(Operand::Bool(false)),
            Some(word) if is_right => Ok(Operand::Text(word.to_owned())),
            Some(word) => Err(format!("there is no object or location `{word}`; {}", self.names.some())),
            None => {
                self.at = before;
                Err(self.expected("an object, a location or a number"))
            }
        }
    }

    fn path(&mut self) -> Result<Option<Path>, String> {
        let begin = self.at;
        let quoted = self.rest().starts_with('`');
        let start = if quoted {
            let name = self.rest()[1..].split('`').next().unwrap_or_default();
            let found = self.names.0.iter().find(|(known, _)| known == name);
            let (_, start) = found
                .ok_or_else(|| format!("there is no object or location `{name}`; {}", self.names.some()))?;
            self.at += name.len() + 2;
            if self.at > self.text.len() {
                return Err("the condition lacks a closing backquote".to_owned());
            }
            *start
        } else {
            let rest = self.rest();
            let ends = |name: &str| !rest[name.len()..].starts_with(is_word);
            let found = self.names.0.iter().find(|(name, _)| rest.starts_with(name.as_str()) && ends(name));
            let Some((name, start)) = found else { return Ok(None) };
            self.at += name.len();
            *start
        };
        let mut parts = Vec::new();
        loop {
            if self.rest().starts_with('.') {
                self.at += 1;
                let field = self.word().ok_or_else(|| self.expected("the name of a field"))?;
                parts.push(Part::Field(field.to_owned()));
            } else if self.rest().starts_with('[') {
                let index = self.rest()[1..].split(']').next().unwrap_or_default();
                self.at += index.len() + 2;
                if self.at > self.text.len() {
                    return Err("the condition lacks a `]`".to_owned());
                }
                parts.push(Part::Index(index.trim().to_owned()));
            } else {
                let text = self.text[begin..self.at].to_owned();
                return Ok(Some(Path { text, start, parts }));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let inner = &self.rest()[1..];
        let end = inner.find('"').ok_or("the condition lacks a closing quotation mark")?;
        self.at += end + 2;
        Ok(inner[..end].to_owned())
    }

    fn number(&mut self) -> Result<i128, String> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let text = rest[..end].replace('_', "");
        let number = match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        self.at += end;
        number.ok_or_else(|| format!("`{text}` is not a number"))
    }

    fn word(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end]).filter(|word| !word.is_empty())
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn expected(&self, what: &str) -> String {
        match self.rest().trim() {
            "" => format!("the condition ends where {what} should follow"),
            rest => format!("the condition should have {what} at `{rest}`"),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
