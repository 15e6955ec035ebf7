//! The rules of merging, written down as simply as possible.

use std::collections::{BTreeMap, BTreeSet};

use sessile_core::date::parse_utc_iso;
use sessile_core::json::{Edit, Json, Raw, print};
use sha2::{Digest, Sha256};

const FIELDS: [&str; 4] = ["parentId", "targetId", "firstKeptEntryId", "fromId"];

type Key = [u8; 32];

/// An entry of a copy.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    copy: usize,
    /// The text in its original form.
    pub(crate) text: String,
    /// The id in the file.
    pub(crate) id: String,
    original: String,
    targets: [Option<usize>; 4],
    is_holder: bool,
    twin: Option<usize>,
    hash: Key,
    pub(crate) key: Key,
    is_in_loop: bool,
    is_looped: bool,
}

fn sha(parts: &[&[u8]]) -> Key {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn printed(text: &str) -> String {
    print(Raw::parse(text.as_bytes()).unwrap()).to_text().into_owned()
}

fn get(text: &str, key: &str) -> Option<String> {
    Raw::parse(text.as_bytes()).unwrap().get(key)?.as_string()
}

/// Sets a member of an object and keeps the white space around it.
fn set(text: &str, key: &str, value: &str) -> String {
    let edited = Raw::parse(text.as_bytes()).unwrap().edited(&[Edit::Set(key, Json::string(value).raw())]);
    let trimmed = text.trim_matches([' ', '\t', '\r', '\n']);
    text.replacen(trimmed, &edited.to_text(), 1)
}

/// The members of an object: their names, and their values as text.
fn members(text: &str) -> Vec<(String, String)> {
    let value = Raw::parse(text.as_bytes()).unwrap();
    let name = |key: Raw<'_>| key.to_text().into_owned();
    value.members().map(|member| (name(member.key), member.value.to_text().into_owned())).collect()
}

/// Whether the links of a line are spelled clearly.
fn is_plain(text: &str) -> bool {
    let members = members(text);
    let is_of_family = |key: &str| key.trim_matches('"').trim_end_matches('_') == "renamedFrom";
    let family: Vec<_> = members.iter().filter(|(key, _)| is_of_family(key)).collect();
    let names: BTreeSet<_> = family.iter().map(|(key, _)| key).collect();
    let once = |name: &str| members.iter().filter(|(key, _)| *key == format!("\"{name}\"")).count() < 2;
    let is_link = |key: &str| key == "\"id\"" || FIELDS.iter().any(|field| key == format!("\"{field}\""));
    let is_clear = |value: &str| !(value.starts_with('"') && value.contains('\\'));
    members.iter().all(|(key, value)| !key.contains('\\') && (!is_link(key) || is_clear(value)))
        && once("id")
        && FIELDS.iter().all(|field| once(field))
        && names.len() == family.len()
        && (family.is_empty() || (family.last().copied() == members.last() && is_clear(&family.last().unwrap().1)))
}

/// The id before the last renaming, if the last member is a mark of one.
fn mark(text: &str) -> Option<String> {
    let members = members(text);
    let (last, rest) = members.split_last()?;
    let mut free = "renamedFrom".to_owned();
    while rest.iter().any(|(key, _)| *key == format!("\"{free}\"")) {
        free.push('_');
    }
    (last.0 == format!("\"{free}\"")).then(|| Raw::parse(last.1.as_bytes()).unwrap().as_string()).flatten()
}

/// A line with its own renaming undone, and the id that it had in the file.
fn undone(line: &str) -> (String, String) {
    let plain = |text: String| if is_plain(&text) { text } else { printed(&text) };
    let mut text = plain(line.to_owned());
    let id = get(&text, "id").unwrap();
    while let Some(original) = mark(&text) {
        let begin = text
            .rfind(",\"renamedFrom")
            .or_else(|| text.rfind("\"renamedFrom").map(|at| text[..at].rfind(',').unwrap()));
        let end = text.rfind('}').unwrap();
        let without = format!("{}{}", &text[..begin.unwrap()], &text[end..]);
        text = plain(set(&without, "id", &original));
    }
    (text, id)
}

/// A line with a new id and a mark of the old one.
fn renamed(text: &str, id: &str) -> String {
    let old = get(text, "id").unwrap();
    if old == id {
        return text.to_owned();
    }
    let mut free = "renamedFrom".to_owned();
    while members(text).iter().any(|(key, _)| *key == format!("\"{free}\"")) {
        free.push('_');
    }
    let text = set(text, "id", id);
    let end = text.rfind('}').unwrap();
    format!("{},\"{free}\":{}{}", &text[..end], Json::string(&old).to_text(), &text[end..])
}

/// Everything that copies contain.
pub(crate) struct Read {
    pub(crate) entries: Vec<Entry>,
    odd: BTreeSet<String>,
    header: String,
}

pub(crate) fn read(copies: &[&str]) -> Read {
    let mut all = Read { entries: Vec::new(), odd: BTreeSet::new(), header: String::new() };
    let mut headers = Vec::new();
    for (copy, text) in copies.iter().enumerate() {
        let mut lines = text.split('\n');
        headers.push(lines.next().unwrap().to_owned());
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let value = Raw::parse(line.as_bytes()).ok();
            let is_entry = value.is_some_and(|value| {
                value.get("id").is_some_and(|id| id.as_string().is_some())
                    && value.get("type").and_then(Raw::as_string).as_deref() != Some("session")
            });
            if !is_entry {
                all.odd.insert(line.to_owned());
                continue;
            }
            let (text, id) = undone(line);
            let original = get(&text, "id").unwrap();
            let (hash, key) = ([0; 32], [0; 32]);
            all.entries.push(Entry {
                copy,
                text,
                id,
                original,
                targets: [None; 4],
                is_holder: false,
                twin: None,
                hash,
                key,
                is_in_loop: false,
                is_looped: false,
            });
        }
    }
    all.header = headers.into_iter().min().unwrap();
    all.resolve();
    all.heal();
    all.keys();
    all
}

