//! Types as a person writes them: without paths, and without the allocators that nobody chose.

/// A type without paths: `Node<alloc::string::String, alloc::alloc::Global>` becomes `Node<String>`.
pub(super) fn short(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    // The beginning of the current path in `out`.
    let mut path = 0;
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("::") {
            out.truncate(path);
            rest = &rest[2..];
            continue;
        }
        if c == '{' {
            let end = rest.find('}').map_or(rest.len(), |at| at + 1);
            let inside = rest[1..end].trim_end_matches('}');
            let inside = inside.split('#').next().unwrap_or(inside).trim_end_matches("_env");
            out.push_str(&format!("{{{inside}}}"));
            rest = &rest[end..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
        if !(c.is_alphanumeric() || c == '_') {
            path = out.len();
        }
    }
    for allocator in [", Global", ", RandomState"] {
        out = out.replace(&format!("{allocator}>"), ">").replace(&format!("{allocator}, "), ", ");
    }
    out
}

/// The name of a structure as `Debug` prints it: without generic arguments, empty for tuples.
pub(super) fn of_value(name: &str) -> String {
    let short = short(name);
    if short.starts_with('(') {
        return String::new();
    }
    match short.find('<') {
        Some(0) | None => short,
        Some(at) => short[..at].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str, value: &str) {
        assert_eq!((short(name).as_str(), of_value(name).as_str()), (expected, value));
    }

    #[test]
    fn types_lose_paths_and_allocators() {
        check("Node<i32>", "Node<i32>", "Node");
        check("Vec<core::option::Option<a::B>, alloc::alloc::Global>", "Vec<Option<B>>", "Vec");
        check("(u8, alloc::string::String)", "(u8, String)", "");
        check("alloc::boxed::Box<dyn core::ops::Fn<()>, alloc::alloc::Global>", "Box<dyn Fn<()>>", "Box");
        check("{closure_env#0}", "{closure}", "{closure}");
        check(
            "HashMap<u32, u8, std::hash::random::RandomState, alloc::alloc::Global>",
            "HashMap<u32, u8>",
            "HashMap",
        );
    }
}
