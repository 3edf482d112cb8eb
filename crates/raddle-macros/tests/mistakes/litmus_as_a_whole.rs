struct Nobody;

#[raddle_macros::litmus]
#[outcome("*", acceptable)]
impl Nobody {}

struct Ungraded;

#[raddle_macros::litmus]
impl Ungraded {
    #[actor]
    fn left(&self) {}
}

struct Waits;

#[raddle_macros::litmus]
#[outcome("*", acceptable)]
impl Waits {
    #[actor]
    fn left(&self) -> u32 {
        1
    }

    #[signal]
    fn signal(&self) {}
}

struct WaitTogether;

#[raddle_macros::litmus]
#[outcome("*", acceptable)]
impl WaitTogether {
    #[actor]
    fn left(&self) {}

    #[actor]
    fn right(&self) {}

    #[signal]
    fn signal(&self) {}
}

fn main() {}
