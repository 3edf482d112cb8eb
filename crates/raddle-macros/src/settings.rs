//! Lists of settings such as `threads = 3, obstruction_free`, as attributes have them.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use raddle_options::Values;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    Attribute, Error, Expr, ExprLit, ExprRange, Ident, Lit, LitStr, Meta, RangeLimits, Result, Token, Type,
};

/// What a setting takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// `once`
    Nothing,
    /// `weight = 2`, or any expression. The text is an example.
    Value(&'static str),
    /// `group = "producer"`
    Text(&'static str),
    /// `budget = "10s"`, or an expression.
    Duration,
    /// `contract = Quiescent`: a variant of this enum of Raddle's, which need not be named, or an expression.
    Variant(&'static str, &'static str),
    /// `spec = VecDeque<i32>`
    Type(&'static str),
}

/// A setting that can be made.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    /// Whether it may be made more than once.
    pub(crate) repeats: bool,
}

impl Known {
    pub(crate) const fn new(name: &'static str, takes: Takes) -> Known {
        Known { name, takes, repeats: false }
    }

    pub(crate) const fn repeated(name: &'static str, takes: Takes) -> Known {
        Known { name, takes, repeats: true }
    }
}

/// A setting that was made.
pub(crate) struct Setting {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Nothing,
    Expression(Box<Expr>),
    Type(Box<Type>),
}

impl Setting {
    /// The value as tokens of an expression.
    pub(crate) fn expression(&self) -> TokenStream {
        match &self.value {
            Value::Nothing => TokenStream::new(),
            Value::Expression(value) => value.to_token_stream(),
            Value::Type(ty) => ty.to_token_stream(),
        }
    }

    /// The value, if it is a literal string.
    pub(crate) fn text(&self) -> Option<&LitStr> {
        match &self.value {
            Value::Expression(value) => literal_text(value),
            _ => None,
        }
    }

    /// The value, if it is a literal number.
    pub(crate) fn number(&self) -> Option<usize> {
        match &self.value {
            Value::Expression(value) => match &**value {
                Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The setting of this name.
pub(crate) fn find<'a>(settings: &'a [Setting], name: &str) -> Option<&'a Setting> {
    settings.iter().find(|setting| setting.name == name)
}

/// The settings in the parentheses of an attribute, if it has any.
pub(crate) fn of_attribute(attribute: &Attribute, known: &[Known]) -> Result<Vec<Setting>> {
    match &attribute.meta {
        Meta::Path(_) => Ok(Vec::new()),
        Meta::List(list) => of_tokens(list.tokens.clone(), known),
        Meta::NameValue(meta) => {
            let name = meta.path.require_ident()?;
            Err(Error::new_spanned(meta, format!("write the settings in parentheses: `#[{name}(..)]`")))
        }
    }
}

/// The settings in these tokens.
pub(crate) fn of_tokens(tokens: TokenStream, known: &[Known]) -> Result<Vec<Setting>> {
    let parse = |input: ParseStream<'_>| {
        let mut settings: Vec<Setting> = Vec::new();
        while !input.is_empty() {
            let (setting, repeats) = setting(input, known)?;
            if !repeats && find(&settings, &setting.name.to_string()).is_some() {
                return Err(Error::new(setting.name.span(), format!("`{}` is set twice", setting.name)));
            }
            settings.push(setting);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(settings)
    };
    parse.parse2(tokens)
}

/// One setting, and whether there may be more of the same name.
fn setting(input: ParseStream<'_>, known: &[Known]) -> Result<(Setting, bool)> {
    let name = input.call(Ident::parse_any)?;
    let Some(known) = known.iter().find(|known| name == known.name) else {
        let names: Vec<_> = known.iter().map(|known| format!("`{}`", known.name)).collect();
        let others = match names.is_empty() {
            true => "this attribute has none".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        return Err(Error::new(name.span(), format!("there is no setting `{name}` here; {others}")));
    };
    let has_value = input.peek(Token![=]);
    if has_value {
        input.parse::<Token![=]>()?;
    }
    let value = match (known.takes, has_value) {
        (Takes::Nothing, false) => Value::Nothing,
        (Takes::Nothing, true) => {
            return Err(Error::new(name.span(), format!("`{name}` takes no value: write only `{name}`")));
        }
        (takes, false) => {
            let example = example(takes);
            return Err(Error::new(name.span(), format!("`{name}` needs a value: `{name} = {example}`")));
        }
        (Takes::Type(_), true) => Value::Type(Box::new(input.parse()?)),
        (takes, true) => Value::Expression(Box::new(value(takes, &name, input.parse()?)?)),
    };
    Ok((Setting { name, value }, known.repeats))
}

fn example(takes: Takes) -> &'static str {
    match takes {
        Takes::Nothing => "",
        Takes::Duration => "\"10s\"",
        Takes::Value(example) | Takes::Text(example) | Takes::Variant(_, example) | Takes::Type(example) => {
            example
        }
    }
}

fn value(takes: Takes, name: &Ident, value: Expr) -> Result<Expr> {
    match takes {
        Takes::Text(example) if literal_text(&value).is_none() => {
            Err(Error::new_spanned(&value, format!("`{name}` needs a text: `{name} = {example}`")))
        }
        Takes::Duration => match literal_text(&value) {
            Some(text) => duration(text),
            None => Ok(value),
        },
        Takes::Variant(enumeration, _) => variant(enumeration, value),
        _ => Ok(value),
    }
}

/// The duration as an expression, in the spelling of `RADDLE_BUDGET`.
fn duration(text: &LitStr) -> Result<Expr> {
    let mut values = Values::default();
    let budget = raddle_options::find("RADDLE_BUDGET").expect("the table of options has a budget");
    let parsed = budget.set(&mut values, budget.variable, &text.value()).ok().and(values.budget);
    let Some(duration) = parsed else {
        return Err(Error::new(text.span(), "use a time such as `500ms`, `10s` or `2m`"));
    };
    let (seconds, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    syn::parse2(quote!(::raddle::__core::time::Duration::new(#seconds, #nanoseconds)))
}

/// `Quiescent` and `Quasi(2)` are short for `raddle::Contract::Quiescent` and `raddle::Contract::Quasi(2)`.
fn variant(enumeration: &str, value: Expr) -> Result<Expr> {
    let name = match &value {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        },
        _ => None,
    };
    let is_variant = name.is_some_and(|name| name.to_string().starts_with(char::is_uppercase));
    if !is_variant {
        return Ok(value);
    }
    let enumeration = Ident::new(enumeration, Span::call_site());
    syn::parse2(quote!(::raddle::#enumeration::#value))
}

fn literal_text(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// The generator in the parentheses of `#[arg(0..=3)]`.
pub(crate) fn generator(attribute: &Attribute) -> Result<Expr> {
    let Meta::List(list) = &attribute.meta else {
        return Err(Error::new_spanned(attribute, "write a generator in parentheses: `#[arg(0..=3)]`"));
    };
    if list.tokens.is_empty() {
        return Err(Error::new_spanned(attribute, "write a generator: `#[arg(0..=3)]`"));
    }
    let generator = Expr::parse.parse2(list.tokens.clone())?;
    match &generator {
        Expr::Range(ExprRange { start: Some(_), limits: RangeLimits::Closed(_), end: Some(_), .. }) => {
            Ok(generator)
        }
        Expr::Range(_) => Err(Error::new_spanned(&generator, "write both ends of the range: `0..=3`")),
        _ => Ok(generator),
    }
}
