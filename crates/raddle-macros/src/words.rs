//! Words in one spelling that are needed in another.

use std::time::Duration;

/// `CounterTest` as `counter_test`.
pub(crate) fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, &letter) in letters.iter().enumerate() {
        if letter.is_uppercase() && index > 0 {
            let after_small = !letters[index - 1].is_uppercase() && letters[index - 1] != '_';
            let before_small = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
            if after_small || (before_small && letters[index - 1] != '_') {
                snake.push('_');
            }
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// `10s` as a duration. The same spellings as `RADDLE_BUDGET` has.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_functions() {
        for (camel, snake) in [
            ("CounterTest", "counter_test"),
            ("Counter", "counter"),
            ("MSQueue", "ms_queue"),
            ("Queue2Test", "queue2_test"),
            ("LRUCacheTest", "lru_cache_test"),
            ("already_snake", "already_snake"),
            ("Odd_Name", "odd_name"),
        ] {
            assert_eq!(snake_case(camel), snake);
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("10s"), Some(Duration::from_secs(10)));
        assert_eq!(duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        for wrong in ["10", "", "s", "ten s", "10 parsecs", "1.2.3s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
