//! A digest of an answer, equal on both sides.
//!
//! Each field is hashed after its length, so that no two sequences of fields collide. `pi.mjs` has the same function.

use std::fmt::Write;

use sha2::{Digest as _, Sha256};

/// A digest under construction, field by field.
#[derive(Clone, Debug, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds a field.
    pub fn field(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        let text = text.as_ref();
        self.0.update(text.len().to_string());
        self.0.update(":");
        self.0.update(text);
        self
    }

    /// Adds a field that may be missing.
    pub fn optional(&mut self, text: Option<impl AsRef<[u8]>>) -> &mut Self {
        if let Some(text) = text {
            return self.field(text);
        }
        self.0.update("-");
        self
    }

    /// Returns the digest in hexadecimal digits, shortened to fit on a line.
    pub fn finish(&self) -> String {
        let hash = self.0.clone().finalize();
        hash.iter().take(12).fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
    }
}

/// Returns the digest of one text.
pub fn digest_of(text: impl AsRef<[u8]>) -> String {
    Digest::default().field(text).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_into_each_other() {
        let digest = |fields: &[&str]| fields.iter().fold(Digest::default(), |mut all, one| all.field(one).clone());
        assert_ne!(digest(&["ab", "c"]).finish(), digest(&["a", "bc"]).finish());
        assert_ne!(digest(&[""]).finish(), Digest::default().optional(None::<&str>).finish());
        // The result of `pi.mjs` for the same fields.
        assert_eq!(digest(&["é", "1"]).finish(), "ca96640ccafd5385140d0fe7");
    }
}
