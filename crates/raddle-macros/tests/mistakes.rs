//! Mistakes that people make are compile errors where they made them, in one sentence.

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
