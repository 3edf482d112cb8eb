//! The attributes of Raddle's declarative tests. Use them through the crate `raddle`, which documents them.
//!
//! An attribute becomes calls of the builder `raddle::Test`; nothing is decided here that the builder could decide.
//! [`settings`] reads what stands in parentheses, [`operation`] and [`definition`] read impl blocks and say what is wrong with
//! them, [`expand`] writes the builder; [`function`] is for plain functions, [`mod@litmus`] for graded tests, [`mod@arbitrary`] for types of arguments.
#![forbid(unsafe_code)]

mod arbitrary;
mod definition;
mod expand;
mod function;
mod litmus;
mod operation;
mod settings;
mod words;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Item, parse_macro_input};

use definition::Definition;

#[doc = include_str!("test.md")]
#[proc_macro_attribute]
pub fn test(settings: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = match syn::parse(item) {
        Ok(Item::Impl(block)) => {
            let (block, definition) = Definition::parse(settings.into(), block);
            let test =
                definition.map_or_else(|mistakes| mistakes.to_compile_error(), |all| expand::expand(&all));
            quote!(#block #test)
        }
        Ok(Item::Fn(function)) => {
            function::expand(settings.into(), &function).unwrap_or_else(|mistake| mistake.to_compile_error())
        }
        Ok(other) => {
            let message = "`#[raddle::test]` belongs on an impl block with operations, or on a function";
            let mistake = Error::new_spanned(&other, message).to_compile_error();
            quote!(#other #mistake)
        }
        Err(error) => error.to_compile_error(),
    };
    expanded.into()
}

#[doc = include_str!("litmus.md")]
#[proc_macro_attribute]
pub fn litmus(settings: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = match syn::parse(item) {
        Ok(Item::Impl(block)) => litmus::expand(settings.into(), block),
        Ok(other) => {
            let message = "`#[raddle::litmus]` belongs on an impl block with actors";
            let mistake = Error::new_spanned(&other, message).to_compile_error();
            quote!(#other #mistake)
        }
        Err(error) => error.to_compile_error(),
    };
    expanded.into()
}

/// Gives a struct or enum a generator: any variant, with any values in its fields.
///
/// ```
/// #[derive(Clone, Debug, raddle::Arbitrary)]
/// enum Colour {
///     Red,
///     Mixed { red: u8, green: u8 },
/// }
/// ```
#[proc_macro_derive(Arbitrary)]
pub fn arbitrary(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    arbitrary::expand(&input).unwrap_or_else(|mistake| mistake.to_compile_error()).into()
}
