#[derive(raddle_macros::Arbitrary)]
enum Never {}

#[derive(raddle_macros::Arbitrary)]
union Either {
    _number: u32,
    _letter: char,
}

fn main() {}
