//! The methods of a type, as far as a specification can have them.

use std::collections::HashMap;

use quote::ToTokens;
use raddle_refine::spec::Type;
use syn::{
    FnArg, GenericParam, Generics, ImplItem, ImplItemFn, Item, ItemImpl, ReceiverKind, ReturnType, Safety,
    Visibility,
};

use super::crates::is_for_tests;
use super::resolve::Found;

/// What was found out about a type.
#[derive(Debug, Default)]
pub(crate) struct Extracted {
    /// Its generic arguments.
    pub(crate) generics: Vec<String>,
    /// The expression that makes one, if a constructor was found.
    pub(crate) constructor: Option<String>,
    /// Its methods.
    pub(crate) methods: Vec<MethodOf>,
    /// What could not be mapped, and why.
    pub(crate) notes: Vec<String>,
}

/// A method.
#[derive(Debug)]
pub(crate) struct MethodOf {
    pub(crate) name: String,
    pub(crate) parameters: Vec<String>,
    pub(crate) void: bool,
}

/// What stands for a type parameter.
const PARAMETER: &str = "i32";

/// Reads the methods of a type. `path` is how users write it.
pub(crate) fn extract(found: &Found, path: &str) -> Extracted {
    let mut extracted = Extracted::default();
    let generics = match &found.item {
        Item::Struct(item) => item.generics.clone(),
        Item::Enum(item) => item.generics.clone(),
        Item::Union(item) => item.generics.clone(),
        Item::Type(item) => {
            let aliased = item.ty.to_token_stream().to_string();
            extracted.notes.push(format!("`{path}` is another name for `{aliased}`: ask for that type"));
            item.generics.clone()
        }
        _ => Generics::default(),
    };
    let (arguments, note) = arguments(&generics);
    extracted.generics = arguments;
    extracted.notes.extend(note);
    let mut makes_default = derives_default(&found.item);
    for item in found.krate.modules.values().flatten() {
        let Item::Impl(block) = item else { continue };
        if !is_of(block, &found.name) || is_for_tests(&block.attrs) {
            continue;
        }
        match &block.trait_ {
            Some((path, _)) => makes_default |= path.is_ident("Default"),
            None => read_block(block, &found.name, path, &mut extracted),
        }
    }
    if extracted.constructor.is_none() && makes_default {
        extracted.constructor = Some(format!("<{}>::default()", object(path, &extracted.generics)));
    }
    extracted.methods.sort_by(|a, b| a.name.cmp(&b.name));
    extracted.methods.dedup_by(|a, b| a.name == b.name);
    extracted.notes.sort();
    extracted.notes.dedup();
    extracted
}

/// The type with its arguments.
pub(crate) fn object(path: &str, generics: &[String]) -> String {
    match generics.is_empty() {
        true => path.to_owned(),
        false => format!("{path}<{}>", generics.join(", ")),
    }
}

/// Arguments for the parameters that have no default.
fn arguments(generics: &Generics) -> (Vec<String>, Option<String>) {
    let (mut arguments, mut note) = (Vec::new(), None);
    for parameter in &generics.params {
        match parameter {
            GenericParam::Lifetime(_) => arguments.push("'static".to_owned()),
            GenericParam::Type(parameter) if parameter.default.is_none() => {
                arguments.push(PARAMETER.to_owned())
            }
            GenericParam::Const(parameter) if parameter.default.is_none() => {
                note = Some(format!("2 stands for the constant parameter `{}`", parameter.ident));
                arguments.push("2".to_owned());
            }
            _ => {}
        }
    }
    (arguments, note)
}

fn derives_default(item: &Item) -> bool {
    let attributes = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("derive") && list.tokens.to_string().contains("Default")
    })
}

fn is_of(block: &ItemImpl, name: &str) -> bool {
    let syn::Type::Path(path) = &*block.self_ty else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == name)
}

fn read_block(block: &ItemImpl, name: &str, path: &str, extracted: &mut Extracted) {
    for item in &block.items {
        let ImplItem::Fn(function) = item else { continue };
        if !matches!(function.vis, Visibility::Public(_)) || is_for_tests(&function.attrs) {
            continue;
        }
        let types = Substitution::of(&block.generics, &function.sig.generics);
        match function.sig.receiver() {
            None => read_constructor(function, name, path, &types, extracted),
            Some(_) => match method(function, &types) {
                Ok(method) => extracted.methods.push(method),
                Err(why) => extracted.notes.push(format!("`{}` is left out: {why}", function.sig.ident)),
            },
        }
    }
}

