//! Recognises failures in the output of commands.

/// Beginnings of lines that report a failure.
const FAILING: &[&str] =
    &["error:", "error[", "error ", "fatal:", "panic:", "traceback (most recent call last)", "npm err", "npm error"];

/// Text inside lines that report a failure.
const FAILING_INSIDE: &[&str] =
    &["error ts", "error: ", "panicked at", "test result: failed", "exception: ", "command not found"];

/// Whether the output of a command shows a failure, even if its exit code comes from a filter after it.
pub(super) fn looks_failed(output: &str, ending: &str) -> bool {
    failing_line(output).or_else(|| failing_line(ending)).is_some()
}

/// Returns the first line that reports a failure.
pub(super) fn failing_line(output: &str) -> Option<&str> {
    output.lines().map(str::trim).find(|text| {
        let lower: String = text.chars().take(300).flat_map(char::to_lowercase).collect();
        // `0 errors`, `error: 0` and the like are not failures.
        let begins = FAILING.iter().any(|cue| lower.starts_with(cue));
        let has = FAILING_INSIDE.iter().any(|cue| lower.contains(cue))
            && (text.starts_with("thread '") || !text.contains(['"', '\'', '`']));
        (begins || has) && !lower.contains("0 error")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_recognised_through_pipes() {
        for output in [
            "src/a.ts(1,2): error TS2307: no",
            "ok\nerror[E0599]: no method",
            "npm error Lifecycle script",
            "thread 'x' panicked at a.rs",
        ] {
            assert!(looks_failed(output, ""), "{output}");
        }
        for output in
            ["Found 0 errors", "test result: ok. 0 failed", "12: return Err(\"error: no\")", "error: 0 errors"]
        {
            assert!(!looks_failed(output, ""), "{output}");
        }
    }
}
