//! Encodes what was collected from a session's lines.

use sessile_core::date::Timestamp;
use sessile_core::info::{
    Collected, FirstValue, HeaderInfo, MAX_MODELS, ModelName, RoleCounts, SessionFacts, TokenCounts,
};

use crate::bytes::{Reader, Writer};

/// Values of the first byte, which describe the first value of the lines.
const NOT_YET_SEEN: u8 = 0;
pub(super) const NO_HEADER: u8 = 1;
const HEADER: u8 = 2;

/// Encodes the state.
pub(super) fn encode(collected: &Collected) -> Vec<u8> {
    let mut out = Writer::default();
    match &collected.first {
        FirstValue::NotYetSeen => out.byte(NOT_YET_SEEN),
        FirstValue::NoHeader => out.byte(NO_HEADER),
        FirstValue::Header(header) => {
            out.byte(HEADER);
            encode_header(&mut out, header);
        }
    }
    out.option(collected.name.as_ref(), |out, name| out.bytes(name.as_wtf8()));
    out.byte(u8::from(collected.is_archived));
    out.option(collected.first_message.as_ref(), |out, text| out.bytes(text.as_wtf8()));
    out.option(collected.last_activity, Writer::float);
    out.option(collected.last_id.as_ref(), |out, id| out.bytes(id));
    encode_facts(&mut out, &collected.facts);
    out.0
}

/// Decodes a state; none if the bytes are not one.
pub(super) fn decode(bytes: &[u8]) -> Option<Collected> {
    let mut from = Reader::new(bytes);
    let first = decode_first(&mut from)?;
    let collected = Collected {
        first,
        name: from.option(Reader::text)?,
        is_archived: from.byte()? != 0,
        first_message: from.option(Reader::text)?,
        last_activity: from.option(Reader::float)?,
        last_id: from.option(|from| from.bytes().map(<[u8]>::to_vec))?,
        facts: decode_facts(&mut from)?,
    };
    from.is_at_end().then_some(collected)
}

/// Decodes only the first value of the lines.
pub(super) fn decode_first(from: &mut Reader<'_>) -> Option<FirstValue> {
    match from.byte()? {
        NOT_YET_SEEN => Some(FirstValue::NotYetSeen),
        NO_HEADER => Some(FirstValue::NoHeader),
        HEADER => decode_header(from).map(FirstValue::Header),
        _ => None,
    }
}

fn encode_header(out: &mut Writer, header: &HeaderInfo) {
    out.number(header.offset);
    out.bytes(header.id.as_str().as_bytes());
    out.bytes(header.cwd.as_bytes());
    out.option(header.parent_session.as_ref(), |out, parent| out.bytes(parent.as_bytes()));
    out.option(header.created.map(Timestamp::as_ms), Writer::signed);
    out.byte(u8::from(header.is_stated));
    out.byte(u8::from(header.is_redacted));
    out.option(header.imported_from.as_ref(), |out, agent| out.bytes(agent.as_bytes()));
}

fn decode_header(from: &mut Reader<'_>) -> Option<HeaderInfo> {
    Some(HeaderInfo {
        offset: from.number()?,
        id: from.string()?.into(),
        cwd: from.string()?,
        parent_session: from.option(Reader::string)?,
        created: from.option(Reader::signed)?.map(Timestamp::from_ms),
        is_stated: from.byte()? != 0,
        is_redacted: from.byte()? != 0,
        imported_from: from.option(Reader::string)?,
    })
}

fn encode_facts(out: &mut Writer, facts: &SessionFacts) {
    out.number(facts.entries);
    facts.messages.to_numbers().into_iter().for_each(|count| out.number(count));
    out.number(facts.compactions);
    out.number(facts.models.len() as u64);
    for model in &facts.models {
        out.bytes(model.provider.as_wtf8());
        out.bytes(model.model.as_wtf8());
    }
    let TokenCounts { input, output, cache_read, cache_write } = facts.tokens;
    for number in [input, output, cache_read, cache_write, facts.cost] {
        out.float(number);
    }
    out.option(facts.newest_entry.map(Timestamp::as_ms), Writer::signed);
    out.number(facts.unreadable_lines);
    out.byte(u8::from(facts.has_branches));
    out.byte(u8::from(facts.is_unanswered));
    out.byte(u8::from(facts.had_private_label));
}

