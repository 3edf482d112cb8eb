//! Impl blocks marked `#[raddle::litmus]`: their actors and outcomes, what is wrong with them, and the test that they become.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, Ident, ImplItem, ImplItemFn, ItemImpl, Lit, LitStr, Meta, Result,
    ReturnType, Token, Type,
};

use crate::definition::{Mistakes, check_block};
use crate::settings::{self, Known, Setting, Takes};
use crate::words;

/// The settings of a litmus test. Those without a comment are methods of the builder.
const KNOWN: &[Known] = &[
    // The name of the test function.
    Known::new("name", Takes::Text("\"store_buffering\"")),
    Known::new("time", Takes::Duration),
    Known::new("seed", Takes::Value("1")),
    Known::new("patience", Takes::Duration),
];

/// The most actors of a test.
const ACTORS: usize = 8;

/// The impl block without Raddle's attributes, and the test.
pub(crate) fn expand(settings: TokenStream, mut block: ItemImpl) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let settings = mistakes.of(settings::of_tokens(settings, KNOWN)).unwrap_or_default();
    mistakes.of(check_block(&block));
    let mut litmus = Litmus { settings, ..Litmus::default() };
    litmus.read_attributes(&mut block, &mut mistakes);
    litmus.read_methods(&mut block, &mut mistakes);
    if mistakes.is_empty() {
        mistakes.of(litmus.check(&block.self_ty));
    }
    let test = match mistakes.into_error() {
        None => litmus.test(&block.self_ty),
        Some(error) => error.to_compile_error(),
    };
    quote!(#block #test)
}

/// A test as it was written.
#[derive(Default)]
struct Litmus {
    settings: Vec<Setting>,
    description: String,
    /// Attributes for the test function.
    attributes: Vec<Attribute>,
    outcomes: Vec<Outcome>,
    actors: Vec<Actor>,
    arbiter: Option<Actor>,
    signal: Option<Actor>,
    init: Option<Ident>,
}

/// `#[outcome("0, 1", "1, 0", acceptable, "one after the other")]`
struct Outcome {
    patterns: Vec<LitStr>,
    grade: Ident,
    description: String,
}

/// A method that a thread calls.
struct Actor {
    method: Ident,
    /// What it returns; none if nothing.
    result: Option<Type>,
}

impl Litmus {
    fn read_attributes(&mut self, block: &mut ItemImpl, mistakes: &mut Mistakes) {
        for attribute in std::mem::take(&mut block.attrs) {
            let is = |name| attribute.path().is_ident(name);
            if is("outcome") {
                self.outcomes.extend(mistakes.of(Outcome::parse(&attribute)));
                continue;
            }
            if is("should_panic") || is("ignore") {
                self.attributes.push(attribute);
                continue;
            }
            if is("cfg") {
                self.attributes.push(attribute.clone());
            }
            if let Meta::NameValue(meta) = &attribute.meta
                && is("doc")
                && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value
            {
                self.description = format!("{} {}", self.description, text.value().trim()).trim().to_owned();
            }
            block.attrs.push(attribute);
        }
    }

    fn read_methods(&mut self, block: &mut ItemImpl, mistakes: &mut Mistakes) {
        for item in &mut block.items {
            let ImplItem::Fn(method) = item else { continue };
            let is_own = |attribute: &Attribute| {
                ["actor", "arbiter", "signal", "init"].iter().any(|own| attribute.path().is_ident(own))
            };
            let (own, others) = std::mem::take(&mut method.attrs).into_iter().partition(is_own);
            method.attrs = others;
            let own: Vec<Attribute> = own;
            for attribute in own {
                mistakes.of(self.read_method(&attribute, method));
            }
        }
    }

