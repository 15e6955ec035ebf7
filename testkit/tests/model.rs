//! Random operations of three processes, checked against a model of a store.
#![expect(clippy::disallowed_methods, reason = "environment variables set the number of cases")]

use sessile_testkit::torture::simulated::{Effort, model};

/// H14. `SESSILE_HISTORIES` sets the number of histories, and `SESSILE_SEED` the first seed.
#[test]
fn every_history_of_three_processes_is_equivalent_to_a_serial_order() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let effort =
        Effort { seed: number("SESSILE_SEED", 1), n_cases: number("SESSILE_HISTORIES", 8_000), ..Effort::default() };
    let result = model::histories(&effort);
    println!("{result}");
    assert!(result.failures.is_empty(), "{} of {} histories failed", result.failures.len(), result.cases);
}
