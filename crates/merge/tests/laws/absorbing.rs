//! P18: appending what a copy lacks. P15: copies that have everything.

use std::collections::BTreeSet;

use sessile_merge::{Bytes, MergeOptions, Merger};

use crate::contexts::Reader;
use crate::generate::Nature;
use crate::{for_all, merged, naive};

/// What the first copy lacks of the others.
fn missing(copies: &[String]) -> String {
    let copies: Vec<Bytes<'_>> = copies.iter().map(|copy| Bytes(copy.as_bytes())).collect();
    let merger = Merger::read(&copies, MergeOptions { align: false }).unwrap();
    let mut out = Vec::new();
    merger
        .absorb(0)
        .write(&mut |line| {
            out.extend_from_slice(line);
            Ok(())
        })
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn superset(copies: &[&str]) -> Option<usize> {
    let copies: Vec<Bytes<'_>> = copies.iter().map(|copy| Bytes(copy.as_bytes())).collect();
    Merger::read(&copies, MergeOptions { align: false }).unwrap().superset()
}

#[test]
fn a_copy_that_absorbed_has_everything() {
    for nature in [Nature::Tame, Nature::Wild] {
        for_all(nature, 100, &|_, copies| {
            let own = if copies[0].ends_with('\n') { copies[0].clone() } else { copies[0].clone() + "\n" };
            let grown = own + &missing(copies);
            let mut with_grown = copies.to_vec();
            with_grown[0] = grown.clone();
            // The header is the least of all copies. Entries that only their own copy hides stay hidden.
            let body = |text: String| text.split_once('\n').unwrap().1.to_owned();
            assert_eq!(body(merged(&with_grown)), body(merged(copies)));
            // Lines that are there stay. So a reference that copies resolve differently may mean another entry.
            let keys =
                |texts: &[&str]| naive::read(texts).entries.iter().map(|entry| entry.key).collect::<BTreeSet<_>>();
            assert_eq!(keys(&[&grown]), keys(&copies.iter().map(String::as_str).collect::<Vec<_>>()));
            assert!(nature == Nature::Wild || body(merged(&[&grown])) == body(merged(copies)));
            assert_eq!(missing(&with_grown), "", "absorbing again");
        });
    }
}

#[test]
fn absorbing_keeps_every_context_of_the_copy() {
    for_all(Nature::Tame, 100, &|_, copies| {
        let grown = copies[0].clone() + &missing(copies);
        let (before, after) = (Reader::new(&copies[0]), Reader::new(&grown));
        for entry in naive::read(&[&copies[0]]).entries {
            assert_eq!(after.context(&entry.id), before.context(&entry.id));
        }
    });
}

#[test]
fn a_longer_copy_has_everything() {
    for_all(Nature::Tame, 100, &|random, copies| {
        let long = &copies[0];
        let ends: Vec<usize> = long.match_indices('\n').map(|(at, _)| at + 1).collect();
        let short = &long[..*random.pick(&ends)];
        assert_eq!(superset(&[short, long]), Some(usize::from(short != long)));
        assert_eq!(superset(&[long, short]), Some(0));
        let others: Vec<String> = copies.iter().map(|copy| merged(&[copy])).collect();
        let is_full = |copy: &String| *copy == merged(&others);
        let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
        let texts: Vec<&str> = others.iter().map(String::as_str).collect();
        let expected = others.iter().position(|copy| body(copy) == body(&merged(&others)) || is_full(copy));
        assert_eq!(superset(&texts), expected);
    });
}
