#[raddle_macros::test]
async fn waits() {}

#[raddle_macros::test]
fn takes(_value: u32) {}

#[raddle_macros::test]
fn returns() -> Result<(), String> {
    Ok(())
}

#[raddle_macros::test(threads = 3)]
fn has_settings() {}

fn main() {}
