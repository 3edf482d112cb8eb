//! `#[derive(raddle::Arbitrary)]`: generators of structs and enums.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result, parse_quote};

/// Any variant, the first of which is the simplest, with any values in its fields.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let value = match &input.data {
        Data::Struct(data) => {
            let fields = fields(&data.fields);
            quote!(Self #fields)
        }
        Data::Enum(data) if data.variants.is_empty() => {
            return Err(Error::new_spanned(&input.ident, "there is no value of an enum without variants"));
        }
        Data::Enum(data) => {
            let count = data.variants.len() as u64;
            let variants = data.variants.iter().map(|variant| {
                let (name, fields) = (&variant.ident, fields(&variant.fields));
                quote!(Self::#name #fields)
            });
            let numbers = 0..count - 1;
            let (last, others) = (variants.clone().last(), variants.take(data.variants.len() - 1));
            quote!(match source.below(#count) { #(#numbers => #others,)* _ => #last })
        }
        Data::Union(_) => {
            return Err(Error::new_spanned(
                &input.ident,
                "a union does not say which of its fields has a value",
            ));
        }
    };
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::raddle::Arbitrary));
    }
    let (name, (parameters, types, conditions)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        impl #parameters ::raddle::Arbitrary for #name #types #conditions {
            fn arbitrary(source: &mut ::raddle::generate::Source<'_>) -> Self {
                let _ = &source;
                #value
            }
        }
    })
}

fn fields(fields: &Fields) -> TokenStream {
    let any = quote!(::raddle::Arbitrary::arbitrary(source));
    match fields {
        Fields::Unit => TokenStream::new(),
        Fields::Unnamed(fields) => {
            let values = fields.unnamed.iter().map(|_| &any);
            quote!((#(#values),*))
        }
        Fields::Named(fields) => {
            let names = fields.named.iter().map(|field| &field.ident);
            quote!({ #(#names: #any),* })
        }
    }
}
