//! Passwords.

use std::fmt;

/// A password. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Makes a password of 192 random bits, as hexadecimal digits.
    #[cfg(feature = "postgres")]
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes)?;
        let digit = |bits: u8| char::from_digit(u32::from(bits), 16).unwrap_or_default();
        Ok(Self(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()))
    }

    /// Returns the password, for a login or a file that only its owner reads.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(…) Some(Secret(…))");
        assert_eq!(secret.reveal(), "hunter2");
    }
}
