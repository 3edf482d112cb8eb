//! Names of types as names of functions.

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
}
