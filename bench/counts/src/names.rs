//! The names of the paths, for the program and for the harness.

pub(crate) const NAMES: [&str; 12] = [
    "open",
    "reopen",
    "append",
    "context",
    "tree",
    "list",
    "first-list",
    "search",
    "fork",
    "rpc-request",
    "tui-frame",
    "export",
];
