//! Splits a stream of bytes into events.

use std::collections::VecDeque;

use super::fault::Fault;
use super::provider::Protocol;

/// The longest accepted event, in bytes.
const MAX_EVENT: usize = 4 << 20;

/// Splits a stream into events.
#[derive(Debug)]
pub(super) struct Framing {
    form: Form,
    /// The current, unfinished line.
    line: Vec<u8>,
    /// The data lines of the current, unfinished event.
    data: Vec<u8>,
    ready: VecDeque<Vec<u8>>,
}

/// How events are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Server-sent events: data lines, then a blank line.
    Events,
    /// One event per line.
    Lines,
    /// The whole body is one event.
    Whole,
}

impl Framing {
    /// Picks the form for a protocol, or a single value if the server answered with JSON.
    pub(super) fn of(protocol: Protocol, is_json: bool) -> Self {
        let form = match protocol {
            Protocol::Ollama => Form::Lines,
            _ if is_json => Form::Whole,
            _ => Form::Events,
        };
        Self { form, line: Vec::new(), data: Vec::new(), ready: VecDeque::new() }
    }

    /// Adds received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.form == Form::Whole {
            self.line.extend_from_slice(bytes);
        } else {
            for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.line.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    self.end_line();
                }
            }
        }
        if self.line.len() + self.data.len() > MAX_EVENT {
            return Err(Fault::Permanent(format!("an event of the answer is larger than {MAX_EVENT} bytes")));
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        match self.form {
            Form::Lines if !line.is_empty() => self.ready.push_back(line.to_vec()),
            Form::Events if line.is_empty() => self.end_event(),
            Form::Events => {
                if let Some(data) = line.strip_prefix(b"data:") {
                    if !self.data.is_empty() {
                        self.data.push(b'\n');
                    }
                    self.data.extend_from_slice(data.trim_ascii_start());
                }
            }
            Form::Lines | Form::Whole => {}
        }
    }

    fn end_event(&mut self) {
        if !self.data.is_empty() {
            self.ready.push_back(std::mem::take(&mut self.data));
        }
    }

    /// Returns the next complete event.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// Returns the remaining bytes if they form an event: some servers omit the last blank line.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        match self.form {
            Form::Whole => Some(self.line).filter(|line| !line.trim_ascii().is_empty()),
            Form::Lines | Form::Events => {
                self.end_line();
                self.end_event();
                // A truncated event is dropped; the missing end shows that the answer broke off.
                self.ready
                    .pop_back()
                    .filter(|event| event == b"[DONE]" || sessile_core::json::Raw::parse(event).is_ok())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(form: Protocol, text: &str, step: usize) -> Vec<String> {
        let mut framing = Framing::of(form, false);
        let mut events = Vec::new();
        for piece in text.as_bytes().chunks(step) {
            framing.push(piece).unwrap();
            events.extend(std::iter::from_fn(|| framing.take()));
        }
        events.extend(framing.finish());
        events.into_iter().map(|event| String::from_utf8(event).unwrap()).collect()
    }

    #[test]
    fn events_are_the_same_however_they_arrive() {
        let text = "event: x\r\ndata: {\"a\":1}\r\n\r\n: ping\n\ndata: {\"b\":\ndata: \"日\"}\n\ndata: [DONE]";
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(events(Protocol::OpenAi, text, step), ["{\"a\":1}", "{\"b\":\n\"日\"}", "[DONE]"]);
            assert_eq!(events(Protocol::Ollama, "{\"a\":1}\n\n{\"b\":2}", step), ["{\"a\":1}", "{\"b\":2}"]);
        }
        assert!(events(Protocol::OpenAi, "data: {\"cut", 3).is_empty());
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut framing = Framing::of(Protocol::OpenAi, false);
        let piece = vec![b'x'; 1 << 20];
        let pushed: Vec<bool> = (0..5).map(|_| framing.push(&piece).is_ok()).collect();
        assert_eq!(pushed, [true, true, true, true, false]);
    }
}
