//! The secrets of a line.

use sessile_core::head::{self, Kind, Parsed, Role};
use sessile_core::json::Raw;

use crate::line::{Piece, Seen, each_string};
use crate::pairing::{IsSource, Pairing};
use crate::picture::texts_in;
use crate::place::{Area, Class};
use crate::placeholder::made_parts;
use crate::signature::Signature;
use crate::spans::any_contains;
use crate::{Finding, Origin, Scanner, Tier};

/// Finds secrets in a text. A [`Scanner`] does, and so does any function.
pub trait FindSecrets {
    /// Returns the secrets of a text.
    fn find_secrets(&self, text: &str, origin: Origin) -> Vec<Finding>;
}

impl FindSecrets for Scanner {
    fn find_secrets(&self, text: &str, origin: Origin) -> Vec<Finding> {
        self.find(text, origin)
    }
}

impl<F: Fn(&str, Origin) -> Vec<Finding>> FindSecrets for F {
    fn find_secrets(&self, text: &str, origin: Origin) -> Vec<Finding> {
        self(text, origin)
    }
}

/// A secret and its place in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The id of the entry, if it has one and the id is not a secret itself.
    pub entry_id: Option<String>,
    /// The type of the line; `None` for a line that is not JSON.
    pub kind: Option<Kind>,
    /// The role of its message.
    pub role: Role,
    /// The JSON pointer of the string. A key that holds a secret is `…`. After `#` comes the pointer in a signature
    /// that is JSON itself.
    pub pointer: String,
    /// Whether the string is an id or a word of the format, which no copy changes. Such a session cannot be copied.
    pub is_kept: bool,
    /// The secret.
    pub finding: Finding,
}

/// Returns the secrets of a line of a session. The lines before it must have gone through the same `pairing`.
pub fn scan_line(find: &dyn FindSecrets, is_source: IsSource<'_>, pairing: &mut Pairing, line: &[u8]) -> Vec<Located> {
    let mut located = Vec::new();
    let Ok(value) = Raw::parse(line) else {
        let found = secrets_in(find, &String::from_utf8_lossy(line), Origin::Ordinary);
        let locate = |finding| Located {
            entry_id: None,
            kind: None,
            role: Role::None,
            pointer: String::new(),
            is_kept: false,
            finding,
        };
        return found.into_iter().map(locate).collect();
    };
    let origin = pairing.read(value, is_source);
    let head = match head::read(line) {
        Parsed::Value(head) => Some(head),
        _ => None,
    };
    let id = head.as_ref().and_then(|head| head.id.as_ref()).map(|id| id.to_str().into_owned());
    let entry_id = id.filter(|id| certain(find, id).is_empty());
    let kind = Some(head.as_ref().map_or(Kind::NotObject, |head| head.kind));
    let role = head.as_ref().map_or(Role::None, |head| head.role);
    each_string(value, Area::Line, |piece| {
        let found = findings_in(find, piece, origin);
        let seen = if found.is_empty() { Seen::Plain } else { Seen::Secret };
        for (pointer, finding) in found {
            let is_kept = piece.class == Class::Kept;
            located.push(Located { entry_id: entry_id.clone(), kind, role, pointer, is_kept, finding });
        }
        seen
    });
    located
}

/// The secrets of a text, except inside of what a redaction wrote.
pub(crate) fn secrets_in(find: &dyn FindSecrets, text: &str, origin: Origin) -> Vec<Finding> {
    let mut found = find.find_secrets(text, origin);
    if !found.is_empty() {
        let made = made_parts(text);
        found.retain(|finding| !any_contains(&made, &finding.range));
    }
    found
}

/// The findings that certainly are secrets.
pub(crate) fn certain(find: &dyn FindSecrets, text: &str) -> Vec<Finding> {
    let found = secrets_in(find, text, Origin::Ordinary).into_iter();
    found.filter(|finding| finding.tier == Tier::Certain).collect()
}

/// The length up to which a sealed signature is compared with the formats of keys.
const MAX_KEY: usize = 256;

/// The secret that a sealed signature is as a whole. No true signature has the format of a key, but a part of one can.
pub(crate) fn whole_secret(find: &dyn FindSecrets, signature: &str) -> Option<Finding> {
    let is_whole = |finding: &Finding| finding.via.is_none() && finding.range == (0..signature.len());
    if signature.len() > MAX_KEY { None } else { certain(find, signature).into_iter().find(is_whole) }
}

