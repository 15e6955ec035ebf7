//! Secrets that the words around them betray.
//!
//! These rules are programs, not expressions: what counts as a value depends on how its name is written.

pub(crate) mod assignment;
pub(crate) mod env_value;
pub(crate) mod header;
pub(crate) mod key_name;
pub(crate) mod option;
pub(crate) mod private_key;
pub(crate) mod setting;
pub(crate) mod url;
pub(crate) mod value;

use std::ops::Range;

use crate::rules::context;

/// A kind of context, by the literals that announce it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Name,
    Url,
    Scheme,
    Cookie,
    Option,
    PrivateKey,
    Putty,
    Setting,
}

/// The words that announce the name of a secret. They are looked for in lower case, in capitals and with one capital.
const NAMES: &[&str] = &["key", "token", "secret", "passw", "pass", "pwd", "auth", "credential", "passphrase"];

const OTHERS: &[(Context, &[&str])] = &[
    (Context::Name, &["_PAT", "Secrets", "PassPhrase", "PassWord"]),
    (Context::Url, &["://"]),
    (
        Context::Scheme,
        &["Bearer ", "bearer ", "BEARER ", "Basic ", "basic ", "Bearer%20", "Authorization: ", "authorization: "],
    ),
    (Context::Cookie, &["Cookie:", "cookie:", "Cookie\":", "cookie\":", "Cookie\\\":", "cookie\\\":"]),
    (Context::Option, &[" -p", " -u ", " --user ", " -a "]),
    (Context::PrivateKey, &["-----BEGIN "]),
    (Context::Putty, &["Private-Lines:"]),
];

/// Returns the literals of all contexts.
pub(crate) fn literals() -> impl Iterator<Item = (String, Context)> {
    let names = NAMES.iter().flat_map(|word| {
        let capital =
            word.split_at_checked(1).map(|(first, rest)| first.to_ascii_uppercase() + rest).unwrap_or_default();
        [(*word).to_owned(), capital, word.to_ascii_uppercase()].map(|literal| (literal, Context::Name))
    });
    let others = OTHERS.iter().flat_map(|(context, words)| words.iter().map(|word| ((*word).to_owned(), *context)));
    // The last letter of a name in capitals, and the sign.
    let settings = ('A'..='Z').chain('0'..='9').map(|letter| (format!("{letter}="), Context::Setting));
    names.chain(others).chain(settings)
}

/// Up to where a text has been looked at, so that no part is read again and again.
#[derive(Default)]
pub(crate) struct Done {
    names: usize,
    cookies: usize,
}

/// A secret that its context betrays.
pub(crate) struct Betrayed {
    pub(crate) rule: &'static str,
    pub(crate) range: Range<usize>,
}

impl Context {
    /// Looks for secrets at a literal.
    pub(crate) fn find(self, text: &str, literal: Range<usize>, done: &mut Done, out: &mut Vec<Betrayed>) {
        match self {
            Self::Name => out.extend(assignment::find(text, literal, &mut done.names)),
            Self::Url => out.extend(url::find(text, literal)),
            Self::Scheme => out.extend(header::find_scheme(text, literal)),
            Self::Cookie => header::find_cookies(text, literal, &mut done.cookies, out),
            Self::Option => out.extend(option::find(text, literal)),
            Self::PrivateKey => out.extend(private_key::find_block(text, literal)),
            Self::Putty => out.extend(private_key::find_putty(text, literal)),
            Self::Setting => out.extend(setting::find(text, literal.end - 1..literal.end)),
        }
    }
}

/// Returns whether a rule is sure although it looks at the context.
pub(crate) fn is_certain(rule: &str) -> bool {
    rule == context::PRIVATE_KEY
}
