//! Names that say nothing.

/// Names of users and hosts that many machines have, or that are words of ordinary texts.
const COMMON: [&str; 29] = [
    "admin",
    "agent",
    "app",
    "build",
    "codespace",
    "debian",
    "dev",
    "developer",
    "docker",
    "ec2-user",
    "git",
    "home",
    "host",
    "jenkins",
    "localdomain",
    "localhost",
    "localhost.localdomain",
    "node",
    "nobody",
    "root",
    "runner",
    "server",
    "test",
    "ubuntu",
    "user",
    "users",
    "vscode",
    "work",
    "workspace",
];

/// Whether replacing this name of a user or a host everywhere would spoil ordinary text, and hide nothing.
pub fn is_common_name(name: &str) -> bool {
    name.chars().nth(2).is_none() || COMMON.contains(&name.to_lowercase().as_str())
}
