struct Program;

#[raddle_macros::litmus(times = "1s")]
#[outcome("1", good)]
#[outcome(forbidden)]
#[outcome]
impl Program {
    #[actor]
    fn takes_more(&self, _value: u32) -> u32 {
        1
    }

    #[actor]
    async fn waits(&self) -> u32 {
        1
    }

    #[actor(once)]
    fn with_settings(&self) {}

    #[arbiter]
    fn mutable(&mut self) {}

    #[init]
    fn new(_capacity: usize) -> Self {
        Program
    }
}

struct Twice;

#[raddle_macros::litmus]
#[outcome("*", acceptable)]
impl Twice {
    #[actor]
    fn left(&self) {}

    #[arbiter]
    fn first(&self) {}

    #[arbiter]
    fn second(&self) {}
}

#[raddle_macros::litmus]
fn function() {}

fn main() {}
