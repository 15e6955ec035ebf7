//! P7–P9, P19, P20: what readers see in a merged session.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use sessile_core::EntryId;
use sessile_core::context;
use sessile_core::date::Utc;
use sessile_core::json::{Edit, Json, Raw};
use sessile_core::line::split;
use sessile_core::outline::{Outline, Row};
use sessile_core::version::StableIds;

use crate::generate::Nature;
use crate::{for_all, merged, naive};

/// A session as Sessile reads it.
pub(crate) struct Reader<'t> {
    text: &'t str,
    pub(crate) outline: Outline,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut outline = Outline::new();
        for line in split(text.as_bytes()) {
            outline.push(line, &mut StableIds);
        }
        Self { text, outline }
    }

    pub(crate) fn value(&self, row: Row) -> Json {
        let span = self.outline.span(row);
        let (begin, end) = (usize::try_from(span.offset).unwrap(), usize::try_from(span.end()).unwrap());
        Json::parse(&self.text.as_bytes()[begin..end]).unwrap()
    }

    /// The context at an entry. The ids in it may change, everything else may not.
    pub(crate) fn context(&self, id: &str) -> Vec<String> {
        let row = self.outline.find(&EntryId::from(id)).unwrap();
        let mut read = |row| Ok::<_, Infallible>(self.value(row));
        let Ok(context) = context::build(&self.outline, &self.outline.path(row), &Utc, &mut read);
        let without_ids = |message: Json| message.raw().edited(&[Edit::Remove("fromId")]).to_text().into_owned();
        context.messages.into_iter().map(without_ids).collect()
    }
}

/// For each entry of a merged session its id, by key.
fn ids_by_key(text: &str) -> BTreeMap<[u8; 32], String> {
    naive::read(&[text]).entries.into_iter().map(|entry| (entry.key, entry.id)).collect()
}

#[test]
fn every_context_of_every_copy_is_unchanged() {
    for_all(Nature::Tame, 100, &|_, copies| assert_same_contexts(copies, &merged(copies)));
}

/// The context at each entry of each copy is the same in a merged session.
pub(crate) fn assert_same_contexts(copies: &[String], all: &str) {
    let ids = ids_by_key(all);
    let after = Reader::new(all);
    for copy in copies {
        let before = Reader::new(copy);
        for entry in naive::read(&[copy]).entries {
            assert_eq!(after.context(&ids[&entry.key]), before.context(&entry.id), "at {}", entry.id);
        }
    }
}

#[test]
fn the_tree_of_each_copy_is_in_the_tree_of_all() {
    for_all(Nature::Tame, 100, &|_, copies| {
        let all = merged(copies);
        let ids = ids_by_key(&all);
        let after = Reader::new(&all).outline;
        for copy in copies {
            let before = Reader::new(copy).outline;
            let to_new: BTreeMap<_, _> =
                naive::read(&[copy]).entries.into_iter().map(|entry| (entry.id, ids[&entry.key].clone())).collect();
            for (old, new) in &to_new {
                let parent = |outline: &Outline, id: &str| {
                    let row = outline.find(&EntryId::from(id)).unwrap();
                    outline.parent(row).and_then(|row| outline.id(row)).map(|id| id.as_text().to_str().into_owned())
                };
                assert_eq!(parent(&after, new), parent(&before, old).map(|parent| to_new[&parent].clone()));
            }
        }
    });
}

#[test]
fn a_merged_session_is_in_order() {
    for_all(Nature::Tame, 100, &|_, copies| {
        let all = merged(copies);
        let reader = Reader::new(&all);
        let outline = &reader.outline;
        assert_eq!(outline.n_ids(), outline.n_entries());
        let mut times: BTreeMap<Row, i64> = BTreeMap::new();
        let mut latest = i64::MIN;
        for row in outline.entries() {
            // Parents come first, so theirs is known.
            let parent = outline.parent(row).map_or(i64::MIN, |parent| times[&parent]);
            let own = outline.time(row).map_or(parent, |time| time.as_ms().max(parent));
            times.insert(row, own);
            assert!(own >= latest, "labels and names: the last one counts");
            latest = own;
        }
    });
}

#[test]
fn each_usage_counts_once() {
    for_all(Nature::Tame, 100, &|_, copies| {
        let is_usage = |text: &str| {
            Raw::parse(text.as_bytes()).ok().and_then(|value| value.get("type")?.as_string()).as_deref()
                == Some("usage")
        };
        let texts: Vec<&str> = copies.iter().map(String::as_str).collect();
        let entries = naive::read(&texts).entries;
        let usages: BTreeSet<_> = entries.iter().filter(|entry| is_usage(&entry.text)).map(|entry| entry.key).collect();
        assert_eq!(merged(copies).lines().filter(|line| is_usage(line)).count(), usages.len());
    });
}
