//! Which names are those of secrets.

/// What the value of a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A word that a person may have chosen.
    Password,
    /// A token or key that a program made.
    Secret,
    /// Often a secret, often not: `SOMETHING_KEY`.
    Weak,
}

/// The longest name that is looked at.
const LONGEST: usize = 80;

const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd", "passwort", "passcode"];

const SECRETS: &[&str] =
    &["secret", "secrets", "token", "apikey", "credential", "credentials", "authkey", "authtoken", "accesskey"];

/// What stands before `key` in the names of secrets.
const KEYS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "signing",
    "signature",
    "encryption",
    "master",
    "account",
    "service",
    "admin",
    "client",
    "app",
    "application",
    "deploy",
    "license",
    "licence",
    "subscription",
    "integration",
    "consumer",
    "webhook",
    "session",
    "shared",
    "storage",
    "server",
    "rest",
    "project",
    "ingest",
    "write",
    "read",
    "record",
    "sdk",
    "publishable",
    "maps",
    "account",
    "security",
    "developer",
    "authorization",
    "cipher",
    "crypto",
    "hmac",
    "jwt",
    "aes",
    "decryption",
    "ssh",
    "gpg",
    "registry",
    "service_role",
    "role",
];

/// Names that end like secrets and are none.
const OTHERS: &[&str] = &[
    "publickey",
    "pubkey",
    "cachekey",
    "primarykey",
    "foreignkey",
    "sortkey",
    "partitionkey",
    "hotkey",
    "monkey",
    "turkey",
    "nexttoken",
    "pagetoken",
    "pagingtoken",
    "continuationtoken",
    "synctoken",
    "cancellationtoken",
    "canceltoken",
    "eostoken",
    "bostoken",
    "padtoken",
    "unktoken",
    "stoptoken",
    "masktoken",
    "idempotencykey",
    "objectkey",
    "rowkey",
    "indexkey",
    "hashkey",
    "lookupkey",
    "localstoragekey",
    "storekey",
    "tokentoken",
    "nextpagetoken",
    "shortcutkey",
    "querykey",
    "hostkey",
    "translationkey",
    "i18nkey",
    "sourcekey",
    "registrykey",
    "symboltoken",
    "websocketkey",
    "verificationkey",
    "verifyingkey",
    "verifykey",
];

/// Endings that do not change what a name is.
const ENDINGS: &[&str] = &[
    "production",
    "prod",
    "development",
    "dev",
    "staging",
    "test",
    "live",
    "value",
    "base",
    "string",
    "plain",
    "base64",
    "b64",
    "default",
    "primary",
    "secondary",
    "main",
    "env",
    "hex",
    "old",
    "new",
];

/// Returns what the value of a name is, if it may be a secret.
pub(crate) fn kind(name: &str) -> Option<NameKind> {
    let mut buffer = [0_u8; LONGEST];
    let tail = name.as_bytes().get(name.len().saturating_sub(LONGEST)..)?;
    let mut length = 0;
    for byte in tail.iter().filter(|b| b.is_ascii_alphanumeric()) {
        buffer[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let flat = without_endings(buffer.get(..length)?);
    let ends = |word: &str| flat.ends_with(word.as_bytes());
    if OTHERS.iter().any(|word| ends(word)) {
        None
    } else if PASSWORDS.iter().any(|word| ends(word)) {
        Some(NameKind::Password)
    } else if SECRETS.iter().any(|word| ends(word)) || (ends("pat") && is_capital(name) && has_word(name, 3)) {
        Some(NameKind::Secret)
    } else if let Some(before) = flat.strip_suffix(b"key") {
        let strong = KEYS.iter().any(|word| before.ends_with(word.as_bytes()));
        let weak = is_capital(name) || before.len() > 2;
        if strong { Some(NameKind::Secret) } else { weak.then_some(NameKind::Weak) }
    } else if ends("pass") && has_word(name, 4) {
        Some(NameKind::Password)
    } else if ends("auth") && has_word(name, 4) {
        Some(NameKind::Weak)
    } else {
        None
    }
}

/// Whether a name has capital letters only.
pub(crate) fn is_capital(name: &str) -> bool {
    name.bytes().any(|b| b.is_ascii_uppercase()) && !name.bytes().any(|b| b.is_ascii_lowercase())
}

/// Whether the last letters of a name are a word of their own.
fn has_word(name: &str, length: usize) -> bool {
    let name = name.as_bytes();
    let name = name.get(..name.iter().rposition(u8::is_ascii_alphabetic).map_or(0, |at| at + 1)).unwrap_or(&[]);
    let Some(at) = name.len().checked_sub(length) else { return false };
    at == 0
        || !name[at - 1].is_ascii_alphabetic()
        || (name[at - 1].is_ascii_lowercase() && name[at].is_ascii_uppercase())
}

fn without_endings(flat: &[u8]) -> &[u8] {
    let digits = flat.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let flat = &flat[..flat.len() - digits];
    ENDINGS.iter().find_map(|ending| flat.strip_suffix(ending.as_bytes())).unwrap_or(flat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["password", "DB_PASSWORD", "userPassword", "smtp_pass", "PASSWORD_2", "db.password", "PGPASSWORD"]
        {
            assert_eq!(kind(name), Some(NameKind::Password), "{name}");
        }
        for name in [
            "API_KEY",
            "apiKey",
            "x-api-key",
            "STRIPE_SECRET",
            "githubToken",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_PAT",
            "SECRET_KEY_BASE",
            "TOKEN_PROD",
        ] {
            assert_eq!(kind(name), Some(NameKind::Secret), "{name}");
        }
        for name in [
            "compass",
            "public_key",
            "next_token",
            "keyboard",
            "monkey",
            "max_tokens",
            "token_count",
            "key",
            "author",
            "path",
        ] {
            assert_eq!(kind(name), None, "{name}");
        }
        assert_eq!(kind("ALGOLIA_KEY"), Some(NameKind::Weak));
    }
}
