//! Generates documents from the catalogue: JSON Schema, TypeScript, and the tables of docs/rpc.md.

mod schema;
mod tables;
mod typescript;

use sessile::json::Json;

pub use schema::json_schema;
pub use tables::reference_tables;
pub use typescript::typescript;

use crate::shape::{Field, Shape};

fn quoted(text: &str) -> String {
    Json::string(text).to_text().into_owned()
}

/// Turns `get_state` and `Request` into `GetStateRequest`.
fn type_name(name: &str, suffix: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    words.collect::<String>() + suffix
}

/// The records that are sent without a request, besides pi's events.
const PUSHED: &[(&str, &[Field])] = &[
    (
        "SubscriptionEvent",
        &[
            Field::new("type", Shape::Word("event")),
            Field::new("subscription", Shape::Text),
            Field::new("cursor", Shape::Text),
            Field::optional("lost", Shape::Count),
            Field::new("event", Shape::Named("SessionEvent")),
        ],
    ),
    (
        "HookRequest",
        &[
            Field::new("type", Shape::Word("hook_request")),
            Field::new("requestId", Shape::Text),
            Field::optional("sessionPath", Shape::Text),
            Field::new("event", Shape::Named("SessionEvent")),
        ],
    ),
    ("HookCancel", &[Field::new("type", Shape::Word("hook_cancel")), Field::new("requestId", Shape::Text)]),
];