/// `new`, if all its arguments can be made up.
fn read_constructor(
    function: &ImplItemFn,
    name: &str,
    path: &str,
    types: &Substitution,
    extracted: &mut Extracted,
) {
    let ReturnType::Type(_, returned) = &function.sig.output else { return };
    let returned = returned.to_token_stream().to_string();
    let makes_one = returned == "Self" || returned.split(' ').next() == Some(name);
    if function.sig.ident != "new" || !makes_one {
        return;
    }
    let mut arguments = Vec::new();
    for argument in &function.sig.inputs {
        let FnArg::Typed(argument) = argument else { continue };
        let value = types.map(&argument.ty).ok().and_then(|ty| {
            // Capacities of 0 are refused by many constructors.
            let ty = Type::parse(&ty)?;
            ty.expression(ty.values(9).last()?)
        });
        match value {
            Some(value) => arguments.push(value),
            None => {
                let ty = argument.ty.to_token_stream().to_string();
                extracted.notes.push(format!("`new` takes a `{ty}`: write the constructor by hand"));
                return;
            }
        }
    }
    let object = object(path, &extracted.generics);
    extracted.constructor = Some(format!("<{object}>::new({})", arguments.join(", ")));
}

fn method(function: &ImplItemFn, types: &Substitution) -> Result<MethodOf, String> {
    let signature = &function.sig;
    let Some(receiver) = signature.receiver() else { return Err("it takes no object".to_owned()) };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {}
        ReceiverKind::Reference(..) => {
            return Err("it takes `&mut self`, so that it cannot run at once with others".to_owned());
        }
        _ => return Err("it does not take `&self`".to_owned()),
    }
    if signature.asyncness.is_some() {
        return Err("it is async".to_owned());
    }
    if matches!(signature.safety, Safety::Unsafe(_)) {
        return Err("it is unsafe".to_owned());
    }
    let mut parameters = Vec::new();
    for argument in &signature.inputs {
        let FnArg::Typed(argument) = argument else { continue };
        parameters.push(types.map(&argument.ty)?);
    }
    let void = match &signature.output {
        ReturnType::Default => true,
        ReturnType::Type(_, ty) => matches!(&**ty, syn::Type::Tuple(tuple) if tuple.elems.is_empty()),
    };
    Ok(MethodOf { name: signature.ident.to_string(), parameters, void })
}

/// What stands for type parameters.
struct Substitution {
    functional: Vec<String>,
    known: HashMap<String, &'static str>,
}

impl Substitution {
    fn of(block: &Generics, function: &Generics) -> Substitution {
        let mut substitution = Substitution { functional: Vec::new(), known: HashMap::new() };
        for generics in [block, function] {
            let bounds = generics.where_clause.to_token_stream().to_string();
            for parameter in generics.type_params() {
                let name = parameter.ident.to_string();
                let own = parameter.bounds.to_token_stream().to_string();
                let is_functional = own.contains("Fn")
                    || bounds.contains(&format!("{name} : Fn"))
                    || bounds.contains(&format!("{name} : FnOnce"))
                    || bounds.contains(&format!("{name} : FnMut"));
                match is_functional {
                    true => substitution.functional.push(name),
                    false => drop(substitution.known.insert(name, PARAMETER)),
                }
            }
        }
        substitution
    }

    /// A type with arguments for its parameters, if values of it can be made up.
    fn map(&self, ty: &syn::Type) -> Result<String, String> {
        let written = ty.to_token_stream().to_string();
        if let Some(name) = self.functional.iter().find(|name| written.split(' ').any(|word| word == **name))
        {
            return Err(format!("its parameter of type `{name}` is a function"));
        }
        if written.contains("Fn (") || written.starts_with("impl ") || written.contains("dyn ") {
            return Err(format!("its parameter is `{written}`"));
        }
        let words = written.split(' ').map(|word| self.known.get(word).copied().unwrap_or(word));
        let text = words.collect::<Vec<_>>().join(" ");
        match Type::parse(&tidy(&text)) {
            Some(ty) => Ok(ty.to_string()),
            None => Err(format!("values of type `{}` cannot be made up", tidy(&text))),
        }
    }
}

/// Tokens with blanks as people write them.
fn tidy(text: &str) -> String {
    let mut text = text.replace(" :: ", "::").replace("& ", "&").replace(" <", "<").replace("< ", "<");
    for (from, to) in
        [(" >", ">"), (" ,", ","), ("( ", "("), (" )", ")"), ("[ ", "["), (" ]", "]"), (" ;", ";")]
    {
        text = text.replace(from, to);
    }
    text
}
