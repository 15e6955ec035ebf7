//! Random sequences of operations in both engines.

use std::io::Write;

use sessile_testkit::differential::{Explained, Report, Tally, run_seeds};

/// The number of sequences.
const N_SEQUENCES: u64 = 2000;

/// The number of threads.
const N_THREADS: usize = 2;

/// The first seed, unless the environment sets another.
const FIRST_SEED: u64 = 20_250_101;

fn first_seed() -> u64 {
    match std::env::var("SESSILE_DIFFERENTIAL_SEED") {
        Ok(seed) => seed.parse().expect("SESSILE_DIFFERENTIAL_SEED is a number"),
        Err(_) => FIRST_SEED,
    }
}

fn run(first_seed: u64) -> Vec<Report> {
    std::thread::scope(|scope| {
        let worker = |number: u64| {
            let directory = tempfile::tempdir().unwrap();
            let seeds = (first_seed + number..first_seed + N_SEQUENCES).step_by(N_THREADS);
            run_seeds(seeds, directory.path(), &mut |_| {})
        };
        let workers: Vec<_> = (0..N_THREADS as u64).map(|number| scope.spawn(move || worker(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// Returns the test that shows an explained difference deterministically, in case no random sequence does.
fn shown_by(explained: Explained) -> &'static str {
    match explained {
        Explained::Loop => "row_28_pi_hides_a_loop_of_parents_and_never_leaves_it",
        Explained::NoIdLeaf => "row_31_pi_loses_its_place_at_a_value_without_id",
        Explained::OddEntry => "row_37_pi_fails_on_a_message_entry_without_message",
        Explained::OddEdit => "row_81_pi_removes_the_content_if_an_edit_has_none",
        Explained::OddTime => "row_58_siblings_without_a_time_come_last",
        Explained::NewlineLater => "row_11_pi_ends_the_last_line_on_opening",
        Explained::UpgradeLater => "row_67_old_compactions_give_their_first_kept_entry_as_an_index",
        Explained::OddUpgrade => "row_67_pi_fails_on_a_version_1_file_with_a_value_that_is_not_an_object",
        Explained::HeaderLater => "row_14_an_empty_file_becomes_a_session",
        Explained::LinesKept | Explained::NewerVersion => "row_68_pi_appends_to_newer_versions_and_rewrites_odd_ones",
        Explained::SpellingKept => "row_39_pi_reserialises_copied_entries",
        Explained::ByteOrderMark => "row_22_pi_refuses_a_byte_order_mark",
        Explained::NoAnswer => "row_28_a_pi_that_never_answers_is_started_again",
    }
}

#[test]
fn random_sequences_give_the_same() {
    let first_seed = first_seed();
    // Written past the test runner, which shows only the output of failing tests.
    let mut shown = std::io::stderr();
    writeln!(shown, "differential: seeds from {first_seed}; another start: SESSILE_DIFFERENTIAL_SEED=…").unwrap();
    let reports = run(first_seed);
    let mut tally = Tally::new();
    for (explained, count) in reports.iter().flat_map(|report| &report.tally) {
        *tally.entry(*explained).or_default() += count;
    }
    let n_steps: usize = reports.iter().map(|report| report.steps).sum();
    writeln!(shown, "differential: {n_steps} steps, explained differences: {tally:?}").unwrap();
    let failures: Vec<String> =
        reports.iter().filter_map(|report| report.failure.as_ref()?.to_string().into()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let n_sequences: usize = reports.iter().map(|report| report.sequences).sum();
    assert_eq!(n_sequences as u64, N_SEQUENCES);
    for report in &reports {
        assert!(report.shortest > Some(0), "a sequence did nothing");
    }
    assert!(n_steps > 3 * n_sequences, "sequences are too short on average");
    let tests: Vec<String> = crate::tests_by_row().into_values().flatten().collect();
    for explained in Explained::ALL {
        let is_shown = tally.contains_key(&explained) || tests.iter().any(|test| test == shown_by(explained));
        assert!(is_shown, "the difference {explained} never occurred");
    }
}
