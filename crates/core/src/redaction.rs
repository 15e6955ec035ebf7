//! The mark of a redacted copy.

use crate::json::{ObjectWriter, Raw, Shape};

/// What the header of a redacted copy says about it. Every text comes from the file and may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// The program that made the copy.
    pub by: Option<String>,
    /// The level, such as `secrets`.
    pub level: Option<String>,
    /// A code of the source's id. Only the holder of the key that made it can compare it.
    pub source: Option<String>,
    /// The number of secrets found.
    pub findings: Option<u64>,
    /// When the copy was made, as written.
    pub at: Option<String>,
}

impl Redaction {
    /// Reads the mark; `None` if the value is not an object.
    pub fn of(value: Raw<'_>) -> Option<Self> {
        let text = |key| value.get(key).and_then(Raw::as_string);
        let findings = value.get("findings").and_then(|number| number.to_text().parse().ok());
        (value.shape() == Shape::Object).then(|| Self {
            by: text("by"),
            level: text("level"),
            source: text("source"),
            findings,
            at: text("at"),
        })
    }

    /// One sentence about the copy.
    pub fn words(&self) -> String {
        let level = self.level.as_deref().map(|level| format!(" at level {level}")).unwrap_or_default();
        let by = self.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let at = self.at.as_deref().map(|at| format!(" on {at}")).unwrap_or_default();
        format!("this is a redacted copy of a session, made{by}{level}{at}")
    }

    /// Adds the members that are known.
    pub fn put(&self, out: &mut ObjectWriter) {
        let texts = [("by", &self.by), ("level", &self.level), ("source", &self.source)];
        for (key, text) in texts {
            if let Some(text) = text {
                out.string(key, text);
            }
        }
        if let Some(findings) = self.findings {
            out.integer("findings", i64::try_from(findings).unwrap_or(i64::MAX));
        }
        if let Some(at) = &self.at {
            out.string("at", at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use crate::json::Json;

    #[test]
    fn marks_are_read_from_headers() {
        let redaction = |mark: &str| Header::new(Json::parse(format!(r#"{{"redacted":{mark}}}"#)).unwrap()).redaction();
        let mark = r#"{"by":"x","level":"paths","source":"00","findings":3,"at":"2026-01-01"}"#;
        let read = redaction(mark).unwrap();
        assert_eq!((read.level.as_deref(), read.findings), (Some("paths"), Some(3)));
        assert_eq!(read.words(), "this is a redacted copy of a session, made by x at level paths on 2026-01-01");
        let mut out = ObjectWriter::new();
        read.put(&mut out);
        assert_eq!(out.finish().to_text(), mark);
        assert_eq!(redaction(r#"{"findings":-1,"by":1}"#), Some(Redaction::default()));
        assert_eq!([redaction("true"), redaction("[]")], [None, None]);
    }
}
