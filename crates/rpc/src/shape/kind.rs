//! The kinds of shapes.

/// The possible values.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything.
    Any,
    /// `null`.
    Null,
    /// A string.
    Text,
    /// A number.
    Number,
    /// A non-negative whole number.
    Count,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// This word.
    Word(&'static str),
    /// An array.
    List(&'static Self),
    /// An object with these members, and perhaps others.
    Object(&'static [Field]),
    /// One of these shapes.
    OneOf(&'static [Self]),
    /// A named shape: see [`named_shapes`](super::named_shapes).
    Named(&'static str),
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// Whether it may be absent.
    pub is_optional: bool,
    /// A description; empty if the name is enough.
    pub description: &'static str,
}

impl Field {
    /// Creates a required member.
    pub const fn new(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_optional: false, description: "" }
    }

    /// Creates an optional member.
    pub const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_optional: true, description: "" }
    }

    /// Adds a description.
    #[must_use]
    pub const fn about(self, description: &'static str) -> Self {
        Self { description, ..self }
    }
}
