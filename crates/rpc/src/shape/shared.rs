//! Shapes and fields that commands, events and named shapes share.

use super::kind::Field;
use super::kind::Shape::{self, Any, Null, OneOf, Text};

pub(crate) const ENTRY_OR_NULL: Shape = OneOf(&[Text, Null]);
pub(crate) const ENTRY_ID: Field = Field::new("entryId", Text);
pub(crate) const DETAILS: Field = Field::optional("details", Any);
pub(crate) const USAGE: Field = Field::optional("usage", Any);
