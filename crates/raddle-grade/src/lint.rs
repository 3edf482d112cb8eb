//! What a submission may not contain: the ways by which code reaches out of its task.
//!
//! A submission runs in the same process as the test that judges it. Safe Rust cannot touch the test's memory or descriptors, so the rules
//! keep a submission to the safe language and to the parts of std that compute. They look at tokens, in macros too, and know nothing
//! of types: what they forbid cannot be written at all, rather than not be called.
//!
//! A path of std begins with `std`, `core` or `alloc`. These words may therefore stand only before `::` and the name of a module, or a
//! group of such names; what could hide them (`use std as s`, `std::*`, `std::$name`) is forbidden.

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};
use serde::{Deserialize, Serialize};

/// A rule, which a course can allow to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// `unsafe` code: lock-free structures need it.
    Unsafe,
    /// `extern` blocks, functions and crates.
    Extern,
    /// Inline assembly.
    Asm,
    /// Attributes that reach out of the crate: `no_mangle`, `link`, `global_allocator`, `path`, `macro_export`, ...
    Attributes,
    /// Macros that read files or variables when they are compiled: `include_str!`, `env!`, ...
    Include,
    /// `std::process`.
    Process,
    /// `std::fs` and `std::path`.
    Files,
    /// `std::net`.
    Network,
    /// `std::env`.
    Environment,
    /// `std::os`, `std::ffi`, `std::arch`, `std::alloc`: what lies below the language.
    System,
    /// Hooks of panics.
    PanicHook,
    /// Words that the course forbids: `Mutex` where locks are not wanted.
    Word,
}

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is there.
    pub what: String,
}

impl Rule {
    /// The rules that a course can allow to break.
    pub const ALL: [Rule; 11] = [
        Rule::Unsafe,
        Rule::Extern,
        Rule::Asm,
        Rule::Attributes,
        Rule::Include,
        Rule::Process,
        Rule::Files,
        Rule::Network,
        Rule::Environment,
        Rule::System,
        Rule::PanicHook,
    ];

