//! The shapes of values: one description for checks, for JSON Schema and for TypeScript.

mod check;
mod kind;
mod named;
pub(crate) mod shared;
mod stored;

pub use check::check;
pub use kind::{Field, Shape};
pub use named::named_shapes;
