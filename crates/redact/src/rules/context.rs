//! The names of the rules that look at the words around a secret.

use crate::Tier;

pub(crate) const ASSIGNMENT: &str = "secret-assignment";
pub(crate) const SETTING: &str = "setting-value";
pub(crate) const URL_PASSWORD: &str = "url-password";
pub(crate) const AUTHORIZATION: &str = "authorization-header";
pub(crate) const COOKIE: &str = "cookie";
pub(crate) const PASSWORD_OPTION: &str = "password-option";
pub(crate) const NETRC: &str = "netrc-password";
pub(crate) const PRIVATE_KEY: &str = "private-key";
pub(crate) const ENV_VALUE: &str = "env-value";
pub(crate) const KNOWN_VALUE: &str = "known-value";

pub(super) const CONTEXT: &[(&str, &str, Tier)] = &[
    (ASSIGNMENT, "a value that is assigned to a name such as API_KEY or password", Tier::Likely),
    (SETTING, "a random value of a setting in capitals, such as SERVICE=…", Tier::Likely),
    (URL_PASSWORD, "a password in a URL", Tier::Likely),
    (AUTHORIZATION, "the credentials of an Authorization header", Tier::Likely),
    (COOKIE, "the value of a cookie", Tier::Likely),
    (PASSWORD_OPTION, "a password on a command line", Tier::Likely),
    (NETRC, "a password of a netrc file", Tier::Likely),
    (PRIVATE_KEY, "the body of a PEM, OpenSSH, PGP or PuTTY private key", Tier::Certain),
    (ENV_VALUE, "a value of a file or command that holds secrets, such as .env", Tier::Likely),
    (KNOWN_VALUE, "a value that the user or the environment named as secret", Tier::Certain),
];
