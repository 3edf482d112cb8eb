//! Copying of state field by field, into existing allocations.

/// Declares a struct whose `clone_from` calls that of each field, so that copying allocates only where a field grows.
///
/// **Invariant:** state of an execution is declared by this macro, so that no field can be forgotten when it is copied:
/// at the beginning of every execution, and into and out of checkpoints.
macro_rules! in_place {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $type),*
        }

        impl Clone for $name {
            fn clone(&self) -> $name {
                $name { $($field: self.$field.clone()),* }
            }

            #[inline]
            fn clone_from(&mut self, other: &$name) {
                $(self.$field.clone_from(&other.$field);)*
            }
        }
    };
}
pub(crate) use in_place;
