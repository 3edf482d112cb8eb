//! Impl blocks marked `#[raddle::test]`: what stands in them, and what is wrong with it.

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Ident, ImplItem, ImplItemFn, ItemImpl, Result, Type};

use crate::operation::Operation;
use crate::settings::{self, Known, Setting, Takes};
use crate::words;

/// The settings of a test.
const KNOWN: &[Known] = &[
    Known::new(NAME, Takes::Text("\"counter\"")),
    Known::new(MANUAL, Takes::Nothing),
    Known::new(FAILS, Takes::Variant("Kind", "IncorrectResults")),
    Known::new(SPEC, Takes::Type("VecDeque<i32>")),
    Known::new("budget", Takes::Duration),
    Known::new("iterations", Takes::Value("100")),
    Known::new("executions", Takes::Value("10_000")),
    Known::new("threads", Takes::Value("3")),
    Known::new(OPERATIONS, Takes::Value("5")),
    Known::new("before", Takes::Value("5")),
    Known::new("after", Takes::Value("5")),
    Known::new("seed", Takes::Value("1")),
    Known::new("contract", Takes::Variant("Contract", "Quiescent")),
    Known::new("strategy", Takes::Variant("Strategy", "Pct(3)")),
    Known::new("mode", Takes::Variant("Mode", "ModelChecking")),
    Known::new("states_by", Takes::Value("|test| test.0.len()")),
    Known::new("obstruction_free", Takes::Nothing),
    Known::new("lock_free", Takes::Value("1000")),
    Known::new("minimize", Takes::Value("false")),
    Known::new("explorer", Takes::Value("|explorer| explorer.max_steps(1_000_000)")),
    Known::repeated("scenario", Takes::Value("raddle::Scenario::new().thread([..]).thread([..])")),
];

/// Settings that are no method of the builder: the name of the test function, whether to leave that out, the failure that
/// the test is there to find, and the type that specifies.
const NAME: &str = "name";
const MANUAL: &str = "manual";
const FAILS: &str = "fails";
const SPEC: &str = "spec";
/// Called `operations_per_thread` there.
pub(crate) const OPERATIONS: &str = "operations";

/// A test as it was written.
pub(crate) struct Definition {
    /// The impl block without Raddle's attributes.
    pub(crate) block: ItemImpl,
    /// Attributes for the test function.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) init: Option<Hook>,
    pub(crate) setup: Option<Hook>,
    pub(crate) validate: Option<Hook>,
    pub(crate) teardown: Option<Hook>,
}

/// A function that is called around the operations.
pub(crate) struct Hook {
    pub(crate) name: Ident,
    /// Whether it takes `&self`.
    pub(crate) on_object: bool,
}

impl Definition {
    /// Reads an impl block. It is returned without Raddle's attributes in any case, so that mistakes in those do not look like
    /// mistakes in the code.
    pub(crate) fn parse(settings: TokenStream, block: ItemImpl) -> (ItemImpl, Result<Definition>) {
        let mut definition = Definition {
            block,
            attributes: Vec::new(),
            settings: Vec::new(),
            operations: Vec::new(),
            init: None,
            setup: None,
            validate: None,
            teardown: None,
        };
        let mut mistakes = Mistakes::default();
        mistakes
            .of(settings::of_tokens(settings, KNOWN))
            .into_iter()
            .for_each(|all| definition.settings = all);
        mistakes.of(check_block(&definition.block));
        definition.take_test_attributes();
        definition.read_methods(&mut mistakes);
        if mistakes.0.is_none() {
            mistakes.of(definition.check());
        }
        match mistakes.0 {
            None => (definition.block.clone(), Ok(definition)),
            Some(error) => (definition.block, Err(error)),
        }
    }

    pub(crate) fn object(&self) -> &Type {
        &self.block.self_ty
    }

