//! Sessions as web pages.
//!
//! [`export_html`] writes a page that needs no server. Everything that a reader sees of an entry is HTML that
//! [`entry`] makes, so that an exported page and a served page look and behave alike.

mod ansi;
mod code;
mod diff;
pub mod entry;
mod export;
mod html;
mod image;
mod markdown;
mod pack;
mod page;
mod tree;

pub use export::{Form, PageSink, Sink, export_html};
pub use page::Card;
