//! The deterministic torture bench, in a size that suits every test run.
#![expect(clippy::print_stdout, reason = "counts and seeds are what one wants to know")]

use sessile_testkit::torture::simulated::{Effort, RowResult, clock, damage, machine, names, power, race, sweep};

fn check(result: &RowResult) {
    println!("{result}");
    assert!(result.failures.is_empty(), "{result}");
}

/// D6, D7, E1, E2, E5.
#[test]
fn an_error_at_any_system_call_loses_nothing_and_can_be_gone_on_from() {
    check(&sweep::errors(&Effort::default()));
}

/// D1, D5.
#[test]
fn a_crash_at_any_system_call_loses_nothing() {
    check(&sweep::crashes(&Effort::default()));
}

/// D4.
#[test]
fn a_crash_at_any_system_call_of_the_recovery_from_a_crash_loses_nothing() {
    check(&sweep::double_crashes(&Effort::default()));
}

/// D8, D9.
#[test]
fn what_was_acknowledged_as_being_on_disk_survives_power_loss() {
    check(&power::power_loss(&Effort::default()));
}

/// D10.
#[test]
fn a_failed_sync_acknowledges_nothing() {
    check(&power::failing_syncs(&Effort::default()));
}

/// C2, C5, C7, C11.
#[test]
fn whatever_others_do_between_two_system_calls_nothing_acknowledged_is_lost() {
    check(&race::races(&Effort::default()));
}

/// G7, G12.
#[test]
fn random_sequences_of_everything_lose_nothing() {
    check(&machine::state_machine(&Effort::default()));
}

/// G7, G2 with more cases and other seeds.
#[test]
#[ignore = "takes minutes"]
fn many_more_random_sequences_lose_nothing() {
    let effort = Effort { seed: 1_000_000, n_cases: 50_000, n_power_losses: 300, ..Effort::default() };
    check(&machine::state_machine(&effort));
    check(&power::failing_syncs(&effort));
    check(&power::power_loss(&effort));
}

/// G5.
#[test]
fn a_file_cut_at_any_byte_can_be_written_to() {
    check(&damage::truncation(&Effort::default()));
}

/// G5.
#[test]
fn a_file_with_any_bit_flipped_can_be_written_to() {
    check(&damage::bit_flips(&Effort::default()));
}

/// C12.
#[test]
fn whenever_the_clock_is_set_nothing_acknowledged_is_lost() {
    check(&clock::clocks(&Effort { n_cases: 20_000, ..Effort::default() }));
}

#[test]
fn a_file_of_another_program_that_takes_a_name_stays() {
    check(&names::taken_names(&Effort::default()));
}
