//! Where a storage is.

use std::net::IpAddr;

use crate::blobs::BlobError;

/// The address of a bucket, with an optional prefix for the names of objects: `https://host/bucket/prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Address {
    /// Scheme, host and port.
    origin: String,
    /// Host and port, as the request names it.
    host: String,
    /// `/bucket` or `/bucket/prefix`, without a slash at the end.
    path: String,
    is_local: bool,
}

impl S3Address {
    /// Reads an address. Only a host on this machine may be without TLS.
    pub fn from_url(url: &str) -> Result<Self, BlobError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("it does not start with https://"))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        // Before other checks, so that no message is about a part of a key.
        if rest.contains(['@', '?', '#', '%', '\\']) {
            return Err(invalid("it has more than a host, a bucket and a prefix; keys do not belong in it"));
        }
        let (name, port) = split_port(host).ok_or_else(|| invalid("its host or port has the wrong form"))?;
        let is_local = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let default_port = match scheme {
            "https" => 443,
            "http" if is_local => 80,
            "http" => return Err(invalid("http:// is only for this machine; use https://")),
            _ => return Err(invalid("it does not start with https://")),
        };
        let path = path.trim_end_matches('/');
        let is_plain = |part: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_plain)
        };
        if path.is_empty() {
            return Err(invalid("it names no bucket"));
        }
        if !path.split('/').all(is_plain) {
            return Err(invalid("its bucket and prefix may have letters, digits and - _ . ~ only"));
        }
        let shown = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        let host = match port {
            Some(port) if port != default_port => format!("{shown}:{port}"),
            _ => shown,
        };
        Ok(Self { origin: format!("{scheme}://{host}"), host, path: format!("/{path}"), is_local })
    }

    /// Returns the address as a text. It contains no secret.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the path of an object.
    pub(super) fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// Whether the storage is on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// Splits a host into its name and its port.
fn split_port(host: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = if let Some(rest) = host.strip_prefix('[') {
        let (name, port) = rest.split_once(']')?;
        name.parse::<std::net::Ipv6Addr>().ok()?;
        (name, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
    } else {
        let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_plain) {
            return None;
        }
        (name, port)
    };
    let port = port.map(str::parse::<u16>).transpose().ok()?;
    Some((name, port))
}

fn invalid(reason: &str) -> BlobError {
    BlobError::InvalidUrl { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let address = S3Address::from_url("https://s3.example.com/team/large/lines/").unwrap();
        assert_eq!(address.url(), "https://s3.example.com/team/large/lines");
        assert_eq!((address.host(), address.path_of("x").as_str()), ("s3.example.com", "/team/large/lines/x"));
        assert!(!address.is_local());
        for (url, host) in [
            ("http://127.0.0.1:8333/b", "127.0.0.1:8333"),
            ("http://localhost:80/b", "localhost"),
            ("https://h:443/b", "h"),
            ("http://[::1]:8333/b", "[::1]:8333"),
        ] {
            assert_eq!(S3Address::from_url(url).unwrap().host(), host, "{url}");
        }
    }

    #[test]
    fn other_addresses_are_refused_and_not_repeated() {
        let refused = [
            "s3://team/x",
            "http://s3.example.com/team",
            "http://127.0.0.1.example.com/team",
            "https://s3.example.com",
            "https://s3.example.com/",
            "https:///team",
            "https://h:99999/team",
            "https://h:x/team",
            "https://h/te am",
            "https://h/a//b",
            "https://h/a/../b",
            "https://hunter2:x@h/team",
            "https://h/team?key=hunter2",
            "https://h/team#hunter2",
            "https://h\n/team",
            "http://[::2]/team",
            "hunter2",
        ];
        for url in refused {
            let error = S3Address::from_url(url).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && error.contains("https://host/bucket"), "{url}: {error}");
        }
    }
}
