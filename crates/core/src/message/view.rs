//! Generates view types with accessors from tables of fields.
//!
//! A file may hold anything under any key, so a view never promises that a field exists or has the right shape: an
//! accessor reads on request and returns `None` for anything unexpected. [`views!`] generates these types from tables
//! that resemble the format's own.

use crate::EntryId;
use crate::json::Raw;

/// Generates view types from tables of fields.
///
/// A table gives the name of the type and one row per field: its documentation, the accessor with its return type, and
/// the key in the file.
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
/// This generates a `Copy` type around a [`Raw`] with `new`, `raw`, and `fn label(self) -> Option<String>`. The
/// [`Field`] implementation of the return type decides how an accessor reads the value.
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
            /// Wraps a value, whatever it is. The accessors return nothing for fields that are not there.
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

        #[cfg(feature = "serde")]
        impl serde::Serialize for $view<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<$life> $crate::message::view::FromRaw<$life> for $view<$life> {
            fn from_raw(raw: Raw<$life>) -> Option<Self> {
                (raw.shape() == $crate::json::Shape::Object).then_some(Self(raw))
            }
        }
    )*};
}

pub(crate) use views;

/// A return type of accessors, made from the value of a key or from its absence.
pub(crate) trait Field<'a> {
    fn read(value: Option<Raw<'a>>) -> Self;
}

/// A value of the right shape, or `None`.
impl<'a, T: FromRaw<'a>> Field<'a> for Option<T> {
    fn read(value: Option<Raw<'a>>) -> Self {
        value.and_then(T::from_raw)
    }
}

/// The items of an array that have the right shape. Empty if the value is not an array.
impl<'a, T: FromRaw<'a>> Field<'a> for Vec<T> {
    fn read(value: Option<Raw<'a>>) -> Self {
        value.into_iter().flat_map(Raw::items).filter_map(T::from_raw).collect()
    }
}

/// A type that can be made from values of one shape.
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

/// Accepts any value, including `null`.
impl<'a> FromRaw<'a> for Raw<'a> {
    fn from_raw(raw: Self) -> Option<Self> {
        Some(raw)
    }
}
