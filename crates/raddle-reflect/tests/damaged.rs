//! A program whose debug information is damaged gives fewer answers, and never a panic.

mod fixture;

use fixture::Fixture;
use raddle_reflect::Program;

#[test]
fn damaged_programs_are_survived() {
    let fixture = Fixture::build(0);
    let whole = std::fs::read(&fixture.path).unwrap();
    let damaged = fixture.path.with_extension("damaged");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % below
    };
    for round in 0..24 {
        let mut bytes = whole.clone();
        // The header stays: damage there is told when the program is opened.
        for _ in 0..1 << (round % 12) {
            let at = 64 + next(bytes.len() - 64);
            bytes[at] = next(256) as u8;
        }
        if round % 5 == 0 {
            bytes.truncate(64 + next(whole.len() - 64));
        }
        std::fs::write(&damaged, &bytes).unwrap();
        let Ok(program) = Program::open(&damaged, 0) else { continue };
        program.build_id();
        for event in fixture.events.iter().step_by(5) {
            for &(return_address, frame_pointer) in &event.stack {
                let address = return_address - fixture.bias;
                program.classify(address);
                program.function(address);
                program.frames(address);
                program.local_name_via(address, frame_pointer, event.address, |at| Some(at ^ 0x10));
            }
            program.static_name(event.address.wrapping_sub(fixture.bias));
        }
    }
}
