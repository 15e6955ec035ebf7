//! Sessions as web pages.
//!
//! [`export_html`] writes a page that needs no server. With the feature `serve`, `serve::Server` shows all sessions of a
//! store in a browser. Everything that a reader sees of an entry is HTML that
//! [`entry`] makes, so that an exported page and a served page look and behave alike.

mod ansi;
mod code;
mod diff;
pub mod entry;
mod export;
mod facts;
mod html;
mod image;
mod json;
mod markdown;
mod pack;
mod page;
mod reader;
#[cfg(feature = "serve")]
pub mod serve;
mod tree;

pub use export::{Form, PageSink, Sink, export_html};
pub use page::Card;
