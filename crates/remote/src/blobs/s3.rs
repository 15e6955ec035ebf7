//! Storages that speak the protocol of S3, with addresses in the form `https://host/bucket/prefix/object`.

mod address;
mod keys;
mod sign;

use std::time::Duration;

use sessile_core::date::Timestamp;
use ureq::http::Response;
use ureq::{Agent, Body};

pub use address::S3Address;
pub use keys::S3Keys;

use crate::blobs::{BlobError, ObjectHash, Objects, PutResult};
use crate::foreign::foreign;
use sign::Unsigned;

/// How long a client waits for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long a client waits for some bytes of an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// A request that moves fewer bytes than this within the limit of an answer, on average, is given up.
const PROGRESS: usize = 64 << 10;

/// How long a client waits before it repeats a request that a storage could not serve. All requests may be repeated.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];

/// The region of storages that do not have any.
const DEFAULT_REGION: &str = "us-east-1";

/// The maximum length of the text of an error.
const MAX_ERROR: u64 = 64 << 10;

/// A bucket of a storage, or a part of it.
pub struct S3Storage {
    address: S3Address,
    place: String,
    region: String,
    keys: S3Keys,
    clock: fn() -> Timestamp,
    agent: Agent,
    limit: Duration,
}

/// Without the keys.
impl std::fmt::Debug for S3Storage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("S3Storage").field("place", &self.place).finish_non_exhaustive()
    }
}

impl S3Storage {
    /// Describes a storage. It is asked later. The clock is used for signatures, so it should be right by a few minutes.
    pub fn new(address: S3Address, keys: S3Keys, clock: fn() -> Timestamp) -> Self {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("sessile/", env!("CARGO_PKG_VERSION")))
            .max_response_header_size(64 << 10)
            .timeout_connect(Some(CONNECT_LIMIT));
        if address.is_local() {
            config = config.proxy(None);
        }
        let agent = Agent::new_with_config(config.build());
        let region = DEFAULT_REGION.to_owned();
        Self { place: address.url(), address, region, keys, clock, agent, limit: ANSWER_LIMIT }
    }

    /// Sets the region, instead of `us-east-1`.
    #[must_use]
    pub fn in_region(mut self, region: &str) -> Self {
        region.clone_into(&mut self.region);
        self
    }

    /// Sets how long a client waits for some bytes of an answer, instead of 15 seconds.
    #[must_use]
    pub fn with_answer_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sends a request, again if the storage could not serve it, and returns what `read` makes of the answer.
    fn ask<T>(
        &self,
        verb: Verb,
        object: &ObjectHash,
        body: &[u8],
        n_expected: usize,
        read: &dyn Fn(Response<Body>) -> Result<T, BlobError>,
    ) -> Result<T, BlobError> {
        let mut pauses = PAUSES.iter();
        loop {
            let result = self.send(verb, object, body, n_expected).and_then(read);
            match (&result, pauses.next()) {
                // A storage that is silent was given all the time that a caller waits.
                (Err(BlobError::Busy { .. } | BlobError::Unreachable { .. }), Some(pause)) => {
                    std::thread::sleep(*pause);
                }
                _ => return result,
            }
        }
    }

    fn send(
        &self,
        verb: Verb,
        object: &ObjectHash,
        body: &[u8],
        n_expected: usize,
    ) -> Result<Response<Body>, BlobError> {
        let path = self.address.path_of(&format!("sha256/{object}"));
        let mut headers = vec![("host", self.address.host())];
        if verb == Verb::PutNew {
            headers.push(("if-none-match", "*"));
        }
        let method = verb.method();
        let request =
            Unsigned { method, path: &path, region: &self.region, time: (self.clock)(), headers: &headers, body };
        let signature = request.sign(&self.keys);
        let mut builder = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.address.origin()));
        let added =
            [("x-amz-date", signature.date.as_str()), ("x-amz-content-sha256", signature.content_sha256.as_str())];
        for (name, value) in headers.into_iter().chain(added) {
            builder = builder.header(name, value);
        }
        let authorization = ureq::http::HeaderValue::from_str(&signature.authorization);
        let mut authorization =
            authorization.map_err(|_quoting| self.refused("the access key or the region is odd"))?;
        authorization.set_sensitive(true);
        builder = builder.header("authorization", authorization);
        let total = self.limit + self.limit * u32::try_from((body.len() + n_expected) / PROGRESS).unwrap_or(u32::MAX);
        let sent = if matches!(verb, Verb::Put | Verb::PutNew) {
            let request = builder.body(body).map_err(|error| self.refused(&error.to_string()))?;
            self.agent.run(self.limited(request, total))
        } else {
            let request = builder.body(()).map_err(|error| self.refused(&error.to_string()))?;
            self.agent.run(self.limited(request, total))
        };
        sent.map_err(|error| self.failed(&error))
    }

    fn limited<B: ureq::AsSendBody>(&self, request: ureq::http::Request<B>, total: Duration) -> ureq::http::Request<B> {
        self.agent
            .configure_request(request)
            .timeout_per_read(Some(self.limit))
            .timeout_per_write(Some(self.limit))
            .timeout_global(Some(total))
            .build()
    }

    /// Translates an error of the connection.
    fn failed(&self, error: &ureq::Error) -> BlobError {
        let place = self.place.clone();
        match error {
            ureq::Error::Timeout(_) => BlobError::Timeout { place },
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => BlobError::Timeout { place },
            error => BlobError::Unreachable { place, reason: foreign(&sessile_core::cause::chain(error)) },
        }
    }

    /// Translates an answer that is not the one that was asked for.
    fn explained(&self, mut response: Response<Body>) -> BlobError {
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ERROR).read_to_vec().unwrap_or_default();
        let code = error_code(&body);
        let answer = if code.is_empty() { format!("status {status}") } else { format!("status {status}, {code}") };
        let place = self.place.clone();
        match (status, code.as_str()) {
            (404, "NoSuchBucket") => BlobError::NoBucket { place },
            (401 | 403, _) => BlobError::Denied { place, answer },
            (409 | 429 | 500.., _) => BlobError::Busy { place, answer },
            _ => BlobError::Refused { place, answer },
        }
    }

    fn refused(&self, reason: &str) -> BlobError {
        BlobError::Refused { place: self.place.clone(), answer: foreign(reason) }
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Head,
    Delete,
    Put,
    /// Put an object unless there is one of this name.
    PutNew,
}

