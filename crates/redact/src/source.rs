//! Which tool calls read a file or run a command that holds secrets.

use sessile_core::json::{Raw, Shape};

/// Ends of the names of files that hold secrets.
const FILE_ENDS: &[&str] = &[".pem", ".p12", ".pfx", ".jks", ".kdbx", ".keystore", ".ppk", ".tfvars", ".env"];

/// Names of files that hold secrets.
const FILES: &[&str] = &[
    ".npmrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".htpasswd",
    ".dockercfg",
    ".git-credentials",
    ".vault-token",
    "kubeconfig",
    "auth.json",
    "mcp-auth.json",
    "models.json",
    "terraform.tfstate",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    ".envrc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "service-account.json",
    "serviceaccount.json",
    "shadow",
    "hosts.yml",
    ".s3cfg",
    ".boto",
    "master.key",
];

/// Commands that print secrets. Each word must be there, in this order.
const COMMANDS: &[&[&str]] = &[
    &["printenv"],
    &["export", "-p"],
    &["declare", "-x"],
    &["declare", "-p"],
    &["pass", "show"],
    &["gh", "auth", "token"],
    &["gcloud", "print-access-token"],
    &["gcloud", "print-identity-token"],
    &["kubectl", "get", "secret"],
    &["kubectl", "get", "secrets"],
    &["kubectl", "config", "view"],
    &["docker", "inspect"],
    &["heroku", "config"],
    &["fly", "secrets"],
    &["vercel", "env"],
    &["vault", "read"],
    &["vault", "kv", "get"],
    &["op", "read"],
    &["op", "item", "get"],
    &["aws", "configure", "get"],
    &["aws", "configure", "export-credentials"],
    &["aws", "sts", "get-session-token"],
    &["aws", "secretsmanager", "get-secret-value"],
    &["aws", "ssm", "get-parameter"],
    &["az", "account", "get-access-token"],
    &["az", "keyvault", "secret", "show"],
    &["doppler", "secrets"],
    &["security", "find-generic-password"],
    &["security", "find-internet-password"],
    &["secret-tool", "lookup"],
    &["gpg", "--export-secret-keys"],
    &["bw", "get"],
    &["sops", "-d"],
    &["sops", "--decrypt"],
    &["ansible-vault", "view"],
    &["git", "credential", "fill"],
    &["docker", "exec", "env"],
];

/// Returns whether a tool call reads a file or runs a command that holds secrets. The arguments are JSON text; any text
/// in them counts as a path or a command.
pub fn is_secret_source(tool_name: &str, arguments: &str) -> bool {
    let writes = ["write", "edit"].iter().any(|word| tool_name.eq_ignore_ascii_case(word));
    let Ok(value) = Raw::parse(arguments.as_bytes()) else { return !writes && names_source(arguments) };
    !writes && strings(value).iter().any(|text| names_source(text))
}

/// Returns the strings of a value, however deep.
fn strings(value: Raw<'_>) -> Vec<String> {
    let mut open = vec![value];
    let mut found = Vec::new();
    while let Some(value) = open.pop() {
        match value.shape() {
            Shape::String => found.extend(value.as_string()),
            Shape::Array => open.extend(value.items()),
            Shape::Object => open.extend(value.members().map(|member| member.value)),
            _ => {}
        }
    }
    found
}

/// Whether a path or a command names a source of secrets.
fn names_source(text: &str) -> bool {
    text.split(['\n', ';', '|', '&', '(', ')', '`']).any(|command| {
        let words: Vec<&str> =
            command.split([' ', '\t', '\r', '=', '<', '>', '"', '\'', ',']).filter(|word| !word.is_empty()).collect();
        words.iter().any(|word| is_secret_file(word)) || runs_secret_command(&words)
    })
}

fn runs_secret_command(words: &[&str]) -> bool {
    let program = |word: &str| word.rsplit('/').next().unwrap_or("").to_owned();
    let names: Vec<String> = words.iter().map(|word| program(word)).collect();
    let start = names
        .iter()
        .position(|name| !matches!(name.as_str(), "sudo" | "time" | "exec" | "command" | "then" | "do" | "$" | "{"))
        .unwrap_or(0);
    let names = &names[start.min(names.len())..];
    // `env` and `set` alone print everything; with a command after it, `env` runs that command.
    let is_bare = names.len() == 1 && matches!(names[0].as_str(), "env" | "set" | "export" | "printenv");
    is_bare
        || COMMANDS
            .iter()
            .any(|command| names.first().is_some_and(|name| name == command[0]) && in_order(names, command))
}

fn in_order(names: &[String], command: &[&str]) -> bool {
    let mut rest = names.iter();
    command.iter().all(|word| rest.any(|name| name == word))
}

/// Whether a path is that of a file that holds secrets.
fn is_secret_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\', ':']).next().unwrap_or("").to_ascii_lowercase();
    let is_template = ["example", "sample", "template", "dist", "defaults"].iter().any(|word| name.ends_with(word));
    let ends = |endings: &[&str]| endings.iter().any(|end| name.ends_with(end));
    if is_template || ends(&[".pub"]) {
        return false;
    }
    let is_code =
        [".rs", ".ts", ".js", ".py", ".go", ".java", ".md", ".tsx", ".rb", ".c", ".h", ".cpp", ".kt", ".html"]
            .iter()
            .any(|end| name.ends_with(end));
    name == ".env"
        || name.starts_with(".env.")
        || FILES.contains(&name.as_str())
        || FILE_ENDS.iter().any(|end| name.ends_with(end))
        || (name.contains("credentials") && !is_code)
        || (name.starts_with("id_") && path.contains(".ssh/"))
        || path.ends_with(".kube/config")
        || path.ends_with(".docker/config.json")
        || (path.starts_with("/proc/") && path.ends_with("/environ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources() {
        let bash = |command: &str| is_secret_source("bash", &format!("{{\"command\":\"{command}\"}}"));
        for command in [
            "cat .env",
            "cat /app/.env.production | head",
            "env",
            "printenv",
            "cd x && env",
            "set",
            "export -p",
            "pass show mail/x",
            "gh auth token",
            "gcloud auth print-access-token",
            "kubectl get secret db -o yaml",
            "sudo cat /opt/app/.netrc",
            "cat ~/.aws/credentials",
            "cat ~/.ssh/id_ed25519",
            "head -3 key.pem",
            "cat ~/.kube/config",
            "cat < .npmrc",
            "TOKEN=$(gh auth token)",
            "env | sort",
        ] {
            assert!(bash(command), "{command}");
        }
        for command in [
            "cat README.md",
            "ls",
            "env FOO=1 make",
            "set -e",
            "cat .env.example",
            "cat id_rsa.pub",
            "cargo test",
            "vim environment.rs",
            "export A=1",
            "git show HEAD",
            "cat credentials.rs",
            "echo pass show",
            "kubectl get pods",
        ] {
            assert!(!bash(command), "{command}");
        }
        assert!(is_secret_source("read", r#"{"path":"/home/u/app/.env"}"#));
        assert!(is_secret_source("read", r#"{"files":[{"path":"config/auth.json"}]}"#));
        assert!(!is_secret_source("write", r#"{"path":".env","content":"A=1"}"#));
        assert!(!is_secret_source("read", r#"{"path":"src/env.rs"}"#));
    }
}
