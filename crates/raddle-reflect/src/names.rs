//! Function names: demangled, without hashes, and short where the length tells nothing.

/// The full name behind a linkage name, without its hash; the text itself if it is not mangled.
pub(crate) fn demangle(linkage_name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(linkage_name))
}

/// A demangled name as a person wants to read it: the function's own path stays whole, types inside angle brackets
/// keep their last segment only, nested ones become `_`, and turbofish arguments go.
pub(crate) fn shorten(name: &str) -> String {
    let mut short = Shortener { rest: name, out: String::with_capacity(name.len()) };
    while !short.rest.is_empty() {
        short.item(true, 0);
        // An unbalanced bracket or a stray comma: copied as it stands.
        if let Some(c) = short.rest.chars().next() {
            short.push(c);
        }
    }
    short.out
}

/// The owner of a function: its module path, or that of the type or, for blanket implementations, of the trait it
/// implements.
///
/// `<alloc::sync::Arc<T> as core::clone::Clone>::clone` belongs to `alloc::sync::Arc`.
pub(crate) fn owner(name: &str) -> &str {
    let Some(inside) = name.strip_prefix('<') else { return leading_path(name) };
    let path = leading_path(inside.trim_start_matches(['<', '&', '*', '(', '[']).trim_start_matches("mut "));
    if path.contains("::") {
        return path;
    }
    match split_as(inside) {
        Some(of_trait) => leading_path(of_trait),
        None => path,
    }
}

/// The rest of the path after the owner: `::clone`, `::upgrade::{{closure}}`.
pub(crate) fn members(name: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let after = name
        .char_indices()
        .filter(|&(at, c)| {
            match c {
                '<' => depth += 1,
                '>' if !name[..at].ends_with('-') => depth -= 1,
                _ => {}
            }
            c == '>' && depth == 0
        })
        .map(|(at, _)| at + 1)
        .find(|&at| name[at..].starts_with("::"));
    name[after.unwrap_or(0)..].split("::").filter(|member| !member.is_empty())
}

/// The first generic argument in a name such as `drop<std::thread::Packet<()>, alloc::alloc::Global>`.
pub(crate) fn first_argument(name: &str) -> Option<&str> {
    let (_, arguments) = name.split_once('<')?;
    let mut depth = 0;
    let end = arguments.char_indices().find(|&(_, c)| match c {
        '<' | '(' | '[' => {
            depth += 1;
            false
        }
        ')' | ']' => {
            depth -= 1;
            false
        }
        '>' if depth > 0 => {
            depth -= 1;
            false
        }
        '>' => true,
        ',' => depth == 0,
        _ => false,
    });
    Some(arguments[..end?.0].trim())
}

fn leading_path(text: &str) -> &str {
    let end = text.find(['<', ' ', '>', ',', ')', ']', '{']).unwrap_or(text.len());
    text[..end].trim_end_matches("::")
}

/// The text after the ` as ` that belongs to the outermost bracket.
fn split_as(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 0 => return None,
            '>' => depth -= 1,
            ' ' if depth == 0 && text[at..].starts_with(" as ") => return Some(&text[at + 4..]),
            _ => {}
        }
    }
    None
}

struct Shortener<'a> {
    rest: &'a str,
    out: String,
}

