//! Methods marked `#[operation]`.

use syn::{
    Attribute, Error, Expr, FnArg, Ident, ImplItemFn, LitStr, ReceiverKind, Result, ReturnType, Type,
    TypeReference, parse_quote,
};

use crate::settings::{self, Known, Setting, Takes};

/// The settings of an operation.
const KNOWN: &[Known] = &[
    Known::new(NAME, Takes::Text("\"push\"")),
    Known::new("once", Takes::Nothing),
    Known::new("group", Takes::Text("\"producer\"")),
    Known::new("blocking", Takes::Nothing),
    Known::new("cancellable", Takes::Nothing),
    Known::new("read_only", Takes::Nothing),
    Known::new("relaxed", Takes::Nothing),
    Known::new("weight", Takes::Value("2")),
    Known::new("key", Takes::Value("|&(key, _)| key")),
    Known::new("precondition", Takes::Value("|earlier, _| earlier.count(\"open\") > 0")),
    Known::new(SPEC, Takes::Value("|spec, value| spec.push_back(value)")),
    Known::new(CHOICES, Takes::Value("|spec| vec![(None, spec.clone())]")),
];

/// Settings that are no method of the builder: the name in scenarios and reports, and what the specification does instead of
/// calling its own method of the same name, with or without a choice.
const NAME: &str = "name";
const SPEC: &str = "spec";
pub(crate) const CHOICES: &str = "choices";

/// An operation of the test.
pub(crate) struct Operation {
    pub(crate) method: Ident,
    pub(crate) is_async: bool,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) result: Type,
    pub(crate) settings: Vec<Setting>,
}

/// An argument of an operation.
pub(crate) struct Argument {
    pub(crate) ty: Type,
    /// What makes it, if not the generator of its type.
    pub(crate) generator: Option<Expr>,
}

impl Operation {
    /// Reads a method, and takes the attributes off its arguments.
    pub(crate) fn parse(attribute: &Attribute, method: &mut ImplItemFn) -> Result<Operation> {
        let settings = settings::of_attribute(attribute, KNOWN)?;
        let signature = &mut method.sig;
        if let Some(parameter) = signature.generics.params.first() {
            return Err(Error::new_spanned(
                parameter,
                "an operation has no parameters of its own: Raddle would not know which to choose",
            ));
        }
        let is_async = signature.asyncness.is_some();
        takes_shared_self(method)?;
        let signature = &mut method.sig;
        let arguments = signature
            .inputs
            .iter_mut()
            .filter_map(|input| match input {
                FnArg::Typed(argument) => Some(argument),
                FnArg::Receiver(_) => None,
            })
            .map(Argument::parse)
            .collect::<Result<_>>()?;
        let result = match &signature.output {
            ReturnType::Default => parse_quote!(()),
            ReturnType::Type(_, ty) => (**ty).clone(),
        };
        let operation = Operation { method: signature.ident.clone(), is_async, arguments, result, settings };
        operation.check()?;
        Ok(operation)
    }

    pub(crate) fn setting(&self, name: &str) -> Option<&Setting> {
        settings::find(&self.settings, name)
    }

    /// The name in scenarios and reports.
    pub(crate) fn shown_name(&self) -> LitStr {
        let renamed = self.setting(NAME).and_then(Setting::text).cloned();
        renamed.unwrap_or_else(|| LitStr::new(&self.method.to_string(), self.method.span()))
    }

    /// The settings that are methods of the builder.
    pub(crate) fn options(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| ![NAME, SPEC, CHOICES].iter().any(|own| setting.name == own))
    }

    /// Whether it may have to wait for other operations.
    pub(crate) fn may_wait(&self) -> bool {
        self.is_async || self.setting("blocking").is_some()
    }

    /// What the specification does, if that is written at the operation.
    pub(crate) fn spec(&self) -> Option<&Setting> {
        self.setting(SPEC).or(self.setting(CHOICES))
    }

    fn check(&self) -> Result<()> {
        if let Some(cancellable) = self.setting("cancellable")
            && !self.is_async
        {
            return Err(Error::new(
                cancellable.name.span(),
                "only an `async fn` can be cancelled: its future is dropped",
            ));
        }
        if let Some(blocking) = self.setting("blocking")
            && self.is_async
        {
            return Err(Error::new(
                blocking.name.span(),
                "an `async fn` may suspend anyway: remove `blocking`",
            ));
        }
        if let (Some(_), Some(choices)) = (self.setting(SPEC), self.setting(CHOICES)) {
            return Err(Error::new(choices.name.span(), "use either `spec` or `choices`"));
        }
        if let Some(weight) = self.setting("weight")
            && weight.number() == Some(0)
        {
            return Err(Error::new(
                weight.name.span(),
                "an operation of weight 0 is never called: remove `#[operation]` instead",
            ));
        }
        Ok(())
    }
}

fn takes_shared_self(method: &ImplItemFn) -> Result<()> {
    let name = &method.sig.ident;
    let Some(receiver) = method.sig.receiver() else {
        return Err(Error::new(
            name.span(),
            format!("an operation is called on the object that threads share: write `fn {name}(&self, ..)`"),
        ));
    };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => Ok(()),
        _ => Err(Error::new_spanned(
            receiver,
            "threads share the object, so an operation takes `&self`: use atomics or locks inside",
        )),
    }
}

impl Argument {
    fn parse(argument: &mut syn::PatType) -> Result<Argument> {
        let mut generator = None;
        let mut rest = Vec::new();
        for attribute in std::mem::take(&mut argument.attrs) {
            if !attribute.path().is_ident("arg") {
                rest.push(attribute);
            } else if generator.is_some() {
                return Err(Error::new_spanned(attribute, "an argument has one generator"));
            } else {
                generator = Some(settings::generator(&attribute)?);
            }
        }
        argument.attrs = rest;
        let ty = (*argument.ty).clone();
        match &ty {
            Type::Reference(reference) if !is_static(reference) => Err(Error::new_spanned(
                &ty,
                "arguments are made anew for each call, so they are owned: take `String` rather than `&str`",
            )),
            Type::ImplTrait(_) => {
                Err(Error::new_spanned(&ty, "name the type, so that Raddle knows what to make"))
            }
            _ => Ok(Argument { ty, generator }),
        }
    }
}

fn is_static(reference: &TypeReference) -> bool {
    reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static")
}