    fn read_method(&mut self, attribute: &Attribute, method: &ImplItemFn) -> Result<()> {
        settings::of_attribute(attribute, &[])?;
        let role = attribute.path().require_ident()?.to_string();
        let name = &method.sig.ident;
        let twice = |first: &Ident| {
            Err(Error::new_spanned(attribute, format!("a test has one `#[{role}]`: `{first}` is it already")))
        };
        match (role.as_str(), &self.arbiter, &self.signal, &self.init) {
            ("actor", ..) => self.actors.push(Actor::parse(&role, method)?),
            ("arbiter", None, ..) => self.arbiter = Some(Actor::parse(&role, method)?),
            ("signal", _, None, _) => self.signal = Some(Actor::parse(&role, method)?),
            ("arbiter", Some(first), ..) | ("signal", _, Some(first), _) => return twice(&first.method),
            (_, _, _, Some(first)) => return twice(first),
            (_, _, _, None) if method.sig.inputs.is_empty() => self.init = Some(name.clone()),
            _ => {
                let message = "`#[init]` belongs on a function such as `fn new() -> Self`";
                return Err(Error::new_spanned(&method.sig.inputs, message));
            }
        }
        Ok(())
    }

    fn check(&self, object: &Type) -> Result<()> {
        let mistake = |message: &str| Err(Error::new_spanned(object, message));
        if self.actors.is_empty() {
            return mistake("there are no actors: mark the methods that threads call with `#[actor]`");
        }
        if let Some(ninth) = self.actors.get(ACTORS) {
            return Err(Error::new(ninth.method.span(), "a litmus test has at most eight actors"));
        }
        if self.outcomes.is_empty() {
            return mistake(
                "no outcome is right: add rules such as `#[outcome(\"*\", acceptable)]` to the impl block",
            );
        }
        if self.signal.is_some() && (self.actors.len() != 1 || self.arbiter.is_some()) {
            return mistake(
                "a test with a `#[signal]` has one `#[actor]`, which waits for it, and no arbiter",
            );
        }
        let returns = |actor: &&Actor| actor.result.is_some();
        let waiting = self.signal.iter().chain(&self.actors).find(returns).filter(|_| self.signal.is_some());
        if let Some(Actor { result: Some(result), .. }) = waiting {
            let message = "here only whether the actor ends is a result: return nothing";
            return Err(Error::new_spanned(result, message));
        }
        Ok(())
    }