    /// The name in `course.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Unsafe => "unsafe",
            Rule::Extern => "extern",
            Rule::Asm => "asm",
            Rule::Attributes => "attributes",
            Rule::Include => "include",
            Rule::Process => "process",
            Rule::Files => "files",
            Rule::Network => "network",
            Rule::Environment => "environment",
            Rule::System => "system",
            Rule::PanicHook => "panic-hook",
            Rule::Word => "forbid",
        }
    }

    /// The rule with this name.
    pub fn of_name(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// The places where a source file breaks rules. A file that [cannot be looked at](is_readable) breaks none: the compiler says more
/// about it. `forbid` has words that may not be used as names of anything.
pub fn check(source: &str, allow: &[Rule], forbid: &[String]) -> Vec<Finding> {
    let Ok(tokens) = source.parse::<TokenStream>() else { return Vec::new() };
    let mut checker = Checker { forbid, findings: Vec::new() };
    if has_shell_line(source) {
        let what = "a first line for a shell";
        checker.report(Rule::System, LineColumn { line: 1, column: 0 }, what);
    }
    checker.stream(tokens);
    checker.findings.retain(|finding| !allow.contains(&finding.rule));
    checker.findings
}

/// Whether the rules can be checked at all. What cannot be read here but compiles breaks rules that nobody sees.
pub fn is_readable(source: &str) -> bool {
    source.parse::<TokenStream>().is_ok()
}

/// Whether the compiler passes over the first line, in which a quotation mark would hide all that follows from these rules.
fn has_shell_line(source: &str) -> bool {
    let rest = source.trim_start_matches('\u{feff}').strip_prefix("#!");
    rest.is_some_and(|rest| !rest.starts_with('['))
}

const ROOTS: [&str; 3] = ["std", "core", "alloc"];

/// Modules of std that a rule is about.
fn module(name: &str) -> Option<Rule> {
    Some(match name {
        "process" => Rule::Process,
        "fs" | "path" => Rule::Files,
        "net" => Rule::Network,
        "env" => Rule::Environment,
        "os" | "ffi" | "arch" | "alloc" | "intrinsics" | "backtrace" => Rule::System,
        _ => return None,
    })
}

/// Words that break a rule wherever they stand.
fn word(name: &str) -> Option<Rule> {
    Some(match name {
        "unsafe" => Rule::Unsafe,
        "extern" => Rule::Extern,
        "asm" | "global_asm" | "naked_asm" => Rule::Asm,
        "include" | "include_str" | "include_bytes" | "env" | "option_env" => Rule::Include,
        "set_hook" | "take_hook" | "update_hook" => Rule::PanicHook,
        _ => return None,
    })
}

/// Attributes that may be used. A list of what is harmless is shorter than one of what is not.
const ATTRIBUTES: [&str; 27] = [
    "derive",
    "allow",
    "warn",
    "deny",
    "forbid",
    "expect",
    "doc",
    "inline",
    "cold",
    "must_use",
    "cfg",
    "cfg_attr",
    "test",
    "default",
    "repr",
    "non_exhaustive",
    "track_caller",
    "deprecated",
    "automatically_derived",
    "macro_use",
    "rustfmt",
    "clippy",
    "ignore",
    "should_panic",
    "recursion_limit",
    "type_length_limit",
    "diagnostic",
];

struct Checker<'a> {
    forbid: &'a [String],
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn report(&mut self, rule: Rule, at: LineColumn, what: impl Into<String>) {
        self.findings.push(Finding { rule, line: at.line, column: at.column + 1, what: what.into() });
    }

    fn stream(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (position, token) in tokens.iter().enumerate() {
            let rest = &tokens[position + 1..];
            match token {
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    let name = name.trim_start_matches("r#");
                    let at = ident.span().start();
                    let called =
                        matches!(rest.first(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
                    match word(name) {
                        // A field may be called `env`; a macro of that name is another matter.
                        Some(Rule::Include) if !called => {}
                        Some(rule) => self.report(rule, at, name),
                        None if self.forbid.iter().any(|word| word == name) => {
                            self.report(Rule::Word, at, name)
                        }
                        None => {}
                    }
                    let after_path = position > 0 && is_punct(&tokens[position - 1], ':');
                    if ROOTS.contains(&name) && (!after_path || is_leading(&tokens[..position])) {
                        self.root(name, at, rest);
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let rest = if rest.first().is_some_and(|token| is_punct(token, '!')) {
                        &rest[1..]
                    } else {
                        rest
                    };
                    if let Some(TokenTree::Group(group)) = rest.first()
                        && group.delimiter() == Delimiter::Bracket
                    {
                        self.attribute(group.stream());
                    }
                }
                TokenTree::Group(group) => self.stream(group.stream()),
                _ => {}
            }
        }
    }

    /// What follows `std`.
    fn root(&mut self, root: &str, at: LineColumn, rest: &[TokenTree]) {
        let [first, second, next, ..] = rest else {
            return self.report(Rule::System, at, format!("`{root}` without a module"));
        };
        if !(is_punct(first, ':') && is_punct(second, ':')) {
            return self.report(Rule::System, at, format!("`{root}` without a module"));
        }
        self.modules(root, std::slice::from_ref(next));
    }

    /// The modules named after `std::`, in a group or alone.
    fn modules(&mut self, root: &str, tokens: &[TokenTree]) {
        let mut begins = true;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if begins => {
                    let name = ident.to_string();
                    let name = name.trim_start_matches("r#");
                    if name == "self" {
                        self.report(
                            Rule::System,
                            ident.span().start(),
                            format!("`{root}` under another name"),
                        );
                    } else if let Some(rule) = module(name) {
                        self.report(rule, ident.span().start(), format!("{root}::{name}"));
                    }
                }
                TokenTree::Group(group) if begins => {
                    self.modules(root, &group.stream().into_iter().collect::<Vec<_>>());
                }
                TokenTree::Punct(punct) if begins && matches!(punct.as_char(), '*' | '$') => {
                    self.report(Rule::System, punct.span().start(), format!("{root}::{}", punct.as_char()));
                }
                _ => {}
            }
            begins = is_punct(token, ',');
        }
    }

    fn attribute(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter();
        let Some(TokenTree::Ident(ident)) = tokens.next() else { return };
        let name = ident.to_string();
        if !ATTRIBUTES.contains(&name.as_str()) {
            self.report(Rule::Attributes, ident.span().start(), format!("#[{name}]"));
        }
        if name == "cfg_attr" {
            // What it adds is an attribute, too.
            for group in tokens
                .filter_map(|token| if let TokenTree::Group(group) = token { Some(group) } else { None })
            {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| is_punct(token, ',')).skip(1) {
                    self.attribute(part.iter().cloned().collect());
                }
            }
        }
    }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Whether the `::` at the end of `before` begins a path (`::std`), rather than being inside of one (`crate::core`).
