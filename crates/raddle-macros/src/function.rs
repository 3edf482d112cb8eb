//! Functions marked `#[raddle::test]`: explorations of their body.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, Result, ReturnType};

use crate::settings::{self, Known, Takes};

/// The settings of an exploration: methods of `Explorer`.
const KNOWN: &[Known] = &[
    Known::new("strategy", Takes::Variant("Strategy", "Pct(3)")),
    Known::new("seed", Takes::Value("1")),
    Known::new("executions", Takes::Value("10_000")),
    Known::new("budget", Takes::Duration),
    Known::new("max_steps", Takes::Value("1_000_000")),
    Known::new("time_limit", Takes::Duration),
    Known::new("workers", Takes::Value("2")),
    Known::new("isolation", Takes::Variant("Isolation", "Fork")),
    Known::new("allow_leaked_threads", Takes::Value("true")),
];

/// A test that explores the function's body.
pub(crate) fn expand(settings: TokenStream, function: &ItemFn) -> Result<TokenStream> {
    let settings = settings::of_tokens(settings, KNOWN)?;
    let signature = &function.sig;
    if let Some(asyncness) = &signature.asyncness {
        return Err(Error::new_spanned(
            asyncness,
            "there is no runtime here: start threads, or make one operation of an object `async`",
        ));
    }
    if !signature.inputs.is_empty() {
        return Err(Error::new_spanned(&signature.inputs, "a test function takes no arguments"));
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        return Err(Error::new_spanned(ty, "a test function returns nothing: panic if something is wrong"));
    }
    let (attributes, visibility, name, body) =
        (&function.attrs, &function.vis, &signature.ident, &function.block);
    let options = settings.iter().map(|setting| {
        let (name, value) = (&setting.name, setting.expression());
        quote!(.#name(#value))
    });
    Ok(quote! {
        #(#attributes)*
        #[::raddle::__core::prelude::v1::test]
        #visibility fn #name() {
            ::raddle::Explorer::new() #(#options)* .run(|| #body);
        }
    })
}