    /// The name of the test function, if there is to be one.
    pub(crate) fn function(&self) -> Option<Ident> {
        if self.setting(MANUAL).is_some() {
            return None;
        }
        let span = self.object().span();
        if let Some(name) = self.setting(NAME).and_then(Setting::text) {
            return Some(Ident::new(&name.value(), name.span()));
        }
        let Type::Path(path) = self.object() else { return None };
        let name = &path.path.segments.last()?.ident;
        Some(Ident::new(&words::snake_case(&name.to_string()), span))
    }

    /// The failure that the test is there to find.
    pub(crate) fn fails(&self) -> Option<TokenStream> {
        self.setting(FAILS).map(Setting::expression)
    }

    /// The type that specifies, if that is not the object's.
    pub(crate) fn spec(&self) -> Option<TokenStream> {
        self.setting(SPEC).map(Setting::expression)
    }

    /// The settings that are methods of the builder.
    pub(crate) fn options(&self) -> impl Iterator<Item = &Setting> {
        let own = [NAME, MANUAL, FAILS, SPEC];
        self.settings.iter().filter(move |setting| !own.iter().any(|own| setting.name == own))
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        settings::find(&self.settings, name)
    }

    /// What libtest should know goes to the test function; conditions count for both.
    fn take_test_attributes(&mut self) {
        for attribute in std::mem::take(&mut self.block.attrs) {
            let is = |name| attribute.path().is_ident(name);
            if is("should_panic") || is("ignore") {
                self.attributes.push(attribute);
                continue;
            }
            if is("cfg") {
                self.attributes.push(attribute.clone());
            }
            self.block.attrs.push(attribute);
        }
    }

    fn read_methods(&mut self, mistakes: &mut Mistakes) {
        let mut items = std::mem::take(&mut self.block.items);
        for item in &mut items {
            let ImplItem::Fn(method) = item else { continue };
            for attribute in take_own_attributes(method) {
                mistakes.of(self.read_method(&attribute, method));
            }
            // What a mistake left on the arguments.
            for input in &mut method.sig.inputs {
                if let syn::FnArg::Typed(argument) = input {
                    argument.attrs.retain(|attribute| !attribute.path().is_ident("arg"));
                }
            }
        }
        self.block.items = items;
    }

    fn read_method(&mut self, attribute: &Attribute, method: &mut ImplItemFn) -> Result<()> {
        let role = attribute.path().require_ident()?.to_string();
        let place = match role.as_str() {
            "operation" => {
                self.operations.push(Operation::parse(attribute, method)?);
                return Ok(());
            }
            "init" => &mut self.init,
            "setup" => &mut self.setup,
            "validate" => &mut self.validate,
            _ => &mut self.teardown,
        };
        if let Some(first) = place {
            let first = &first.name;
            return Err(Error::new_spanned(
                attribute,
                format!("a test has one `#[{role}]`: `{first}` is it already"),
            ));
        }
        *place = Some(Hook::parse(&role, attribute, method)?);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.operations.is_empty() {
            return Err(Error::new_spanned(
                self.object(),
                "there are no operations: mark the methods that threads call with `#[operation]`",
            ));
        }
        self.check_names()?;
        self.check_groups()?;
        self.check_spec()?;
        if let (Some(manual), Some(other)) =
            (self.setting(MANUAL), self.setting(NAME).or(self.setting(FAILS)))
        {
            let (manual, other) = (&manual.name, &other.name);
            return Err(Error::new_spanned(
                other,
                format!("`{manual}` makes no test function, so `{other}` has no meaning"),
            ));
        }
        Ok(())
    }

    fn check_names(&self) -> Result<()> {
        for (index, operation) in self.operations.iter().enumerate() {
            let name = operation.shown_name();
            if self.operations[..index].iter().any(|earlier| earlier.shown_name().value() == name.value()) {
                return Err(Error::new(
                    name.span(),
                    format!("two operations are called `{}`: name one of them otherwise", name.value()),
                ));
            }
        }
        Ok(())
    }

