//! Who may ask for what: hosts, origins, tokens.

use std::fmt;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap, ORIGIN};
use axum::http::{Method, StatusCode, Uri};
use sha2::{Digest, Sha256};

use super::hex::hex;

/// The header that carries the write token.
pub(crate) const WRITE_TOKEN_HEADER: &str = "x-sessile-token";

/// The longest body of a request, in bytes.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// The number of wrong tokens per [`WINDOW`] that are answered without a delay.
const MAX_WRONG: u32 = 10;

const WINDOW: Duration = Duration::from_mins(1);

/// The delay of the answer to each further wrong token.
const DELAY: Duration = Duration::from_secs(1);

/// The number of cookies that are compared with the token.
const MAX_COOKIES: usize = 8;

/// A random token of 256 bits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Creates a token from the system's randomness.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self::from_bytes(&bytes))
    }

    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(hex(bytes))
    }

    /// The token as 64 hexadecimal digits.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether a text is this token. The time does not depend on where they differ, or on the length of the token.
    pub(crate) fn is(&self, text: &str) -> bool {
        let (own, given) = (Sha256::digest(&self.0), Sha256::digest(text));
        let difference = own.iter().zip(given.iter()).fold(0, |sum, (one, other)| black_box(sum | (one ^ other)));
        black_box(difference) == 0
    }
}

/// Decides which requests get an answer.
pub(crate) struct Gate {
    /// The values of `Host` that name this server.
    hosts: Vec<String>,
    cookie_name: String,
    cookie: Token,
    /// The token of the link that signs in the next browser.
    link: Mutex<Token>,
    /// The token that a page sends with each write.
    write_token: Token,
    is_read_only: bool,
    wrong: Mutex<Wrong>,
}

/// Wrong tokens since a time.
struct Wrong {
    since: Instant,
    count: u32,
}

/// The parts of a request that decide.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'r> {
    pub(crate) method: &'r Method,
    pub(crate) uri: &'r Uri,
    pub(crate) headers: &'r HeaderMap,
}

/// Why a request gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) reason: &'static str,
    /// Whether the request had a wrong token.
    pub(crate) is_guess: bool,
}

impl Refused {
    fn new(status: StatusCode, reason: &'static str) -> Self {
        Self { status, reason, is_guess: false }
    }
}

impl Asked<'_> {
    /// The value of a header; `None` if there is none, or more than one, or it is not text.
    fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next().filter(|_| values.next().is_none())?;
        first.to_str().ok()
    }

    fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// Whether the browser says that the request comes from a page of another site, or another port of this host.
    fn is_from_elsewhere(&self) -> bool {
        self.has("sec-fetch-site") && !matches!(self.header("sec-fetch-site"), Some("same-origin" | "none"))
    }

    /// Whether this opens the sign-in link in a tab. The link may come from a file.
    pub(crate) fn is_sign_in(&self) -> bool {
        let is_tab = |name, wanted| !self.has(name) || self.header(name) == Some(wanted);
        self.method == Method::GET
            && self.uri.path() == "/login"
            && is_tab("sec-fetch-mode", "navigate")
            && is_tab("sec-fetch-dest", "document")
            // A browser that loads pages in advance must not use up the link.
            && !self.has("sec-purpose")
    }

    /// Whether a redirect would still count as a request from another site, and so would lack the cookie.
    pub(crate) fn needs_own_page(&self) -> bool {
        self.is_from_elsewhere()
    }
}

impl Gate {
    pub(crate) fn new(port: u16, cookie: Token, is_read_only: bool) -> Result<Self, getrandom::Error> {
        let mut hosts = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        if port == 80 {
            hosts.extend(["127.0.0.1".to_owned(), "localhost".to_owned()]);
        }
        Ok(Self {
            hosts,
            cookie_name: format!("sessile-{port}"),
            cookie,
            link: Mutex::new(Token::random()?),
            write_token: Token::random()?,
            is_read_only,
            wrong: Mutex::new(Wrong { since: Instant::now(), count: 0 }),
        })
    }

    /// Checks that a request is meant for this server, and not sent by a page of another site.
    pub(crate) fn check_origin(&self, asked: Asked<'_>) -> Result<(), Refused> {
        let forbidden = |reason| Err(Refused::new(StatusCode::FORBIDDEN, reason));
        let Some(host) = asked.header(HOST.as_str()).filter(|host| self.hosts.iter().any(|known| known == host)) else {
            return forbidden("This server answers only to its own address.");
        };
        // A target with a host of its own is for proxies.
        if asked.uri.authority().is_some() || asked.uri.scheme().is_some() {
            return forbidden("This server is not a proxy.");
        }
        if !asked.uri.path().starts_with('/') {
            return Err(Refused::new(StatusCode::BAD_REQUEST, "The address is not a path."));
        }
        let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
        if asked.has(ORIGIN.as_str()) && !asked.header(ORIGIN.as_str()).is_some_and(is_own) {
            return forbidden("The request comes from another site.");
        }
        if asked.is_from_elsewhere() && !asked.is_sign_in() {
            return forbidden(
                "The request comes from another site. Type the address, or use the link in your terminal.",
            );
        }
        Ok(())
    }

