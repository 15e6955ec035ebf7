//! Lock holders, for display.

/// The current or last holder of a lock. For display, never for decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The machine.
    pub host: String,
    /// When it began to write to the session, in milliseconds since 1970.
    pub since_ms: i64,
}