    /// Each group has a thread of its own choice; every thread needs something to do.
    fn check_groups(&self) -> Result<()> {
        let mut groups: Vec<String> = Vec::new();
        for operation in &self.operations {
            let Some(group) = operation.setting("group").and_then(Setting::text) else { return Ok(()) };
            if !groups.contains(&group.value()) {
                groups.push(group.value());
            }
        }
        let setting = self.setting("threads");
        let threads = setting.map_or(Some(2), Setting::number);
        match threads {
            Some(threads) if threads > groups.len() => Err(Error::new(
                setting.map_or_else(|| self.object().span(), |setting| setting.name.span()),
                format!(
                    "{threads} threads cannot be filled: all operations belong to {} group(s), and a group stays on one \
                     thread; use fewer threads, or an operation without group",
                    groups.len()
                ),
            )),
            _ => Ok(()),
        }
    }

    fn check_spec(&self) -> Result<()> {
        if self.setting(SPEC).is_some() {
            return Ok(());
        }
        for operation in &self.operations {
            if let Some(blocking) = operation.setting("blocking") {
                return Err(Error::new(
                    blocking.name.span(),
                    "when this operation may wait has to be specified: add `spec = SomeType` to `#[raddle::test]`, whose \
                     method of this name returns `None` while it has to wait",
                ));
            }
            if let Some(spec) = operation.spec() {
                return Err(Error::new(
                    spec.name.span(),
                    "there is no specification that could do this: add `spec = SomeType` to `#[raddle::test]`",
                ));
            }
        }
        Ok(())
    }
}

impl Hook {
    fn parse(role: &str, attribute: &Attribute, method: &ImplItemFn) -> Result<Hook> {
        settings::of_attribute(attribute, &[])?;
        let signature = &method.sig;
        if let Some(asyncness) = &signature.asyncness {
            return Err(Error::new_spanned(
                asyncness,
                format!(
                    "`#[{role}]` cannot wait, as nothing else runs yet or any more: make it an ordinary function"
                ),
            ));
        }
        let receiver = signature.receiver();
        let others = signature.inputs.len() - usize::from(receiver.is_some());
        let shared =
            receiver.is_none_or(|receiver| matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, None)));
        let expected = match role {
            "init" => "fn new() -> Self",
            "validate" => "fn check(&self)",
            _ => "fn prepare(&self)",
        };
        let fits = match role {
            "init" => receiver.is_none(),
            "validate" => receiver.is_some(),
            _ => true,
        };
        if others > 0 || !shared || !fits {
            return Err(Error::new_spanned(
                &signature.inputs,
                format!("`#[{role}]` belongs on a function such as `{expected}`"),
            ));
        }
        Ok(Hook { name: signature.ident.clone(), on_object: receiver.is_some() })
    }
}

pub(crate) fn check_block(block: &ItemImpl) -> Result<()> {
    if let Some((of, _)) = &block.trait_ {
        return Err(Error::new_spanned(
            of,
            "the operations of a test are methods of its own type: use `impl Type`, without a trait",
        ));
    }
    if let Some(parameter) = block.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "a test has no parameters: write the types that it should use, as in `impl QueueTest<i32>`",
        ));
    }
    match &*block.self_ty {
        Type::Path(_) => Ok(()),
        other => Err(Error::new_spanned(other, "a test is a struct or enum of your own")),
    }
}

/// Attributes of methods that are Raddle's.
fn take_own_attributes(method: &mut ImplItemFn) -> Vec<Attribute> {
    const OWN: [&str; 5] = ["operation", "init", "setup", "validate", "teardown"];
    let is_own = |attribute: &Attribute| OWN.iter().any(|own| attribute.path().is_ident(own));
    let (own, others) = std::mem::take(&mut method.attrs).into_iter().partition(is_own);
    method.attrs = others;
    own
}

/// All mistakes, so that one run of the compiler shows them.
#[derive(Default)]
pub(crate) struct Mistakes(Option<Error>);

impl Mistakes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn into_error(self) -> Option<Error> {
        self.0
    }

    /// Keeps the mistake, if there is one.
    pub(crate) fn of<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                match &mut self.0 {
                    None => self.0 = Some(error),
                    Some(first) => first.combine(error),
                }
                None
            }
        }
    }
}
