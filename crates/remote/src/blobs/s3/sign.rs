//! Signatures of requests: "AWS Signature Version 4".

use std::fmt::Write;

use sessile_core::date::{Timestamp, to_iso};
use sha2::{Digest, Sha256};

use crate::blobs::s3::S3Keys;

/// A request as it is signed. All its headers are signed.
pub(super) struct Unsigned<'r> {
    pub(super) method: &'r str,
    /// The path. It has no character that would have to be encoded.
    pub(super) path: &'r str,
    pub(super) region: &'r str,
    pub(super) time: Timestamp,
    /// Names in lower case, sorted. `x-amz-date` and `x-amz-content-sha256` are added.
    pub(super) headers: &'r [(&'r str, &'r str)],
    pub(super) body: &'r [u8],
}

/// The headers that a signature adds to a request.
pub(super) struct Signature {
    pub(super) date: String,
    pub(super) content_sha256: String,
    pub(super) authorization: String,
}

impl Unsigned<'_> {
    pub(super) fn sign(&self, keys: &S3Keys) -> Signature {
        let content_sha256 = hex(&Sha256::digest(self.body));
        let date = compact(self.time);
        let (day, _) = date.split_at(8);
        let mut headers = self.headers.to_vec();
        headers.extend([("x-amz-content-sha256", content_sha256.as_str()), ("x-amz-date", date.as_str())]);
        headers.sort_unstable();
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let mut canonical = format!("{}\n{}\n\n", self.method, self.path);
        for (name, value) in &headers {
            canonical.extend([name, ":", value, "\n"]);
        }
        canonical.extend(["\n", &names, "\n", &content_sha256]);
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let first = format!("AWS4{}", keys.secret.reveal());
        let key = [self.region, "s3", "aws4_request"]
            .iter()
            .fold(hmac(first.as_bytes(), day.as_bytes()), |key, part| hmac(&key, part.as_bytes()));
        let signature = hex(&hmac(&key, to_sign.as_bytes()));
        let access = &keys.access;
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}");
        Signature { date, content_sha256, authorization }
    }
}

/// Returns a time such as `20130524T000000Z`.
fn compact(time: Timestamp) -> String {
    let iso = to_iso(time);
    let (seconds, _) = iso.split_once('.').unwrap_or((&iso, ""));
    let mut compact: String = seconds.chars().filter(|char| !matches!(char, '-' | ':')).collect();
    compact.push('Z');
    compact
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// HMAC with SHA-256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let keyed = |pad: u8| Sha256::new().chain_update(block.map(|byte| byte ^ pad));
    let inner = keyed(0x36).chain_update(message).finalize();
    keyed(0x5c).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use sessile_core::date;

    use super::*;

    #[test]
    fn hmac_has_the_values_of_the_standard() {
        // RFC 4231, cases 2 and 6.
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), expected);
        let long = hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(hex(&long), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    #[test]
    fn a_request_gets_the_signature_of_the_documentation() {
        // The example "GET Object" in the documentation of Amazon S3.
        let keys = S3Keys::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let request = Unsigned {
            method: "GET",
            path: "/test.txt",
            region: "us-east-1",
            time: date::parse_utc_iso(b"2013-05-24T00:00:00.000Z").unwrap(),
            headers: &[("host", "examplebucket.s3.amazonaws.com"), ("range", "bytes=0-9")],
            body: b"",
        };
        let signature = request.sign(&keys);
        assert_eq!(signature.date, "20130524T000000Z");
        assert_eq!(
            signature.authorization,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
    }
}
