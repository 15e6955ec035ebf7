//! The deterministic torture bench, in a size that suits every test run.
#![expect(clippy::print_stdout, reason = "prints the counts and seeds of a run")]

use sessile_testkit::torture::simulated::{Effort, RowResult, clock, damage, machine, names, power, race, sweep};

fn check(result: &RowResult) {
    println!("{result}");
    assert!(result.failures.is_empty(), "{result}");
}

/// D6, D7, E1, E2, E5.
#[test]
fn an_error_at_any_system_call_loses_nothing_and_can_be_recovered_from() {
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
fn entries_acknowledged_as_on_disk_survive_power_loss() {
    check(&power::power_loss(&Effort::default()));
}

/// D10.
#[test]
fn a_failed_sync_acknowledges_nothing() {
    check(&power::failing_syncs(&Effort::default()));
}

/// C2, C5, C7, C11.
#[test]
fn actions_of_others_between_two_system_calls_lose_nothing_acknowledged() {
    check(&race::races(&Effort::default()));
}

/// G7, G12.
#[test]
fn random_sequences_of_all_operations_and_faults_lose_nothing() {
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
fn setting_the_clock_at_any_time_loses_nothing_acknowledged() {
    check(&clock::clocks(&Effort { n_cases: 20_000, ..Effort::default() }));
}

#[test]
fn a_file_of_another_program_is_never_overwritten() {
    check(&names::taken_names(&Effort::default()));
}
