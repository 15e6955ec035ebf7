//! Reads the copies.

use sessile_core::json::{Json, Raw};
use sessile_core::line::{Line, Span};
use sessile_core::links::REFERENCES;
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sha2::{Digest, Sha256};

use crate::entry_text::{EntryText, NotAnEntry};
use crate::error::MergeError;
use crate::names::{NONE, Names};
use crate::odd::{Odd, hash_of_span};
use crate::rows::{IS_PRINTED, NO_TIME, NewRow, Reference, Rows};
use crate::source::Source;

/// A copy that was read.
#[derive(Debug)]
pub(crate) struct ReadCopy<'s, S> {
    source: &'s S,
    /// The header in the current version's form.
    pub(crate) header: Vec<u8>,
    /// The session's id.
    pub(crate) session_id: Vec<u8>,
    /// The outline of a copy of an older version, whose lines are upgraded.
    outline: Option<Outline>,
}

/// Where the reading of copies puts what it finds.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) rows: Rows,
    pub(crate) names: Names,
    pub(crate) odd: Vec<Odd>,
}

impl<'s, S: Source> ReadCopy<'s, S> {
    /// Reads a copy. Its index is the number of copies read before.
    pub(crate) fn read(source: &'s S, to: &mut Collected) -> Result<Self, MergeError<S::Error>> {
        let copy = to.rows.copies.len();
        let first_row = to.rows.len();
        let mut outline = Outline::new();
        let mut header: Option<Vec<u8>> = None;
        let mut long = Vec::new();
        source.scan(&mut |line| {
            if outline.header().is_none() || outline.upgrade().is_needed() {
                outline.push(line, &mut StableIds);
            }
            let line = line.without_bom();
            match (&header, line.bytes) {
                (None, Some(bytes)) if outline.header().is_some() => header = Some(bytes.to_vec()),
                // The second pass reads the lines of an older version.
                _ if outline.upgrade().is_needed() => {}
                (_, Some(bytes)) => to.line(copy, bytes, line.span),
                (_, None) => long.push(line.span),
            }
        })?;
        let Some(line) = header.filter(|_| outline.is_session()) else { return Err(MergeError::NotASession { copy }) };
        if outline.upgrade().is_newer() {
            return Err(MergeError::Newer { copy });
        }
        let outline = outline.upgrade().is_needed().then_some(outline);
        let mut read = Self { source, header: Vec::new(), session_id: Vec::new(), outline };
        let value = Raw::parse(&line).ok();
        let id = value.and_then(|value| value.get("id")).and_then(Raw::as_text);
        read.session_id = id.map(|id| id.as_wtf8().to_vec()).unwrap_or_default();
        let trimmed = value.map_or(&*line, Raw::as_bytes);
        read.header = match read.outline.as_ref().and_then(Outline::header) {
            Some(row) => read.upgraded(row.index(), trimmed)?,
            None => trimmed.to_vec(),
        };
        if read.outline.is_some() {
            read.scan_old(copy, to, &mut long)?;
        }
        for span in long {
            let hash = hash_of_span(source, span)?;
            to.odd.push(Odd { copy, span, hash, is_malformed: false });
        }
        if to.rows.len() >= NONE - 2 {
            return Err(MergeError::TooMany);
        }
        to.rows.copies.push(first_row..to.rows.len());
        Ok(read)
    }

    /// Reads the lines of a copy of an older version.
    fn scan_old(&self, copy: usize, to: &mut Collected, long: &mut Vec<Span>) -> Result<(), S::Error> {
        let mut failed = None;
        self.source.scan(&mut |line: Line<'_>| {
            let line = line.without_bom();
            let row = self.row_at(line.span.offset);
            if row == Some(0) {
                return;
            }
            match (line.bytes, row) {
                (None, _) => long.push(line.span),
                (Some(bytes), None) => to.line(copy, bytes, line.span),
                (Some(bytes), Some(row)) => match self.upgraded(row, bytes) {
                    Ok(upgraded) => to.line(copy, &upgraded, line.span),
                    Err(error) => failed = failed.take().or(Some(error)),
                },
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// The row of the outline that begins at an offset.
    fn row_at(&self, offset: u64) -> Option<usize> {
        let outline = self.outline.as_ref()?;
        let index = outline.first_row_from(offset);
        outline.row(index).filter(|row| outline.span(*row).offset == offset).map(|_| index)
    }

    /// A line in the current version's form.
    fn upgraded(&self, row: usize, line: &[u8]) -> Result<Vec<u8>, S::Error> {
        let found = self.outline.as_ref().and_then(|outline| Some((outline, outline.row(row)?)));
        let (Some((outline, row)), Ok(value)) = (found, Raw::parse(line)) else { return Ok(line.to_vec()) };
        let mut read = |row| {
            let bytes = self.source.read(outline.span(row))?;
            Ok(Json::parse(bytes).unwrap_or_else(|_| Json::null()))
        };
        Ok(upgrade_value(outline, row, value, &mut read)?.into_bytes())
    }

    /// Whether lines of this copy change because its version is older.
    pub(crate) fn is_old(&self) -> bool {
        self.outline.is_some()
    }

    /// Reads the line of an entry in the current version's form.
    pub(crate) fn line(&self, span: Span) -> Result<Vec<u8>, S::Error> {
        let bytes = self.source.read(span)?;
        match self.row_at(span.offset) {
            Some(row) => self.upgraded(row, &bytes),
            None => Ok(bytes),
        }
    }

    pub(crate) fn source(&self) -> &'s S {
        self.source
    }
}

impl Collected {
    fn line(&mut self, copy: usize, bytes: &[u8], span: Span) {
        let is_malformed = match EntryText::read(bytes) {
            Ok(entry) => return self.entry(&entry, span),
            Err(NotAnEntry::Blank) => return,
            Err(other) => other == NotAnEntry::Malformed,
        };
        self.odd.push(Odd { copy, span, hash: Sha256::digest(bytes).into(), is_malformed });
    }

    fn entry(&mut self, entry: &EntryText<'_>, span: Span) {
        let row = self.rows.len();
        let [parent, others @ ..] = entry.references();
        for (field, other) in (1..).zip(others) {
            if let Some(other) = other {
                let name = self.names.intern(other.as_wtf8());
                self.rows.references.push(Reference { row, field, name, target: NONE });
            }
        }
        debug_assert_eq!(REFERENCES[0], "parentId");
        let (hash, is_printed) = entry.hash();
        self.rows.push(&NewRow {
            span,
            id: self.names.intern(entry.current_id().as_wtf8()),
            original: self.names.intern(entry.id().as_wtf8()),
            parent: parent.map_or(NONE, |parent| self.names.intern(parent.as_wtf8())),
            time: entry.time().unwrap_or(NO_TIME),
            hash,
            flags: if is_printed { IS_PRINTED } else { 0 },
        });
    }
}
