//! The system message of a compaction, which combines all system messages before it.

use std::collections::HashMap;
use std::hash::Hash;

use crate::date::Timestamp;
use crate::head::Role;
use crate::json::{JsText, Json, ObjectWriter, Raw, Shape, array_index, print};

/// Replays the system messages among `messages` into one; `None` if there are none.
///
/// Texts are joined by blank lines. A `null` section removes it, and a string sets it; a section that is removed and
/// set again moves to the end. For tools, each message first removes and then adds. Adding a known name replaces the
/// tool in place.
pub fn checkpoint<'m>(messages: impl IntoIterator<Item = Raw<'m>>, time: Timestamp) -> Option<Json> {
    let mut replay = Replay::default();
    let mut is_timed = false;
    for message in messages.into_iter().filter(|message| Role::of(message.get("role")) == Role::System) {
        replay.take(message);
        is_timed |= message.get("timestamp").is_some();
    }
    // As in pi: without a timestamp anywhere, only tools justify a message.
    (is_timed || !replay.tools.is_empty()).then(|| replay.finish(time))
}

#[derive(Default)]
struct Replay<'m> {
    texts: Vec<JsText<'m>>,
    sections: Ordered<JsText<'m>, Raw<'m>>,
    tools: Ordered<Option<JsText<'m>>, Raw<'m>>,
}

impl<'m> Replay<'m> {
    fn take(&mut self, message: Raw<'m>) {
        self.texts.extend(system_text(message).filter(|text| !text.is_empty()));
        for (name, text) in message.get("sections").into_iter().flat_map(Raw::properties) {
            if text.is_null() {
                self.sections.remove(&name);
            } else {
                self.sections.put(name, text);
            }
        }
        for tool in message.get("toolsRemoved").into_iter().flat_map(Raw::items) {
            let name = tool.get("name").and_then(Raw::as_text);
            self.tools.remove(&name);
        }
        for tool in message.get("toolsAdded").into_iter().flat_map(Raw::items) {
            self.tools.put(tool.get("name").and_then(Raw::as_text), tool);
        }
    }

    fn finish(self, time: Timestamp) -> Json {
        let content = self.texts.iter().map(JsText::as_wtf8).collect::<Vec<_>>().join(&b"\n\n"[..]);
        // JavaScript enumerates keys that look like array indices first.
        let mut named = self.sections.into_vec();
        named.sort_by_key(|(name, _)| array_index(name).map_or(u64::MAX, u64::from));
        let tools = self.tools.into_vec();
        let mut message = ObjectWriter::new();
        message.string("role", "system").text("content", JsText::from_wtf8(content));
        if !named.is_empty() {
            let mut sections = ObjectWriter::new();
            for (name, text) in &named {
                sections.member(name, print(*text).raw());
            }
            message.raw("sections", sections.finish().raw());
        }
        if !tools.is_empty() {
            // Sessile creates the message, so its parts are re-serialised, whatever their spelling in the file.
            let tools: Vec<Json> = tools.iter().map(|(_, tool)| print(*tool)).collect();
            message.array("toolsAdded", tools.iter().map(Json::raw));
        }
        message.integer("timestamp", time.as_ms()).finish()
    }
}

/// A map that keeps insertion order, like JavaScript's.
struct Ordered<K, V> {
    values: HashMap<K, (usize, V)>,
    n_puts: usize,
}

impl<K: Eq + Hash, V> Ordered<K, V> {
    /// Replaces the value of a known key in place, or adds it at the end.
    fn put(&mut self, key: K, value: V) {
        let order = self.values.get(&key).map_or(self.n_puts, |(order, _)| *order);
        self.values.insert(key, (order, value));
        self.n_puts += 1;
    }

    fn remove(&mut self, key: &K) {
        self.values.remove(key);
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn into_vec(self) -> Vec<(K, V)> {
        let mut ordered: Vec<_> = self.values.into_iter().collect();
        ordered.sort_by_key(|(_, (order, _))| *order);
        ordered.into_iter().map(|(key, (_, value))| (key, value)).collect()
    }
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { values: HashMap::new(), n_puts: 0 }
    }
}

/// The text of a system message: its string, or its text blocks joined by line breaks.
fn system_text(message: Raw<'_>) -> Option<JsText<'_>> {
    let content = message.get("content")?;
    if content.shape() == Shape::String {
        return content.as_text();
    }
    let texts: Vec<_> = (content.items())
        .filter(|block| block.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "text"))
        .filter_map(|block| block.get("text").and_then(Raw::as_text))
        .map(|text| text.as_wtf8().to_vec())
        .collect();
    Some(JsText::from_wtf8(texts.join(&b'\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(messages: &[&str]) -> Option<String> {
        let raws = messages.iter().map(|message| Raw::parse(message.as_bytes()).unwrap());
        checkpoint(raws, Timestamp::from_ms(7)).map(|message| message.to_text().into_owned())
    }

    #[test]
    fn system_messages_are_summed_up() {
        let first = r#"{"role":"system","content":"base","sections":{"a":"A","b":"B"},"toolsAdded":[{"name":"t1"},{"name":"t2"}],"timestamp":1}"#;
        let second = r#"{"role":"system","content":[{"type":"text","text":"more"},{"type":"image"},{"type":"text","text":"lines"}],"sections":{"a":null,"c":"C"},"toolsRemoved":[{"name":"t1"}]}"#;
        let user = r#"{"role":"user","content":"no"}"#;
        assert_eq!(
            replayed(&[first, user, second]).unwrap(),
            r#"{"role":"system","content":"base\n\nmore\nlines","sections":{"b":"B","c":"C"},"toolsAdded":[{"name":"t2"}],"timestamp":7}"#
        );
        let third =
            r#"{"role":"system","content":"","sections":{"a":"again","2":"two"},"toolsAdded":[{"name":"t2","new":1}]}"#;
        assert_eq!(
            replayed(&[first, second, third]).unwrap(),
            r#"{"role":"system","content":"base\n\nmore\nlines","sections":{"2":"two","b":"B","c":"C","a":"again"},"toolsAdded":[{"name":"t2","new":1}],"timestamp":7}"#
        );
    }

    #[test]
    fn a_repeated_section_keeps_its_first_position_and_last_text() {
        let message = r#"{"role":"system","content":"","sections":{"a":null,"b":"B","\u0061":"A","3":"x","b":"C","c":"D","c":null},"timestamp":1}"#;
        assert_eq!(
            replayed(&[message]).unwrap(),
            r#"{"role":"system","content":"","sections":{"3":"x","a":"A","b":"C"},"timestamp":7}"#
        );
    }

    #[test]
    fn without_system_messages_there_is_no_checkpoint() {
        assert_eq!(replayed(&[r#"{"role":"user"}"#]), None);
        assert_eq!(replayed(&[r#"{"role":"system","content":"x","sections":{"a":"A"}}"#]), None);
        let tool = r#"{"role":"system","content":"x","toolsAdded":[{"name":"t"}]}"#;
        assert!(replayed(&[tool]).is_some());
        assert_eq!(replayed(&[tool, r#"{"role":"system","toolsRemoved":[{"name":"t"}]}"#]), None);
        assert_eq!(
            replayed(&[r#"{"role":"system","timestamp":null}"#]).unwrap(),
            r#"{"role":"system","content":"","timestamp":7}"#
        );
    }
}