    fn test(&self, object: &Type) -> TokenStream {
        let function = self.function(object);
        let attributes = &self.attributes;
        let init = match &self.init {
            Some(init) => quote!(<#object>::#init()),
            None => quote!(<#object as ::raddle::__core::default::Default>::default()),
        };
        let description = &self.description;
        let builder = match &self.signal {
            None => self.litmus(object, &init),
            Some(signal) => {
                let (actor, signal) = (&self.actors[0].method, &signal.method);
                quote! {
                    ::raddle::stress::Waiting::new(
                        name,
                        || #init,
                        |state: &#object| <#object>::#actor(state),
                        |state: &#object| <#object>::#signal(state),
                    )
                }
            }
        };
        let outcomes = self.outcomes.iter().flat_map(Outcome::rules);
        let options = self.settings.iter().filter(|setting| setting.name != "name").map(|setting| {
            let (name, value) = (&setting.name, setting.expression());
            quote!(.#name(#value))
        });
        let text = function.to_string();
        quote! {
            #(#attributes)*
            #[::raddle::__core::prelude::v1::test]
            fn #function() {
                let name = ::raddle::__core::concat!(::raddle::__core::module_path!(), "::", #text);
                #builder
                    .description(#description)
                    #(#outcomes)*
                    #(#options)*
                    .run();
            }
        }
    }

    /// The builder, with a type that holds the result of any actor.
    fn litmus(&self, object: &Type, init: &TokenStream) -> TokenStream {
        let all: Vec<&Actor> = self.actors.iter().chain(&self.arbiter).collect();
        let variant = |number: usize| format_ident!("Of{number}");
        let variants = all.iter().enumerate().map(|(number, actor)| {
            let (variant, result) = (variant(number), actor.result.iter());
            quote!(#variant #((#result))*)
        });
        let shows = all.iter().enumerate().map(|(number, actor)| {
            let variant = variant(number);
            match actor.result {
                None => quote!(Reply::#variant => ::raddle::__core::result::Result::Ok(())),
                Some(_) => quote!(Reply::#variant(value) => ::raddle::__core::fmt::Debug::fmt(value, f)),
            }
        });
        let calls = all.iter().enumerate().map(|(number, actor)| {
            let (variant, method) = (variant(number), &actor.method);
            let role =
                Ident::new(if number < self.actors.len() { "actor" } else { "arbiter" }, Span::call_site());
            match actor.result {
                None => quote!(.#role(|state: &#object| { <#object>::#method(state); Reply::#variant })),
                Some(_) => quote!(.#role(|state: &#object| Reply::#variant(<#object>::#method(state)))),
            }
        });
        quote! {
            {
                #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
                enum Reply { #(#variants),* }
                impl ::raddle::__core::fmt::Display for Reply {
                    fn fmt(&self, f: &mut ::raddle::__core::fmt::Formatter<'_>) -> ::raddle::__core::fmt::Result {
                        match self { #(#shows),* }
                    }
                }
                ::raddle::stress::Litmus::new(name, || #init) #(#calls)*
            }
        }
    }

    fn function(&self, object: &Type) -> Ident {
        if let Some(name) = settings::find(&self.settings, "name").and_then(Setting::text) {
            return Ident::new(&name.value(), name.span());
        }
        let Type::Path(path) = object else { unreachable!("the block was checked") };
        let name = path.path.segments.last().expect("a path has segments").ident.to_string();
        Ident::new(&words::snake_case(&name), object.span())
    }
}

impl Outcome {
    fn parse(attribute: &Attribute) -> Result<Outcome> {
        let example =
            "write an outcome, its grade and its meaning: `#[outcome(\"0, 0\", forbidden, \"both missed\")]`";
        let Meta::List(list) = &attribute.meta else { return Err(Error::new_spanned(attribute, example)) };
        let parse = |input: ParseStream<'_>| {
            let mut patterns = Vec::new();
            while input.peek(LitStr) {
                patterns.push(input.parse::<LitStr>()?);
                input.parse::<Token![,]>()?;
            }
            let grade: Ident = input.parse()?;
            let mut description = String::new();
            if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
                description = input.parse::<LitStr>()?.value();
                input.parse::<Option<Token![,]>>()?;
            }
            Ok((patterns, grade, description))
        };
        let Ok((patterns, grade, description)) = parse.parse2(list.tokens.clone()) else {
            return Err(Error::new_spanned(list, example));
        };
        if patterns.is_empty() {
            return Err(Error::new_spanned(list, example));
        }
        if !["acceptable", "interesting", "forbidden"].iter().any(|known| grade == known) {
            let message = format!("`{grade}` is no grade: write `acceptable`, `interesting` or `forbidden`");
            return Err(Error::new(grade.span(), message));
        }
        Ok(Outcome { patterns, grade, description })
    }

    /// Calls of the builder.
    fn rules(&self) -> impl Iterator<Item = TokenStream> {
        let grade = self.grade.to_string();
        let expect = Ident::new(&format!("{}{}", grade[..1].to_uppercase(), &grade[1..]), self.grade.span());
        let description = &self.description;
        let rule = move |pattern: &LitStr| quote!(.outcome(#pattern, ::raddle::stress::Expect::#expect, #description));
        self.patterns.iter().map(rule)
    }
}

impl Actor {
    fn parse(role: &str, method: &ImplItemFn) -> Result<Actor> {
        let signature = &method.sig;
        if let Some(asyncness) = &signature.asyncness {
            return Err(Error::new_spanned(
                asyncness,
                format!("`#[{role}]` is called by a thread: make it an ordinary function"),
            ));
        }
        let shared = signature
            .receiver()
            .is_some_and(|receiver| matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, None)));
        if !shared || signature.inputs.len() != 1 {
            let message = format!("`#[{role}]` belongs on a method such as `fn left(&self) -> u32`");
            return Err(Error::new_spanned(signature, message));
        }
        let result = match &signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => match &**ty {
                Type::Tuple(tuple) if tuple.elems.is_empty() => None,
                ty => Some(ty.clone()),
            },
        };
        Ok(Actor { method: signature.ident.clone(), result })
    }
}
