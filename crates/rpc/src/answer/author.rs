//! Who has written an entry.

use sessile::json::{Json, ObjectWriter, Raw};
use sessile::team::Author;

use super::object;

/// The members that say who has written something.
const AUTHOR: &str = "author";
const DEVICE: &str = "authorDevice";

/// Adds `author`, the member of the store, and `authorDevice` if it is known.
pub(super) fn put_author(out: &mut ObjectWriter, author: &Author) {
    out.string(AUTHOR, &author.member);
    if let Some(device) = &author.device {
        out.string(DEVICE, device);
    }
}

/// An entry with `author` and `authorDevice`. The entry's own members of these names are left out, because anyone can
/// write them.
pub fn attributed_entry(entry: Raw<'_>, author: &Author) -> Json {
    object(|out| {
        for member in entry.members().filter(|member| !member.is(AUTHOR) && !member.is(DEVICE)) {
            out.member(&member.key.as_text().unwrap_or_default(), member.value);
        }
        put_author(out, author);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_cannot_name_its_author_itself() {
        let author = |device: Option<&str>| Author {
            member: "bob".to_owned(),
            device: device.map(str::to_owned),
            is_owner: false,
        };
        let text = |entry: &str, author: &Author| {
            attributed_entry(Raw::parse(entry.as_bytes()).unwrap(), author).to_text().into_owned()
        };
        assert_eq!(text(r#"{"id":"a","x":1.50}"#, &author(None)), r#"{"id":"a","x":1.50,"author":"bob"}"#);
        assert_eq!(text("{}", &author(Some("laptop"))), r#"{"author":"bob","authorDevice":"laptop"}"#);
        let forged = r#"{"author":"ada","id":"a","authorDevice":"x","\u0061uthor":"eve","authorDevice":1}"#;
        assert_eq!(text(forged, &author(None)), r#"{"id":"a","author":"bob"}"#);
    }
}
