//! How a table of fields becomes a type with accessors.
//!
//! Files may hold anything under any key, so a view never promises that a
//! field is there or of the right shape: it looks when asked and says `None`
//! to a surprise. [`views!`] writes these types from tables that read like
//! the format's own.

use crate::EntryId;
use crate::json::Raw;

/// Makes view types from tables of fields.
///
/// A table is the name of the type and a row for each field: what it means,
/// the accessor with what it gives, and the key in the file.
///
/// ```text
/// views! {
///     /// A name for another entry.
///     LabelEntry<'a> {
///         /// The name.
///         label: Option<String> = "label";
///     }
/// }
/// ```
///
/// This gives a `Copy` type around a [`Raw`] with `new`, `raw`, and
/// `fn label(self) -> Option<String>`. What an accessor gives is up to the
/// [`Field`] of its type.
macro_rules! views {
    ($(
        $(#[$about:meta])*
        $view:ident<$life:lifetime> {
            $($(#[$meaning:meta])* $field:ident: $type:ty = $key:literal;)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $view<$life>(Raw<$life>);

        impl<$life> $view<$life> {
            /// Looks at a value as one of these, whatever it is. Of what is not there, the accessors give nothing.
            pub fn new(raw: Raw<$life>) -> Self {
                Self(raw)
            }

            /// The value as it is in the file.
            pub fn raw(self) -> Raw<$life> {
                self.0
            }

            $(
                $(#[$meaning])*
                pub fn $field(self) -> $type {
                    $crate::message::view::Field::read(self.0.get($key))
                }
            )*
        }

        impl<$life> $crate::message::view::FromRaw<$life> for $view<$life> {
            fn from_raw(raw: Raw<$life>) -> Option<Self> {
                (raw.shape() == $crate::json::Shape::Object).then_some(Self(raw))
            }
        }
    )*};
}

pub(crate) use views;

/// What an accessor may give: made of the value of its key, or of there being none.
pub(crate) trait Field<'a> {
    fn read(value: Option<Raw<'a>>) -> Self;
}

/// A value of the right shape, or `None`.
impl<'a, T: FromRaw<'a>> Field<'a> for Option<T> {
    fn read(value: Option<Raw<'a>>) -> Self {
        value.and_then(T::from_raw)
    }
}

/// The items of an array that have the right shape. What is no array has none.
impl<'a, T: FromRaw<'a>> Field<'a> for Vec<T> {
    fn read(value: Option<Raw<'a>>) -> Self {
        value.into_iter().flat_map(Raw::items).filter_map(T::from_raw).collect()
    }
}

/// What can be made of values of one shape.
pub(crate) trait FromRaw<'a>: Sized {
    fn from_raw(raw: Raw<'a>) -> Option<Self>;
}

impl FromRaw<'_> for String {
    fn from_raw(raw: Raw<'_>) -> Option<Self> {
        raw.as_string()
    }
}

impl FromRaw<'_> for f64 {
    fn from_raw(raw: Raw<'_>) -> Option<Self> {
        raw.as_number()
    }
}

impl FromRaw<'_> for bool {
    fn from_raw(raw: Raw<'_>) -> Option<Self> {
        raw.as_bool()
    }
}

impl FromRaw<'_> for EntryId {
    fn from_raw(raw: Raw<'_>) -> Option<Self> {
        raw.as_text().map(Self::from)
    }
}

/// Any value at all, `null` too.
impl<'a> FromRaw<'a> for Raw<'a> {
    fn from_raw(raw: Self) -> Option<Self> {
        Some(raw)
    }
}
