//! The formats of other agents, with fixtures and independent counts.

mod claude;
mod codex;
mod mutations;
mod qwen;
mod support;
