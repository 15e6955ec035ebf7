//! The formats of other agents, with fixtures and independent counts.

mod claude;
mod codex;
mod export;
mod gemini;
mod mutations;
mod opencode;
mod others;
mod qwen;
mod support;
