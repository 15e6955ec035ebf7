//! Rows of a session: entries by number, for front ends that make entries out of lines themselves.
//!
//! See [`SessionManager::visit_entries`](crate::SessionManager::visit_entries) and
//! [`visit_lines`](crate::SessionManager::visit_lines).

pub use sessile_core::context::SettingsRows;
pub use sessile_core::outline::Row;
pub use sessile_core::plain::{PlainMessage, message_start};

pub use crate::manager::EntryForm;
