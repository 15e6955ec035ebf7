//! The hooks of docs/hooks.md.
