//! Calls as Rust expressions.

use crate::schema::Invocation;
use crate::spec::Spec;

/// What a call does, as a block that ends with the text of the result; `debug` and `ignored` make that text.
pub(super) fn block(
    spec: &Spec,
    invocation: &Invocation,
    debug: &str,
    ignored: &str,
) -> Result<String, String> {
    let call = spec.expression(invocation)?;
    let method = spec.method(&invocation.method);
    let show = method.and_then(|method| method.show.as_deref());
    Ok(match (method.is_some_and(|method| method.void), show) {
        (true, _) => format!("let _ = {call}; {ignored}"),
        (false, None) => format!("let result = {call}; {debug}(&result)"),
        (false, Some(show)) => format!("let result = {call}; {debug}(&{{ {} }})", one_line(show)),
    })
}

/// Expressions from files, without line breaks, so that a line of the program is a call.
pub(super) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
