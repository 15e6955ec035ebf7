//! Values that are known to be secret: the user's list, environment variables, and pi's own files.

use std::path::Path;

use sessile_core::json::{Json, Raw, Shape};
use sessile_core::line::BOM;
use sessile_redact::Secret;
use sessile_store::os::Os;
use sessile_store::{MAX_SETTINGS, read_whole};

use crate::directory::{absolute, agent_dir};
use crate::environment::Environment;
use crate::error::SessionError;
use crate::redact_error::RedactError;

/// pi's files that hold keys.
const PI_FILES: [&str; 3] = ["auth.json", "mcp-auth.json", "models.json"];

/// Shorter values of variables and of pi's files are not looked for.
const SHORTEST: usize = 8;

/// Shorter values in the user's own list are refused.
const SHORTEST_LISTED: usize = 4;

/// The largest list of known secrets.
const MAX_LIST: u64 = 16 << 20;

/// The values of variables and of pi's files, without repeats.
pub(super) fn values(environment: &dyn Environment, os: &dyn Os) -> Vec<Secret> {
    let variables = environment.variables();
    let named = variables.iter().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.clone());
    let mut found: Vec<String> = named.collect();
    let agent = absolute(environment, &agent_dir(environment));
    for name in PI_FILES {
        // pi reads these files itself and reports what is wrong with them.
        let Ok(bytes) = read_whole(os, &agent.join(name), MAX_SETTINGS) else { continue };
        let Ok(json) = Json::parse(bytes.strip_prefix(BOM).unwrap_or(&bytes)) else { continue };
        collect(json.raw(), environment, &mut found);
    }
    let mut values: Vec<&str> = found.iter().map(|value| value.trim()).filter(|value| is_value(value)).collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(Secret::new).collect()
}

/// Reads a list of secrets, one per line. Empty lines count as nothing.
pub(super) fn read_file(os: &dyn Os, path: &Path) -> Result<Vec<Secret>, SessionError> {
    let bytes = read_whole(os, path, MAX_LIST)?;
    let bad = |line: usize, what| RedactError::BadSecret { path: path.to_path_buf(), line: line + 1, what };
    let mut secrets = Vec::new();
    let bytes = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line).map_err(|_invalid| bad(number, "the secret is not valid UTF-8"))?;
        if text.trim().is_empty() {
            continue;
        }
        if text.len() < SHORTEST_LISTED {
            return Err(
                bad(number, "the secret has fewer than 4 characters, so it would be found in every text").into()
            );
        }
        secrets.push(Secret::new(text));
    }
    Ok(secrets)
}

/// Words in the names of secrets.
const SECRET_WORDS: [&str; 12] = [
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "AUTHKEY",
    "CREDENTIAL",
    "SIGNINGKEY",
    "ENCRYPTIONKEY",
];

/// The ends of names that are about secrets, but do not hold any.
const OTHER_ENDS: [&str; 14] = [
    "FILE", "PATH", "DIR", "URL", "URI", "ENDPOINT", "HELPER", "COMMAND", "ID", "TYPE", "NAME", "EXPIRES", "SOCK",
    "LIMIT",
];

/// Whether a variable with this name holds a secret.
fn is_secret_name(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) && !OTHER_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a value can be a secret: a path, a number or a name of a variable is not.
fn is_value(value: &str) -> bool {
    let is_path = ["/", "~", "./", "../", "!", "$", "http://", "https://"].iter().any(|start| value.starts_with(start));
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    value.len() >= SHORTEST && !is_path && !is_number && !is_variable_name(value)
}

fn is_variable_name(value: &str) -> bool {
    value.contains('_') && value.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The names of members of pi's files that hold secrets, in lower case and without punctuation.
const MEMBERS: [&str; 18] = [
    "key",
    "apikey",
    "access",
    "accesstoken",
    "refresh",
    "refreshtoken",
    "token",
    "idtoken",
    "bearer",
    "secret",
    "clientsecret",
    "codeverifier",
    "password",
    "authorization",
    "proxyauthorization",
    "xapikey",
    "cookie",
    "registrationaccesstoken",
];

/// Adds the secrets of a value, however deep.
fn collect(value: Raw<'_>, environment: &dyn Environment, found: &mut Vec<String>) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value.shape() {
            Shape::Array => open.extend(value.items()),
            Shape::Object => {
                for (name, member) in value.properties() {
                    let name: String = name
                        .to_str()
                        .chars()
                        .filter(char::is_ascii_alphanumeric)
                        .collect::<String>()
                        .to_ascii_lowercase();
                    let Some(text) = member.as_string() else {
                        open.push(member);
                        continue;
                    };
                    if !MEMBERS.contains(&name.as_str()) && !is_secret_name(&name) {
                        continue;
                    }
                    // pi takes the name of a variable for its value.
                    let text = environment.variable(&text).filter(|value| !value.is_empty()).unwrap_or(text);
                    let schemes = ["Bearer ", "bearer ", "Basic ", "Token "];
                    let bare = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(&text);
                    found.push(bare.to_owned());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::IsolatedSystem;

    #[test]
    fn names_of_variables_say_what_they_hold() {
        for name in ["GITHUB_TOKEN", "ANTHROPIC_API_KEY", "DB_PASSWORD", "aws_secret_access_key", "MY_APIKEY"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "TOKEN_FILE", "PASSWORD_STORE_DIR", "AWS_ACCESS_KEY_ID", "SECRET_NAME", "EDITOR"] {
            assert!(!is_secret_name(name), "{name}");
        }
        for value in ["/run/secrets/x", "12345678", "short", "ANTHROPIC_API_KEY", "!pass show x", "$TOKEN_OF_MINE"] {
            assert!(!is_value(value), "{value}");
        }
    }

    #[test]
    fn the_secrets_of_pis_files_are_found_by_name() {
        let json = r#"{"a":{"type":"oauth","access":"value-one","refresh":"value-two","expires":1},
            "b":[{"headers":{"Authorization":"Bearer value-three","Accept":"not-a-secret"}}],"c":{"api_key":"value-four"}}"#;
        let json = Json::parse(json).unwrap();
        let mut found = Vec::new();
        collect(json.raw(), &IsolatedSystem::in_home("/h"), &mut found);
        found.sort();
        assert_eq!(found, ["value-four", "value-one", "value-three", "value-two"]);
    }
}