fn decode_facts(from: &mut Reader<'_>) -> Option<SessionFacts> {
    let entries = from.number()?;
    let mut counts = [0; RoleCounts::N_ROLES];
    for count in &mut counts {
        *count = from.number()?;
    }
    let compactions = from.number()?;
    let n_models = from.length()?;
    // Bounded, because a corrupt count may be any number.
    let mut models = Vec::with_capacity(n_models.min(MAX_MODELS));
    for _ in 0..n_models {
        models.push(ModelName { provider: from.text()?, model: from.text()? });
    }
    Some(SessionFacts {
        entries,
        messages: RoleCounts::from_numbers(counts),
        compactions,
        models,
        tokens: TokenCounts {
            input: from.float()?,
            output: from.float()?,
            cache_read: from.float()?,
            cache_write: from.float()?,
        },
        cost: from.float()?,
        newest_entry: from.option(Reader::signed)?.map(Timestamp::from_ms),
        unreadable_lines: from.number()?,
        has_branches: from.byte()? != 0,
        is_unanswered: from.byte()? != 0,
        had_private_label: from.byte()? != 0,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sessile_core::json::{JsText, Raw};

    use super::*;

    fn text() -> impl Strategy<Value = JsText<'static>> {
        let surrogate = Raw::parse(br#""\ud800""#).unwrap().as_text().unwrap().into_owned();
        prop_oneof![".{0,20}".prop_map(JsText::from), Just(surrogate)]
    }

    fn first() -> impl Strategy<Value = FirstValue> {
        let texts = any::<[Option<String>; 2]>();
        let header = (any::<u64>(), ".*", ".*", texts, any::<Option<i64>>(), any::<[bool; 2]>());
        let header =
            header.prop_map(|(offset, id, cwd, [parent_session, imported_from], created, [is_stated, is_redacted])| {
                FirstValue::Header(HeaderInfo {
                    offset,
                    id: id.into(),
                    cwd,
                    parent_session,
                    created: created.map(Timestamp::from_ms),
                    is_stated,
                    is_redacted,
                    imported_from,
                })
            });
        prop_oneof![Just(FirstValue::NotYetSeen), Just(FirstValue::NoHeader), header]
    }

    prop_compose! {
        fn facts()(
            numbers in any::<[u64; 14]>(),
            models in proptest::collection::vec((text(), text()), 0..4),
            floats in any::<[f32; 5]>(),
            newest_entry in any::<Option<i64>>(),
            [has_branches, is_unanswered, had_private_label] in any::<[bool; 3]>(),
        ) -> SessionFacts {
            let mut counts = [0; RoleCounts::N_ROLES];
            counts.copy_from_slice(&numbers[..RoleCounts::N_ROLES]);
            let [input, output, cache_read, cache_write, cost] = floats.map(f64::from);
            SessionFacts {
                entries: numbers[11],
                messages: RoleCounts::from_numbers(counts),
                compactions: numbers[12],
                models: models.into_iter().map(|(provider, model)| ModelName { provider, model }).collect(),
                tokens: TokenCounts { input, output, cache_read, cache_write },
                cost,
                newest_entry: newest_entry.map(Timestamp::from_ms),
                unreadable_lines: numbers[13],
                has_branches,
                is_unanswered,
                had_private_label,
            }
        }
    }

    prop_compose! {
        fn collected()(
            first in first(),
            name in proptest::option::of(text()),
            is_archived in any::<bool>(),
            first_message in proptest::option::of(text()),
            last_activity in any::<Option<f32>>(),
            last_id in any::<Option<Vec<u8>>>(),
            facts in facts(),
        ) -> Collected {
            let last_activity = last_activity.map(f64::from);
            Collected { first, name, is_archived, first_message, last_activity, last_id, facts }
        }
    }

    proptest! {
        #[test]
        fn a_state_is_decoded_whole_or_not_at_all(collected in collected(), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&collected);
            // Compared as text, because NaN does not equal itself.
            prop_assert_eq!(format!("{:?}", decode(&bytes)), format!("{:?}", Some(&collected)));
            prop_assert_eq!(decode_first(&mut Reader::new(&bytes)), Some(collected.first));
            prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())]), None);
        }
    }
}