    /// Checks that a request comes from a signed-in browser.
    pub(crate) fn check_cookie(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let own = pairs.filter(|(name, _)| *name == self.cookie_name).map(|(_, value)| value).take(MAX_COOKIES);
        let (mut n_given, mut is_signed_in) = (0, false);
        for value in own {
            n_given += 1;
            is_signed_in |= self.cookie.is(value);
        }
        if is_signed_in {
            return Ok(());
        }
        let reason = "Open the link that `sessile serve` has printed in your terminal.";
        Err(Refused { is_guess: n_given > 0, ..Refused::new(StatusCode::UNAUTHORIZED, reason) })
    }

    /// Checks a request that writes.
    pub(crate) fn check_write(&self, asked: Asked<'_>) -> Result<(), Refused> {
        let forbidden = |reason| Err(Refused::new(StatusCode::FORBIDDEN, reason));
        if !asked.has(ORIGIN.as_str()) {
            return forbidden("A write needs an Origin header.");
        }
        let kind = asked.header(CONTENT_TYPE.as_str()).map(str::to_ascii_lowercase);
        let kind = kind.as_deref().map(|kind| kind.split_once(';').map_or(kind, |(kind, _)| kind).trim());
        if kind != Some("application/json") {
            return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "A write needs a body of JSON."));
        }
        match asked.header(WRITE_TOKEN_HEADER) {
            Some(token) if self.write_token.is(token) => {}
            given => {
                let is_guess = given.is_some();
                let refused = Refused::new(StatusCode::FORBIDDEN, "The write token is missing or outdated.");
                return Err(Refused { is_guess, ..refused });
            }
        }
        if self.is_read_only {
            return forbidden("This server is read-only.");
        }
        let length = asked.header(CONTENT_LENGTH.as_str()).and_then(|length| length.parse::<usize>().ok());
        if length.is_some_and(|length| length > MAX_BODY) {
            return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large."));
        }
        Ok(())
    }

    /// Takes the token of a link. If it is right, it is used up, and the next link has another one.
    pub(crate) fn sign_in(&self, token: &str) -> Result<(), Refused> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = "This link was already used, or is from an earlier start. Use the latest link in your terminal.";
        if !link.is(token) {
            return Err(Refused { is_guess: true, ..Refused::new(StatusCode::FORBIDDEN, reason) });
        }
        let failed = |_| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "The system has no random numbers.");
        *link = Token::random().map_err(failed)?;
        Ok(())
    }

    /// The path and query that sign in the next browser, once.
    pub(crate) fn link(&self) -> String {
        format!("/login?token={}", self.link.lock().unwrap_or_else(PoisonError::into_inner).text())
    }

    /// The cookie of a signed-in browser.
    pub(crate) fn set_cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name, self.cookie.text())
    }

    /// The token that a page sends with each write.
    pub(crate) fn write_token(&self) -> &str {
        self.write_token.text()
    }

    /// Counts a wrong token, and returns how long its answer must wait.
    pub(crate) fn count_wrong(&self, now: Instant) -> Duration {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(wrong.since) >= WINDOW {
            *wrong = Wrong { since: now, count: 0 };
        }
        wrong.count = wrong.count.saturating_add(1);
        if wrong.count > MAX_WRONG { DELAY } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_as_a_whole() {
        let token = Token::random().unwrap();
        assert!(token.is(token.text()));
        assert_eq!(token.text().len(), 64);
        assert!(!token.is(""));
        assert!(!token.is(token.text().get(..63).unwrap()));
        assert!(!token.is(&format!("{}0", token.text())));
        assert!(!Token::random().unwrap().is(token.text()));
        assert_eq!(format!("{token:?}"), "Token(…)", "no log shows it");
    }

    #[test]
    fn many_wrong_tokens_are_answered_slowly() {
        let gate = Gate::new(4711, Token::random().unwrap(), false).unwrap();
        let now = Instant::now();
        let delays: Vec<u64> = (0..12).map(|_| gate.count_wrong(now).as_secs()).collect();
        assert_eq!(delays, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(gate.count_wrong(now + WINDOW).as_secs(), 0);
    }

    #[test]
    fn a_link_signs_in_once() {
        let gate = Gate::new(4711, Token::random().unwrap(), false).unwrap();
        let link = gate.link();
        let token = link.strip_prefix("/login?token=").unwrap();
        assert!(gate.sign_in(token).is_ok());
        assert!(gate.sign_in(token).unwrap_err().is_guess);
        assert_ne!(gate.link(), link);
    }
}
