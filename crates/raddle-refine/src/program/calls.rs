//! Calls as Rust expressions.

use crate::schema::Invocation;
use crate::spec::Spec;

/// What a call of a driver does, as statements that end with the text of the result.
pub(super) fn block(spec: &Spec, invocation: &Invocation) -> Result<String, String> {
    let call = spec.expression(invocation)?;
    let method = spec.method(&invocation.method);
    let show = method.and_then(|method| method.show.as_deref());
    Ok(match (method.is_some_and(|method| method.void), show) {
        (true, _) => format!("let _ = {call}; Shown::ignored()"),
        (false, None) => format!("let result = {call}; Shown::debug(&result)"),
        (false, Some(show)) => format!("let result = {call}; Shown::debug(&{{ {} }})", one_line(show)),
    })
}

/// What a call does, as one expression that is the text of the result. Compilers and linters have nothing to say about it, whatever the call
/// returns: a reference to nothing is not nothing.
pub(super) fn text(spec: &Spec, invocation: &Invocation) -> Result<String, String> {
    let call = one_line(&spec.expression(invocation)?);
    let method = spec.method(&invocation.method);
    // A call that somebody wrote may be any expression.
    let whole = match method.is_some_and(|method| method.call.is_some()) && !call.starts_with('{') {
        true => format!("{{ {call} }}"),
        false => call.clone(),
    };
    let show = method.and_then(|method| method.show.as_deref());
    Ok(match (method.is_some_and(|method| method.void), show) {
        (true, _) => format!("ignored(&{whole})"),
        (false, None) => format!("debug(&{whole})"),
        (false, Some(show)) => {
            format!("{{ let result = {call}; let shown = {}; debug(&shown) }}", one_line(show))
        }
    })
}

/// Expressions from files, without line breaks, so that a line of the program is a call.
pub(super) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
