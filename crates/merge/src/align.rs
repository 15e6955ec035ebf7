//! Copies that programs upgraded from version 1 on their own.
//!
//! Such entries have random ids, so two upgraded copies have no id in common. Where they begin with equal entries, the
//! copy with the smaller first id names them in both.

use std::collections::HashMap;

use crate::error::MergeError;
use crate::names::NONE;
use crate::source::Source;
use crate::summary::Aligned;
use crate::texts::Texts;

/// New original ids for the entries of some copies.
#[derive(Debug, Default)]
pub(crate) struct Alignment {
    /// For each copy: its ids, and what they become.
    pub(crate) aliases: Vec<HashMap<u32, u32>>,
    pub(crate) aligned: Vec<Aligned>,
}

/// Finds copies without common ids that begin with equal entries.
pub(crate) fn align<S: Source>(texts: &Texts<'_, '_, S>) -> Result<Alignment, MergeError<S::Error>> {
    let n_copies = texts.copies.len();
    let mut alignment = Alignment { aliases: vec![HashMap::new(); n_copies], aligned: Vec::new() };
    let families = families(texts);
    for (index, family) in families.iter().enumerate().skip(1) {
        for namer in &families[..index] {
            // The pair of copies with the longest common beginning.
            let mut best: Option<(Vec<(u32, u32)>, usize)> = None;
            for (copy, other) in family.iter().flat_map(|copy| namer.iter().map(move |other| (*copy, *other))) {
                let pairs = common_beginning(texts, copy, other)?;
                if !pairs.is_empty() && best.as_ref().is_none_or(|(longest, _)| pairs.len() > longest.len()) {
                    best = Some((pairs, other));
                }
            }
            let Some((pairs, with)) = best else { continue };
            let n_entries = pairs.len();
            // The namer's own names may be aliases already.
            let names = &alignment.aliases[with];
            let aliases: HashMap<u32, u32> =
                pairs.into_iter().map(|(own, name)| (own, names.get(&name).copied().unwrap_or(name))).collect();
            for copy in family {
                alignment.aliases[*copy].clone_from(&aliases);
                alignment.aligned.push(Aligned { copy: *copy, with, n_entries });
            }
            break;
        }
    }
    alignment.aligned.sort_by_key(|aligned| aligned.copy);
    Ok(alignment)
}

/// The copies in groups that have ids in common, in the order of their least first ids. Copies without entries are in no
/// group.
fn families<S: Source>(texts: &Texts<'_, '_, S>) -> Vec<Vec<usize>> {
    let rows = texts.rows;
    let mut family_of: Vec<usize> = (0..texts.copies.len()).collect();
    let mut owners = vec![NONE; texts.names.len()];
    for (copy, own) in rows.copies.iter().enumerate() {
        for row in own.clone() {
            let owner = &mut owners[rows.originals[row as usize] as usize];
            if *owner == NONE {
                *owner = u32::try_from(copy).unwrap_or(NONE - 1);
            } else if family_of[*owner as usize] != family_of[copy] {
                let (old, new) = (family_of[copy], family_of[*owner as usize]);
                family_of.iter_mut().filter(|family| **family == old).for_each(|family| *family = new);
            }
        }
    }
    let mut families: HashMap<usize, Vec<usize>> = HashMap::new();
    for (copy, family) in family_of.into_iter().enumerate().filter(|(copy, _)| !rows.copies[*copy].is_empty()) {
        families.entry(family).or_default().push(copy);
    }
    let first_id = |copy: &usize| {
        let first = rows.copies[*copy].start as usize;
        texts.names.text(rows.originals[first]).as_wtf8().to_vec()
    };
    let mut families: Vec<_> = families.into_values().collect();
    families.sort_by_cached_key(|family| family.iter().map(first_id).min());
    families
}

/// The original ids of the entries with which two copies begin alike, in pairs.
fn common_beginning<S: Source>(
    texts: &Texts<'_, '_, S>,
    copy: usize,
    other: usize,
) -> Result<Vec<(u32, u32)>, MergeError<S::Error>> {
    let rows = texts.rows;
    let (own, others) = (rows.copies[copy].clone(), rows.copies[other].clone());
    let mut pairs = Vec::new();
    for (a, b) in own.clone().zip(others.clone()) {
        let place = |row: u32, begin: u32| match rows.parents[row as usize] {
            NONE => None,
            parent => Some(parent - begin),
        };
        let has_same_parent = place(a, own.start) == place(b, others.start);
        let (line, other_line) = (texts.line(a)?, texts.line(b)?);
        let is_same = texts.original(a, &line)?.bare_hash() == texts.original(b, &other_line)?.bare_hash();
        if !has_same_parent || !is_same {
            break;
        }
        pairs.push((rows.originals[a as usize], rows.originals[b as usize]));
    }
    Ok(pairs)
}
