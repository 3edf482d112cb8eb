//! The builder that an impl block stands for, and its test function.

use std::iter;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident, Pat, PatType, ReturnType, Token, Type, parse_quote};

use crate::definition::{Definition, Hook, OPERATIONS};
use crate::operation::{Argument, CHOICES, Operation};
use crate::settings::Setting;

/// What the impl block becomes, besides itself.
pub(crate) fn expand(definition: &Definition) -> TokenStream {
    let object = definition.object();
    let init = match &definition.init {
        Some(init) => call_hook(object, init),
        None => quote_spanned!(object.span()=> <#object as ::raddle::__core::default::Default>::default()),
    };
    let operations = definition.operations.iter().map(|operation| self::operation(object, operation));
    let spec = definition.spec().map(|spec| specification(&spec, &definition.operations));
    let hooks = [
        ("setup", &definition.setup),
        ("validate", &definition.validate),
        ("teardown", &definition.teardown),
    ];
    let hooks = hooks.into_iter().filter_map(|(name, hook)| {
        let method = format_ident!("{name}");
        let call = call_hook(object, hook.as_ref()?);
        Some(quote!(.#method(|object: &#object| { let _ = object; #call; })))
    });
    let options = definition.options().map(|setting| {
        let name = match setting.name == OPERATIONS {
            true => Ident::new("operations_per_thread", setting.name.span()),
            false => setting.name.clone(),
        };
        option(&name, setting)
    });
    let conditions = definition.attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let function = function(definition);
    quote! {
        #(#conditions)*
        impl ::raddle::TestDefinition for #object {
            #[allow(clippy::redundant_closure, clippy::redundant_closure_for_method_calls)]
            fn test() -> ::raddle::Test<Self> {
                #[allow(unused_imports)]
                use ::raddle::{ByDebug as _, ByFields as _, ByInspect as _};
                let test = ::raddle::Test::new(|| #init)
                    .by_attribute()
                    #(#operations)*
                    #spec
                    #(#hooks)*
                    #(#options)*;
                (&&&::raddle::Showable::<Self>::new()).shown(test)
            }
        }
        #function
    }
}

fn function(definition: &Definition) -> Option<TokenStream> {
    let name = definition.function()?;
    let object = definition.object();
    let attributes = &definition.attributes;
    let run = match definition.fails() {
        None => quote!(run()),
        Some(kind) => quote!(fails(#kind)),
    };
    Some(quote! {
        #(#attributes)*
        #[::raddle::__core::prelude::v1::test]
        fn #name() {
            <#object as ::raddle::TestDefinition>::test().#run;
        }
    })
}

/// `.with(Operation::with_args("push", (generator,), |object: &Object, a: u32| Object::push(object, a)).once())`
fn operation(object: &Type, operation: &Operation) -> TokenStream {
    let shown = operation.shown_name();
    let method = &operation.method;
    let names = names(&operation.arguments);
    let types = operation.arguments.iter().map(|argument| &argument.ty);
    let generators = operation.arguments.iter().map(generator);
    let (constructor, asynchronously, wait) = match operation.is_async {
        false => (quote!(with_args), None, None),
        true => (quote!(future_with_args), Some(quote!(async)), Some(quote!(.await))),
    };
    let options = operation.options().map(|setting| option(&setting.name, setting));
    // The line of the call is that of the method: traces show it.
    let call = quote_spanned!(method.span()=> <#object>::#method(object #(, #names)*) #wait);
    let object_name = Ident::new("object", method.span());
    quote! {
        .with(
            ::raddle::Operation::#constructor(
                #shown,
                (#(#generators,)*),
                #asynchronously |#object_name: &#object #(, #names: #types)*| #call,
            )
            #(#options)*
        )
    }
}

/// A setting as a call of the builder.
fn option(name: &Ident, setting: &Setting) -> TokenStream {
    let value = setting.expression();
    quote!(.#name(#value))
}

fn generator(argument: &Argument) -> TokenStream {
    let ty = &argument.ty;
    match &argument.generator {
        None => quote_spanned!(ty.span()=> ::raddle::generate::any::<#ty>()),
        Some(range @ Expr::Range(_)) => quote_spanned!(range.span()=> ::raddle::generate::int(#range)),
        // Raddle's generators need no `use`.
        Some(generator) => quote_spanned! {generator.span()=> {
            #[allow(unused_imports)]
            use ::raddle::generate::*;
            #generator
        }},
    }
}

/// `.spec(Spec::new(Model::default).operation("push", |spec: &mut Model, a: u32| spec.push(a)))`
fn specification(spec: &TokenStream, operations: &[Operation]) -> TokenStream {
    let operations = operations.iter().map(|operation| {
        let (shown, result) = (operation.shown_name(), &operation.result);
        let written = operation.spec();
        let chooses = written.is_some_and(|setting| setting.name == CHOICES);
        let (kind, state, result) = match (chooses, operation.may_wait()) {
            (true, _) => (quote!(choices), quote!(&#spec), None),
            (false, true) => (
                quote!(blocking),
                quote!(&mut #spec),
                Some(quote!(::raddle::__core::option::Option<#result>)),
            ),
            (false, false) => (quote!(operation), quote!(&mut #spec), Some(quote!(#result))),
        };
        let step = match written {
            Some(setting) => with_types(setting.expression(), &state, operation, result),
            None => {
                let method = &operation.method;
                let names = names(&operation.arguments);
                let types = operation.arguments.iter().map(|argument| &argument.ty);
                quote!(|spec: #state #(, #names: #types)*| -> #result { spec.#method(#(#names),*) })
            }
        };
        quote!(.#kind(#shown, #step))
    });
    quote! {
        .spec(::raddle::Spec::new(<#spec as ::raddle::__core::default::Default>::default) #(#operations)*)
    }
}

/// A closure with the types of its parameters and its result, where they are not written.
fn with_types(
    closure: TokenStream,
    state: &TokenStream,
    operation: &Operation,
    result: Option<TokenStream>,
) -> TokenStream {
    let Ok(Expr::Closure(mut closure)) = syn::parse2(closure.clone()) else { return closure };
    let types = operation.arguments.iter().map(|argument| argument.ty.to_token_stream());
    for (parameter, ty) in closure.inputs.iter_mut().zip(iter::once(state.clone()).chain(types)) {
        if !matches!(parameter, Pat::Type(_)) {
            let (pat, ty) = (Box::new(parameter.clone()), Box::<Type>::new(parse_quote!(#ty)));
            *parameter = Pat::Type(PatType { attrs: Vec::new(), pat, colon_token: Token![:](ty.span()), ty });
        }
    }
    if let (ReturnType::Default, Some(result)) = (&closure.output, result) {
        let body = &closure.body;
        closure.body = parse_quote!({ #body });
        closure.output = parse_quote!(-> #result);
    }
    closure.into_token_stream()
}

fn call_hook(object: &Type, hook: &Hook) -> TokenStream {
    let name = &hook.name;
    match hook.on_object {
        true => quote!(<#object>::#name(object)),
        false => quote!(<#object>::#name()),
    }
}

fn names(arguments: &[Argument]) -> Vec<Ident> {
    (0..arguments.len()).map(|index| format_ident!("argument{index}")).collect()
}