fn findings_in(find: &dyn FindSecrets, piece: &Piece<'_, '_>, origin: Origin) -> Vec<(String, Finding)> {
    let text = piece.text.to_str();
    let here = |found: Vec<Finding>| -> Vec<(String, Finding)> {
        found.into_iter().map(|finding| (piece.pointer(), finding)).collect()
    };
    match piece.class {
        Class::Kept => here(certain(find, &text)),
        Class::Text => here(secrets_in(find, &text, origin)),
        Class::Signature => match Signature::of(&text) {
            Signature::Opaque => here(whole_secret(find, &text).into_iter().collect()),
            Signature::Text => here(secrets_in(find, &text, origin)),
            Signature::Items(items) => {
                let mut found = Vec::new();
                each_string(items.raw(), Area::Free, |inner| {
                    let in_item = secrets_in(find, &inner.text.to_str(), origin);
                    let seen = if in_item.is_empty() { Seen::Plain } else { Seen::Secret };
                    let pointer = |inner: &Piece<'_, '_>| format!("{}#{}", piece.pointer(), inner.pointer());
                    found.extend(in_item.into_iter().map(|finding| (pointer(inner), finding)));
                    seen
                });
                found
            }
        },
        Class::Data => match texts_in(&text) {
            Some(texts) => here(texts.iter().flat_map(|text| secrets_in(find, text, Origin::Ordinary)).collect()),
            None => here(secrets_in(find, &text, origin)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECRET_TOOL, finder, is_source};

    fn pointers(line: &str) -> Vec<String> {
        let mut pairing = Pairing::default();
        scan_line(&finder, &is_source, &mut pairing, line.as_bytes()).into_iter().map(|found| found.pointer).collect()
    }

    #[test]
    fn places_are_named() {
        let line = r#"{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"thinking","thinking":"SECRET-1","thinkingSignature":"{\"id\":\"rs\",\"summary\":[{\"text\":\"\\u0053ECRET-2\"}]}"},{"type":"toolCall","id":"c","arguments":{"SECRET-3":{"k":"x SECRET-4"}}}]}}"#;
        let mut pairing = Pairing::default();
        let found = scan_line(&finder, &is_source, &mut pairing, line.as_bytes());
        let pointers: Vec<&str> = found.iter().map(|found| found.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/message/content/0/thinking",
                "/message/content/0/thinkingSignature#/summary/0/text",
                "/message/content/1/arguments/…",
                "/message/content/1/arguments/…/k",
            ]
        );
        assert!(found.iter().all(|found| found.entry_id.as_deref() == Some("a") && !found.is_kept));
        assert_eq!((found[0].kind, found[0].role), (Some(Kind::Message), Role::Assistant));
        assert_eq!(found[3].finding.range, 2..10);
    }

    #[test]
    fn seals_are_not_scanned() {
        let block = |signature: &str| {
            format!(
                r#"{{"type":"message","message":{{"content":[{{"type":"thinking","thinkingSignature":"{signature}"}}]}}}}"#
            )
        };
        assert!(pointers(&block("EqSECRET-1==")).is_empty());
        assert_eq!(pointers(&block("no seal: SECRET-1")).len(), 1);
        assert_eq!(pointers(&block("SECRET-1")).len(), 1);
    }

    #[test]
    fn secret_ids_are_reported_without_their_value() {
        let mut pairing = Pairing::default();
        let found = scan_line(&finder, &is_source, &mut pairing, br#"{"type":"label","id":"SECRET-1","label":"x"}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].is_kept && found[0].entry_id.is_none());
        assert!(!format!("{found:?}").contains("SECRET-1"));
    }

    #[test]
    fn lines_that_are_not_json_are_one_text() {
        assert_eq!(pointers("{\"torn\":\"SECRET-1"), [""]);
    }

    #[test]
    fn results_of_secret_sources_are_scanned_as_such() {
        let mut pairing = Pairing::default();
        let call = format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c1","name":"{SECRET_TOOL}","arguments":{{}}}}]}}}}"#
        );
        let result = |id: &str| {
            format!(
                r#"{{"type":"message","message":{{"role":"toolResult","toolCallId":"{id}","content":"value=SOURCE"}}}}"#
            )
        };
        let mut scan = |line: &str| scan_line(&finder, &is_source, &mut pairing, line.as_bytes()).len();
        assert_eq!(scan(&result("c1")), 0);
        assert_eq!(scan(&call), 0);
        assert_eq!(scan(&result("c1")), 1);
        assert_eq!(scan(&result("c2")), 0);
        let bash = |command: &str| {
            format!(
                r#"{{"type":"message","message":{{"role":"bashExecution","command":"{command}","output":"SOURCE"}}}}"#
            )
        };
        assert_eq!(scan(&bash("printenv")), 1);
        assert_eq!(scan(&bash("ls")), 0);
    }
}