impl Shortener<'_> {
    /// Copies one path or type, up to a bracket or comma that is not its own.
    fn item(&mut self, whole: bool, depth: usize) {
        let start = self.out.len();
        let mut segment = start;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '>' | ',' | ';' | ')' | ']' => return,
                ' ' if self.rest.starts_with(" as ") => return,
                '-' if self.rest.starts_with("->") => {
                    self.push('-');
                    self.push('>');
                    segment = self.out.len();
                }
                '<' if self.out.len() == start => self.qualified(depth),
                '<' => self.arguments(depth),
                ':' if self.rest.starts_with("::") => {
                    if whole {
                        self.push(':');
                        self.push(':');
                    } else {
                        self.out.truncate(segment);
                        self.rest = &self.rest[2..];
                    }
                }
                '(' | '[' => {
                    self.push(c);
                    self.list(whole, depth);
                    segment = self.out.len();
                }
                '{' => self.braces(),
                '&' | '*' | ' ' | '+' => {
                    self.push(c);
                    segment = self.out.len();
                }
                _ => self.push(c),
            }
        }
    }

    /// `<Type as Trait>`: the type keeps its path. `<Type>` is the same as `Type`.
    fn qualified(&mut self, depth: usize) {
        let start = self.out.len();
        self.push('<');
        self.item(true, depth);
        if let Some(rest) = self.rest.strip_prefix(" as ") {
            self.rest = rest;
            self.out.push_str(" as ");
            self.item(false, depth + 1);
            self.close('>');
        } else if let Some(rest) = self.rest.strip_prefix('>') {
            self.rest = rest;
            self.out.remove(start);
        }
    }

    fn arguments(&mut self, depth: usize) {
        let turbofish = self.out.ends_with("::");
        let start = self.out.len();
        self.push('<');
        self.list(false, depth + 1);
        if turbofish {
            self.out.truncate(start - 2);
        } else if depth >= 1 {
            self.out.truncate(start);
            self.out.push_str("<_>");
        }
    }

    fn list(&mut self, whole: bool, depth: usize) {
        loop {
            self.item(whole, depth);
            match self.rest.chars().next() {
                Some(c @ (',' | ';')) => {
                    self.push(c);
                    self.rest = self.rest.trim_start();
                    self.out.push(' ');
                }
                Some(c) => return self.push(c),
                None => return,
            }
        }
    }

    /// `{{closure}}` and `{closure#0}` are the same to a reader.
    fn braces(&mut self) {
        let end = self.rest.find('}').map_or(self.rest.len(), |at| at + 1);
        let (inside, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix('}').unwrap_or(rest);
        let name = inside.trim_matches(['{', '}']);
        self.out.push('{');
        self.out.push_str(name.split('#').next().unwrap_or(name));
        self.out.push('}');
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
        self.rest = &self.rest[c.len_utf8()..];
    }

    fn close(&mut self, c: char) {
        if self.rest.starts_with(c) {
            self.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(shorten(name), expected);
    }

    #[test]
    fn names_keep_their_path_and_lose_the_noise() {
        check("my_crate::Counter::inc", "my_crate::Counter::inc");
        check("my_crate::run::{{closure}}", "my_crate::run::{closure}");
        check("my_crate::run::{closure#2}", "my_crate::run::{closure}");
        check("core::option::Option<T>::map", "core::option::Option<T>::map");
        check(
            "<my_crate::Queue<alloc::sync::Arc<alloc::string::String>> as core::ops::drop::Drop>::drop",
            "<my_crate::Queue<Arc<_>> as Drop>::drop",
        );
        check("my_crate::Queue<u32, alloc::alloc::Global>::push", "my_crate::Queue<u32, Global>::push");
        check("my_crate::map::<core::option::Option<u8>, _>::{closure#0}", "my_crate::map::{closure}");
        check("<fn() -> a::B as c::D>::call", "<fn() -> a::B as D>::call");
        check("<core::sync::atomic::AtomicU32>::swap", "core::sync::atomic::AtomicU32::swap");
        check(
            "<my::A<T> as core::ops::function::FnOnce<()>>::call_once",
            "<my::A<T> as FnOnce<_>>::call_once",
        );
        check("unmangled_c", "unmangled_c");
        check("broken>::x)", "broken>::x)");
    }

    #[test]
    fn owners_are_the_type_or_the_blanket_trait() {
        assert_eq!(owner("<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop"), "alloc::sync::Arc");
        assert_eq!(owner("<alloc::sync::Arc<my::T>>::downgrade"), "alloc::sync::Arc");
        assert_eq!(owner("alloc::sync::Arc<T,A>::downgrade"), "alloc::sync::Arc");
        assert_eq!(owner("<T as core::convert::Into<U>>::into"), "core::convert::Into");
        assert_eq!(owner("std::thread::spawn"), "std::thread::spawn");
        assert_eq!(owner("my_crate::f::{{closure}}"), "my_crate::f");
        assert_eq!(owner("<&my_crate::A as core::fmt::Debug>::fmt"), "my_crate::A");
    }

    #[test]
    fn members_come_after_the_owner() {
        let members = |name| members(name).collect::<Vec<_>>();
        assert_eq!(
            members("alloc::sync::Weak<T,A>::upgrade::checked_increment"),
            ["upgrade", "checked_increment"]
        );
        assert_eq!(members("<a::B<C> as d::E>::clone"), ["clone"]);
        assert_eq!(members("std::thread::park"), ["std", "thread", "park"]);
    }

    #[test]
    fn first_arguments_are_whole_types() {
        assert_eq!(
            first_argument("drop<std::thread::Packet<()>, alloc::Global>"),
            Some("std::thread::Packet<()>")
        );
        assert_eq!(first_argument("clone<(u8, u16)>"), Some("(u8, u16)"));
        assert_eq!(first_argument("fence"), None);
    }
}