impl Read {
    fn resolve(&mut self) {
        let entries = self.entries.clone();
        let holder = |copy: usize, id: &str| entries.iter().rposition(|entry| entry.copy == copy && entry.id == id);
        for (index, entry) in self.entries.iter_mut().enumerate() {
            entry.is_holder = holder(entry.copy, &entry.id) == Some(index);
            for (target, field) in entry.targets.iter_mut().zip(FIELDS) {
                let Some(name) = get(&entry.text, field) else { continue };
                *target =
                    if name == entry.id { Some(index) } else { holder(entry.copy, &name).filter(|_| !name.is_empty()) };
            }
        }
        for entry in &mut self.entries {
            for (target, field) in entry.targets.into_iter().zip(FIELDS) {
                let original = target.map(|target| &entries[target].original);
                if let Some(original) = original.filter(|original| get(&entry.text, field).as_ref() != Some(original)) {
                    entry.text = set(&entry.text, field, original);
                }
            }
            entry.hash = sha(&[printed(&entry.text).as_bytes()]);
        }
    }

    fn heal(&mut self) {
        let mut alone = Self { entries: self.entries.clone(), odd: BTreeSet::new(), header: String::new() };
        alone.keys();
        let key_alone = |index: usize| alone.entries[index].key;
        let mut found = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let Some(name) = get(&entry.text, "parentId").filter(|name| !name.is_empty()) else { continue };
            if entry.targets[0].is_some() {
                continue;
            }
            let others = || (0..self.entries.len()).filter(|other| self.entries[*other].copy != entry.copy);
            let is_twin =
                |other: &usize| self.entries[*other].hash == entry.hash && self.entries[*other].targets[0].is_some();
            let is_parent = |other: &usize| self.entries[*other].original == name && self.entries[*other].is_holder;
            let twin = others().filter(is_twin).min_by_key(|other| key_alone(*other));
            let parent = others().filter(is_parent).min_by_key(|other| key_alone(*other));
            found.push((index, twin, parent));
        }
        for (index, twin, parent) in found {
            self.entries[index].twin = twin;
            self.entries[index].targets[0] = parent;
        }
        // A twin has what its twin has.
        let parents: Vec<_> = self.entries.iter().map(|entry| entry.targets[0]).collect();
        for entry in &mut self.entries {
            if let Some(twin) = entry.twin {
                entry.targets[0] = parents[twin];
            }
        }
    }

    fn keys(&mut self) {
        for index in 0..self.entries.len() {
            let real = |index: usize| self.entries[index].twin.unwrap_or(index);
            // The ancestors up to a root, or up to the first one that is there already.
            let mut path = vec![real(index)];
            let mut closed = None;
            while let Some(parent) = self.entries[*path.last().unwrap()].targets[0].map(real) {
                closed = path.iter().position(|other| *other == parent);
                if closed.is_some() {
                    break;
                }
                path.push(parent);
            }
            let mut key: Option<Key> = None;
            if let Some(begin) = closed {
                let members = path.split_off(begin);
                let hashes: Vec<Key> = members.iter().map(|member| self.entries[*member].hash).collect();
                let n = hashes.len();
                let rotated = |by: usize| [&hashes[by..], &hashes[..by]].concat();
                let by = (0..n).min_by_key(|by| rotated(*by)).unwrap();
                let period = (1..=n).find(|length| n.is_multiple_of(*length) && rotated(length % n) == hashes).unwrap();
                let whole = sha(&[b"loop", &rotated(by)[..period].concat()]);
                // The member at which the path enters the loop.
                let place = (n - by) % n % period;
                key = Some(sha(&[b"in loop", &whole, &(place as u64).to_be_bytes()]));
                self.entries[index].is_looped = true;
                self.entries[index].is_in_loop = path.is_empty();
            }
            for member in path.iter().rev() {
                let hash = self.entries[*member].hash;
                key = Some(key.map_or_else(|| sha(&[&hash]), |parent| sha(&[&hash, &parent])));
            }
            self.entries[index].key = key.unwrap();
        }
    }
}

