//! One number for an answer, the same on both sides.
//!
//! Fields are hashed with their lengths before them, so that no two sequences
//! of fields look alike. `pi.mjs` has the twin of this.

use std::fmt::Write;

use sha2::{Digest as _, Sha256};

/// An answer that is being told field by field.
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

    /// The digest in hexadecimal digits, shortened to what fits on a line.
    pub fn finish(&self) -> String {
        let hash = self.0.clone().finalize();
        hash.iter().take(12).fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
    }
}

/// The digest of one piece of text.
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
        // What `pi.mjs` gives for the same fields.
        assert_eq!(digest(&["é", "1"]).finish(), "ca96640ccafd5385140d0fe7");
    }
}