impl Verb {
    fn method(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Delete => "DELETE",
            Self::Put | Self::PutNew => "PUT",
        }
    }
}

impl Objects for S3Storage {
    fn place(&self) -> &str {
        &self.place
    }

    fn put(&self, hash: &ObjectHash, body: &[u8], overwrite: bool) -> Result<PutResult, BlobError> {
        let verb = if overwrite { Verb::Put } else { Verb::PutNew };
        self.ask(verb, hash, body, 0, &|response| match response.status().as_u16() {
            200..=299 => Ok(PutResult::Stored),
            412 => Ok(PutResult::Existed),
            _ => Err(self.explained(response)),
        })
    }

    fn get(&self, hash: &ObjectHash, limit: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.ask(Verb::Get, hash, b"", limit, &|mut response| match response.status().as_u16() {
            200 => match response.body_mut().with_config().limit(limit as u64 + 1).read_to_vec() {
                Ok(body) if body.len() <= limit => Ok(Some(body)),
                Ok(_) | Err(ureq::Error::BodyExceedsLimit(_)) => {
                    Err(BlobError::Damaged { place: self.place.clone(), hash: *hash })
                }
                Err(error) => Err(self.failed(&error)),
            },
            404 => match self.explained(response) {
                error @ BlobError::NoBucket { .. } => Err(error),
                _ => Ok(None),
            },
            _ => Err(self.explained(response)),
        })
    }

    fn head(&self, hash: &ObjectHash) -> Result<Option<u64>, BlobError> {
        self.ask(Verb::Head, hash, b"", 0, &|response| match response.status().as_u16() {
            200 => {
                let length = response.headers().get("content-length").and_then(|length| length.to_str().ok());
                let length = length.and_then(|length| length.parse().ok());
                length.map(Some).ok_or_else(|| self.refused("no length"))
            }
            404 => Ok(None),
            _ => Err(self.explained(response)),
        })
    }

    fn delete(&self, hash: &ObjectHash) -> Result<(), BlobError> {
        self.ask(Verb::Delete, hash, b"", 0, &|response| match response.status().as_u16() {
            200..=299 | 404 => Ok(()),
            _ => Err(self.explained(response)),
        })
    }

    fn check(&self) -> Result<(), BlobError> {
        // No line has this hash. An answer to `HEAD` would not say whether the bucket is missing.
        self.get(&ObjectHash::from([0; 32]), 0).map(drop)
    }
}

/// Returns the code in the text of an error, or nothing.
fn error_code(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    foreign(code.unwrap_or_default()).chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_error_is_found() {
        assert_eq!(error_code(b"<?xml?><Error><Code>NoSuchBucket</Code><Message>x</Message></Error>"), "NoSuchBucket");
        assert_eq!(error_code(b"<Code>\x1b[31m</Code>"), "\u{fffd}[31m");
        assert_eq!(error_code(b"<Code>"), "");
        assert_eq!(error_code(b"\xff"), "");
    }

    #[test]
    fn debug_output_has_no_keys() {
        let address = S3Address::from_url("https://h/b").unwrap();
        let storage = S3Storage::new(address, S3Keys::new("AKIAX", "hunter2"), || Timestamp::from_ms(0));
        let shown = format!("{storage:?} {:?}", storage.keys);
        assert!(!shown.contains("hunter2") && !shown.contains("AKIAX"), "{shown}");
    }
}