/// The canonical merge of copies of version 3.
pub(crate) fn merge(copies: &[&str]) -> String {
    let read = read(copies);
    let entries = &read.entries;
    let keys: BTreeSet<Key> = entries.iter().map(|entry| entry.key).collect();
    let rows = |key: Key| entries.iter().filter(move |entry| entry.key == key);
    let texts: BTreeMap<Key, &str> =
        keys.iter().map(|key| (*key, rows(*key).map(|entry| entry.text.as_str()).min().unwrap())).collect();
    let target = |key: Key, field: usize| rows(key).filter_map(|entry| Some(entries[entry.targets[field]?].key)).min();
    let is_in_loop = |key: Key| rows(key).any(|entry| entry.is_in_loop);
    let time = |key: Key| -> i64 {
        if rows(key).any(|entry| entry.is_looped) {
            return i64::MIN;
        }
        let mut latest = i64::MIN + 1;
        let mut at = Some(key);
        while let Some(key) = at {
            let own = get(texts[&key], "timestamp").and_then(|time| parse_utc_iso(time.as_bytes()));
            latest = own.map_or(latest, |own| own.as_ms().max(latest));
            at = target(key, 0);
        }
        latest
    };
    let times: BTreeMap<Key, i64> = keys.iter().map(|key| (*key, time(*key))).collect();
    let original = |key: Key| get(texts[&key], "id").unwrap();
    let mut used: BTreeSet<String> = keys.iter().map(|key| original(*key)).collect();
    for entry in entries {
        used.extend(
            FIELDS
                .iter()
                .zip(entry.targets)
                .filter(|(_, target)| target.is_none())
                .filter_map(|(field, _)| get(&entry.text, field)),
        );
    }
    let mut ids: BTreeMap<Key, String> = BTreeMap::new();
    for key in &keys {
        let earliest = keys
            .iter()
            .filter(|other| original(**other) == original(*key))
            .min_by_key(|other| (times[*other], **other));
        if earliest == Some(key) {
            ids.insert(*key, original(*key));
            continue;
        }
        let digest: String = sha(&[b"rename", key]).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut candidates = (0..8).map(|window| digest[window * 8..window * 8 + 8].to_owned());
        let id = candidates.find(|id| !used.contains(id)).unwrap();
        used.insert(id.clone());
        ids.insert(*key, id);
    }
    let mut lines: BTreeMap<Key, String> = BTreeMap::new();
    for key in &keys {
        let mut text = texts[key].to_owned();
        for (field, name) in FIELDS.iter().enumerate() {
            if let Some(target) = target(*key, field).filter(|target| get(&text, name).as_ref() != Some(&ids[target])) {
                text = set(&text, name, &ids[&target]);
            }
        }
        lines.insert(*key, renamed(&text, &ids[key]));
    }
    let raw: Vec<&str> = copies
        .iter()
        .flat_map(|copy| copy.split('\n').skip(1))
        .filter(|line| Raw::parse(line.as_bytes()).is_ok())
        .collect();
    let is_torn = |odd: &String| {
        let begins = |line: &str| line.starts_with(odd.as_str());
        let is_header = |line: &str| get(line, "type").as_deref() == Some("session");
        Raw::parse(odd.as_bytes()).is_err()
            && (raw.iter().any(|line| !is_header(line) && begins(line))
                || texts.values().any(|line| begins(line))
                || lines.values().any(|line| begins(line)))
    };
    let mut odd: Vec<&String> = read.odd.iter().filter(|odd| !is_torn(odd)).collect();
    odd.sort_by_key(|odd| sha(&[odd.as_bytes()]));
    let mut out = read.header.clone() + "\n";
    for odd in odd {
        out += odd;
        out.push('\n');
    }
    let mut rest: BTreeSet<Key> = keys.clone();
    while !rest.is_empty() {
        let is_ready = |key: &&Key| is_in_loop(**key) || target(**key, 0).is_none_or(|parent| !rest.contains(&parent));
        let next = *rest.iter().filter(is_ready).min_by_key(|key| (times[*key], **key)).unwrap();
        out += &lines[&next];
        out.push('\n');
        rest.remove(&next);
    }
    out
}
