//! Closures of every number of arguments, as one.

use std::any::type_name;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use super::generate::{Arbitrary, Generator, Source};

/// A tuple of arguments. Implemented for tuples of up to six.
pub trait Arguments: Clone + Send + Sync + 'static {
    /// Each argument, printed.
    fn texts(&self) -> Vec<String>;

    /// Each argument as Rust code, as far as what it prints tells.
    fn codes(&self) -> Vec<String>;
}

/// `Fn(&T, arguments...) -> R`.
pub trait Call<T, A, R>: Send + Sync + 'static {
    /// Calls it.
    fn call(&self, object: &T, arguments: A) -> R;
}

/// `Fn(&mut S, arguments...) -> R`.
pub trait CallMut<S, A, R>: 'static {
    /// Calls it.
    fn call(&self, state: &mut S, arguments: A) -> R;
}

/// `AsyncFn(&T, arguments...) -> R`.
pub trait AsyncCall<T, A, R>: Send + Sync + 'static {
    /// Calls it; nothing happens until the future is polled.
    fn call<'a>(&'a self, object: &'a T, arguments: A) -> Pin<Box<dyn Future<Output = R> + 'a>>;
}

/// A value as Rust code: what it prints, with the type where that is not what a literal has by itself.
fn code<T: Debug>(value: &T) -> String {
    let text = format!("{value:?}");
    match type_name::<T>() {
        name @ ("i8" | "i16" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" | "f32") => {
            format!("{text}{name}")
        }
        "alloc::string::String" => format!("{text}.to_string()"),
        name if name.starts_with("alloc::vec::Vec<") => format!("vec!{text}"),
        _ => text,
    }
}

macro_rules! arity {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Clone + Debug + Send + Sync + 'static),*> Arguments for ($($name,)*) {
            fn texts(&self) -> Vec<String> {
                vec![$(format!("{:?}", self.$index)),*]
            }

            fn codes(&self) -> Vec<String> {
                vec![$(code(&self.$index)),*]
            }
        }

        impl<T, R, F, $($name),*> Call<T, ($($name,)*), R> for F
        where
            F: Fn(&T, $($name),*) -> R + Send + Sync + 'static,
        {
            #[allow(unused_variables, reason = "no arguments are no values")]
            fn call(&self, object: &T, arguments: ($($name,)*)) -> R {
                self(object, $(arguments.$index),*)
            }
        }

        impl<S, R, F, $($name),*> CallMut<S, ($($name,)*), R> for F
        where
            F: Fn(&mut S, $($name),*) -> R + 'static,
        {
            #[allow(unused_variables, reason = "no arguments are no values")]
            fn call(&self, state: &mut S, arguments: ($($name,)*)) -> R {
                self(state, $(arguments.$index),*)
            }
        }

        impl<T, R, F, $($name: 'static),*> AsyncCall<T, ($($name,)*), R> for F
        where
            F: AsyncFn(&T, $($name),*) -> R + Send + Sync + 'static,
        {
            #[allow(unused_variables, reason = "no arguments are no values")]
            fn call<'a>(
                &'a self,
                object: &'a T,
                arguments: ($($name,)*),
            ) -> Pin<Box<dyn Future<Output = R> + 'a>> {
                Box::pin(async move { self(object, $(arguments.$index),*).await })
            }
        }

        impl<$($name: Generator),*> Generator for ($($name,)*) {
            type Value = ($($name::Value,)*);

            #[allow(unused_variables, clippy::unused_unit, reason = "no arguments are no values")]
            fn generate(&self, source: &mut Source<'_>) -> Self::Value {
                ($(self.$index.generate(source),)*)
            }
        }

        impl<$($name: Arbitrary + 'static),*> Arbitrary for ($($name,)*) {
            #[allow(unused_variables, clippy::unused_unit, reason = "no arguments are no values")]
            fn arbitrary(source: &mut Source<'_>) -> Self {
                ($($name::arbitrary(source),)*)
            }
        }
    };
}

arity!();
arity!(A 0);
arity!(A 0, B 1);
arity!(A 0, B 1, C 2);
arity!(A 0, B 1, C 2, D 3);
arity!(A 0, B 1, C 2, D 3, E 4);
arity!(A 0, B 1, C 2, D 3, E 4, G 5);