fn is_leading(before: &[TokenTree]) -> bool {
    let Some(position) = before.len().checked_sub(3) else { return true };
    !matches!(&before[position], TokenTree::Ident(ident) if !matches!(ident.to_string().as_str(), "use" | "in" | "as" | "return"))
        && !is_punct(&before[position], '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn rules(source: &str, expected: &[Rule]) {
        let found: Vec<Rule> = check(source, &[], &[]).into_iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn plain_code_passes() {
        rules(
            "#![allow(dead_code)] use std::{sync::{Mutex, Arc}, collections::VecDeque}; /// process::exit, unsafe \n\
             #[derive(Default)] pub struct A { env: u32, process: u8 } \
             impl A { fn f(&self) { let _ = \"std::fs\"; crate::process::g(self.env); std::thread::yield_now() } }",
            &[],
        );
        rules("fn f() { crate::core::g(); self::alloc::h() }", &[]);
    }

    #[test]
    fn modules_of_std_are_found_however_they_are_named() {
        rules("fn f() { std::process::exit(0) }", &[Rule::Process]);
        rules("fn f() { ::std::process::exit(0) }", &[Rule::Process]);
        rules("use std::{sync::Arc, process, fs::{File, self}};", &[Rule::Process, Rule::Files]);
        rules("use std::{net::TcpStream};", &[Rule::Network]);
        rules("use ::{std::env};", &[Rule::Environment]);
        rules("fn f() { r#std::r#process::abort() }", &[Rule::Process]);
        rules("use core::arch::x86_64;", &[Rule::System]);
    }

    #[test]
    fn std_cannot_be_hidden() {
        rules("use std as s;", &[Rule::System]);
        rules("use std::{self as s};", &[Rule::System]);
        rules("use std::*;", &[Rule::System]);
        rules("use std::{*};", &[Rule::System]);
        rules("macro_rules! m { ($a:ident) => { std::$a::exit(0) } }", &[Rule::System]);
        rules("m!(std, process);", &[Rule::System]);
        rules("m!(std::process);", &[Rule::Process]);
    }

    #[test]
    fn a_line_for_a_shell_hides_nothing() {
        rules("#!/\"\npub fn f() { unsafe { g() } } //\"", &[Rule::System]);
        rules("\u{feff}#! /*\npub fn f() { unsafe { g() } } // */", &[Rule::System]);
        rules("#![allow(dead_code)]", &[]);
        assert!(!is_readable("#!/\"\nfn f() {}"), "a string that does not end");
    }

    #[test]
    fn words_and_attributes_are_found_in_macros_too() {
        rules("macro_rules! m { () => { unsafe { f() } } }", &[Rule::Unsafe]);
        rules("extern \"C\" { fn write(); }", &[Rule::Extern]);
        rules("#[unsafe(no_mangle)] pub fn f() {}", &[Rule::Attributes, Rule::Unsafe]);
        rules("#[cfg_attr(all(), path = \"x.rs\")] mod x;", &[Rule::Attributes]);
        rules("#[macro_export] macro_rules! assert_eq { ($($t:tt)*) => {} }", &[Rule::Attributes]);
        rules("const X: &str = include_str!(\"../tests/hidden.rs\");", &[Rule::Include]);
        rules("fn f() { core::arch::asm!(\"syscall\") }", &[Rule::System, Rule::Asm]);
        rules("fn f() { std::panic::set_hook(Box::new(|_| ())) }", &[Rule::PanicHook]);
    }

    #[test]
    fn a_course_can_forbid_words() {
        let forbid = ["Mutex".to_owned()];
        let findings = check("use std::sync::{Mutex as Lock}; /// Mutex\n struct Mutexes;", &[], &forbid);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].rule, findings[0].what.as_str()), (Rule::Word, "Mutex"));
    }

    #[test]
    fn what_a_course_allows_is_no_finding() {
        assert_eq!(check("unsafe fn f() {}", &[Rule::Unsafe], &[]), []);
        let findings = check("\n  unsafe fn f() {}", &[], &[]);
        assert_eq!((findings[0].line, findings[0].column), (2, 3));
    }
}
