//! JSON as JavaScript reads and prints it, without losing a byte.
//!
//! Session files hold values that general JSON libraries reject or change: lone surrogates (`"\ud800"`), numbers beyond
//! any float (`1e999`), nesting of any depth, duplicate keys, bytes that are not UTF-8. JavaScript accepts all of them,
//! and so does this module:
//!
//! - [`Raw`] is a borrowed piece of valid JSON text with lazy, typed access;
//! - [`Json`] is the owned version;
//! - [`Token`] is a part of a value, for converting values into those of another language;
//! - [`print`](fn@print) returns the text of `JSON.stringify(JSON.parse(text))`;
//! - [`ObjectWriter`] and [`Edit`] create and change objects as text;
//! - [`harmless()`] escapes the characters that control a terminal.
//!
//! Every function here is iterative: depth costs memory, never stack.

mod coerce;
mod document;
mod edit;
mod from;
mod harmless;
mod number;
mod printed;
mod raw;
mod scan;
mod text;
mod tokens;
mod wide;
mod write;

pub(crate) use document::array_index;
pub use document::{print, print_owned, printed_bytes};
pub use edit::Edit;
pub(crate) use edit::offset_in;
pub use harmless::harmless;
pub use number::number_text;
pub(crate) use raw::key_is;
pub use raw::{Json, Member, NotJson, Raw, Shape};
pub(crate) use scan::{Members, NoMembers, scan, scan_value, skip_space};
pub use text::JsText;
pub use tokens::Token;
pub use write::{ObjectWriter, write_string, write_text};
