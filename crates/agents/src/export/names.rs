//! Ids that depend only on the conversation, so that a second export gives the same file.

use sha2::{Digest, Sha256};

use super::conversation::{Conversation, Part};
use super::{ExportSource, Target};

/// Makes the ids of an export.
#[derive(Debug)]
pub(super) struct Names {
    seed: [u8; 32],
}

impl Names {
    /// The agent, the session, the directory and everything that is said decide.
    pub(super) fn new(target: Target, source: &ExportSource<'_>, conversation: &Conversation) -> Self {
        let mut hash = Hash(Sha256::new());
        hash.text(target.word()).text(source.session_id).text(source.cwd);
        for turn in &conversation.turns {
            hash.text(if turn.answer.is_some() { "answer" } else { "user" });
            hash.text(&turn.time.as_ms().to_string());
            turn.parts.iter().fold(&mut hash, Hash::part);
            for (_, result) in turn.calls() {
                hash.text("result").text(if result.is_error { "error" } else { "" });
                result.parts.iter().fold(&mut hash, Hash::part);
            }
        }
        Self { seed: hash.0.finalize().into() }
    }

    fn digest(&self, kind: &str, number: usize) -> [u8; 32] {
        let mut hash = Hash(Sha256::new());
        hash.0.update(self.seed);
        hash.text(kind).text(&number.to_string());
        hash.0.finalize().into()
    }

    /// A UUID in the form of version 4.
    pub(super) fn uuid(&self, kind: &str, number: usize) -> String {
        let [a, b] = self.halves(kind, number);
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xfff,
            b >> 48 & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        )
    }

    /// A UUID of version 7, which begins with a time.
    pub(super) fn uuid_at(&self, ms: i64, kind: &str, number: usize) -> String {
        let ms = u64::try_from(ms).unwrap_or_default() & 0xffff_ffff_ffff;
        let [a, b] = self.halves(kind, number);
        format!(
            "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
            ms >> 16,
            ms & 0xffff,
            a & 0xfff,
            b >> 48 & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        )
    }

    /// So many letters and digits.
    pub(super) fn letters(&self, kind: &str, number: usize, length: usize) -> String {
        const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let letter =
            |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).map_or('0', |letter| char::from(*letter));
        self.digest(kind, number).into_iter().map(letter).take(length).collect()
    }

    /// A number of 64 bits.
    pub(super) fn number(&self, kind: &str, number: usize) -> u64 {
        let [first, _] = self.halves(kind, number);
        first
    }

    fn halves(&self, kind: &str, number: usize) -> [u64; 2] {
        let digest = self.digest(kind, number);
        let half = |from: usize| digest.iter().skip(from).take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        [half(0), half(8)]
    }
}

/// A hash in which the limits between texts count.
struct Hash(Sha256);

impl Hash {
    fn text(&mut self, text: &str) -> &mut Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    fn part(&mut self, part: &Part) -> &mut Self {
        match part {
            Part::Text(text) => self.text("text").text(text),
            Part::Image { data, mime } => self.text(mime).text(data),
            Part::Call(call) => self.text("call").text(&call.id).text(&call.name).text(&call.arguments.to_text()),
        }
    }
}
