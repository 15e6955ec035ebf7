//! HMAC-SHA256, as RFC 2104 defines it.

use sha2::{Digest, Sha256};

/// The length of SHA-256's blocks.
const BLOCK: usize = 64;

/// A key of any length, ready for many messages.
#[derive(Clone)]
pub(crate) struct Mac {
    inner: Sha256,
    outer: Sha256,
}

impl Mac {
    pub(crate) fn new(key: &[u8]) -> Self {
        let mut block = [0_u8; BLOCK];
        if key.len() > BLOCK {
            block[..32].copy_from_slice(&Sha256::digest(key));
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let padded = |pad: u8| Sha256::new().chain_update(block.map(|byte| byte ^ pad));
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// The code of a message.
    pub(crate) fn code(&self, message: &[u8]) -> [u8; 32] {
        let inner = self.inner.clone().chain_update(message).finalize();
        self.outer.clone().chain_update(inner).finalize().into()
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test cases 1 to 4, 6 and 7 of RFC 4231. Case 5 truncates the code.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let key_25: Vec<u8> = (1..=25).collect();
        let long = b"This is a test using a larger than block-size key and a larger than block-size data. \
            The key needs to be hashed before being used by the HMAC algorithm.";
        let cases: [(&[u8], &[u8], &str); 6] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (&key_25, &[0xcd; 50], "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (&[0xaa; 131], long, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
        ];
        for (key, message, code) in cases {
            assert_eq!(hex(&Mac::new(key).code(message)), code);
        }
    }
}
