//! P1–P6: the algebra of merging.

use std::collections::BTreeSet;

use crate::generate::{Nature, Random};
use crate::{for_all, merged, naive};

#[test]
fn agrees_with_the_rules_written_down() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|_, copies| {
            let texts: Vec<&str> = copies.iter().map(String::as_str).collect();
            assert_eq!(merged(copies), naive::merge(&texts));
        });
    }
}

#[test]
fn the_order_of_copies_does_not_matter() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|random, copies| {
            let expected = merged(copies);
            let mut copies = copies.to_vec();
            for _ in 0..4 {
                random.shuffle(&mut copies);
                assert_eq!(merged(&copies), expected);
            }
        });
    }
}

#[test]
fn the_grouping_of_copies_does_not_matter() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|random, copies| {
            let expected = merged(copies);
            for _ in 0..3 {
                assert_eq!(in_groups(random, copies), expected);
            }
        });
    }
}

/// Merges two of the copies at a time, in random order.
fn in_groups(random: &mut Random, copies: &[String]) -> String {
    let mut copies = copies.to_vec();
    while copies.len() > 1 {
        random.shuffle(&mut copies);
        let (one, other) = (copies.pop().unwrap(), copies.pop().unwrap());
        copies.push(merged(&[one, other]));
    }
    merged(&copies)
}

#[test]
fn merging_again_changes_nothing() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|_, copies| {
            let all = merged(copies);
            assert_eq!(merged(&[&all]), all);
            assert_eq!(merged(&[&all, &all]), all);
            for copy in copies {
                assert_eq!(merged(&[copy, &all]), all);
                assert_eq!(merged(&[copy, copy]), merged(&[copy]));
            }
        });
    }
}

#[test]
fn nothing_is_lost_and_nothing_is_new() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|_, copies| {
            let texts: Vec<&str> = copies.iter().map(String::as_str).collect();
            let keys = |read: naive::Read| read.entries.iter().map(|entry| entry.key).collect::<Vec<_>>();
            let before: BTreeSet<_> = keys(naive::read(&texts)).into_iter().collect();
            let all = merged(copies);
            let after = keys(naive::read(&[&all]));
            assert_eq!(after.len(), before.len(), "an entry is there twice");
            assert_eq!(after.into_iter().collect::<BTreeSet<_>>(), before);
            let ids: BTreeSet<_> = naive::read(&[&all]).entries.iter().map(|entry| entry.id.clone()).collect();
            assert_eq!(ids.len(), before.len(), "two entries have one id");
        });
    }
}
