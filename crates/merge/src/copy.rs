//! Reads the copies.

use sessile_core::json::{Json, Raw};
use sessile_core::line::{Line, Span};
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;

use crate::chunks::hash_of_span;
use crate::error::MergeError;
use crate::names::{NONE, Names};
use crate::odd::Odd;
use crate::part::Part;
use crate::rows::Rows;
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
    /// Reads a copy. Its index is the number of copies read before, of which `first` is the first.
    pub(crate) fn read(source: &'s S, first: Option<&Self>, to: &mut Collected) -> Result<Self, MergeError<S::Error>> {
        let copy = to.rows.copies.len();
        let first_row = to.rows.len();
        let mut outline = Outline::new();
        let mut header: Option<(u64, Vec<u8>)> = None;
        source.scan(&mut |line| {
            outline.push(line, &mut StableIds);
            let line = line.without_bom();
            if let (None, Some(bytes), true) = (&header, line.bytes, outline.header().is_some()) {
                header = Some((line.span.offset, bytes.to_vec()));
            }
            // Upgrading needs an outline of the whole copy.
            header.is_none() || outline.upgrade().is_needed()
        })?;
        let Some((offset, line)) = header.filter(|_| outline.is_session()) else {
            return Err(MergeError::NotASession { copy });
        };
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
        let mut long = Vec::new();
        if read.is_old() {
            read.scan_old(Part::new(copy, offset, 0), &mut |part| long.extend(to.append(part)))?;
        } else {
            let from = match first.filter(|first| !first.is_old()) {
                Some(first) => source.common_lines(first.source)?,
                None => 0,
            };
            to.repeat_first(copy, from);
            source.scan_parts(&Part::new(copy, offset, from), &mut |part| long.extend(to.append(part)))?;
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
    fn scan_old(&self, mut part: Part, on_part: &mut dyn FnMut(Part)) -> Result<(), S::Error> {
        let mut failed = None;
        self.source.scan(&mut |line: Line<'_>| {
            let plain = line.without_bom();
            match (plain.bytes, self.row_at(plain.span.offset)) {
                (Some(bytes), Some(row)) if row > 0 => match self.upgraded(row, bytes) {
                    Ok(upgraded) => part.text(&upgraded, plain.span),
                    Err(error) => failed = Some(error),
                },
                _ => part.push(line),
            }
            if part.is_full() {
                let next = part.next();
                on_part(std::mem::replace(&mut part, next));
            }
            failed.is_none()
        })?;
        on_part(part);
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
    /// Takes the lines before an offset from the first copy, where they are the same.
    fn repeat_first(&mut self, copy: usize, end: u64) {
        self.rows.repeat_first(end);
        let is_same = |odd: &&Odd| odd.copy == 0 && odd.span.offset < end;
        let odd: Vec<Odd> = self.odd.iter().filter(is_same).map(|odd| Odd { copy, ..odd.clone() }).collect();
        self.odd.extend(odd);
    }

    /// Takes the next part of a copy. Returns the lines that are too long to parse.
    fn append(&mut self, part: Part) -> Vec<Span> {
        let numbers = self.names.intern_all(part.names);
        self.rows.append(part.rows, &numbers);
        self.odd.extend(part.odd);
        part.long
    }
}
