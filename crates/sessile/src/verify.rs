//! Looking for what is wrong with sessions.
//!
//! [`examine`] is the one place that decides what is wrong and what would be
//! done about it: `verify` reports it, `repair` does it and examines the
//! result, so the two cannot disagree.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::diagnostic::Severity;
use sessile_core::head::{self, Parsed};
use sessile_core::header::Header;
use sessile_core::json::{Edit, Json, ObjectWriter, Raw};
use sessile_core::line::{LINE_CAP, Line, Span};
use sessile_core::location::encode_cwd;
use sessile_core::migrate::upgrade_value;
use sessile_core::orphan::{Adoption, adoptions, is_orphan};
use sessile_core::outline::{Outline, Row};
use sessile_core::salvage::{Damaged, How, Salvaged, take_apart};
use sessile_core::verify::{self, Code, Finding, Remedy};
use sessile_core::version::Upgrade;
use sessile_store::{FileLog, find_sessions, missing_lines, permissions, subdirectories};

use crate::environment::{Environment, Migrated};
use crate::error::SessionError;
use crate::list::read_header;
use crate::manager::Sessions;
use crate::place::{absolute, default_session_dir, given_dir, sessions_root};
use crate::splice::{Splice, Spliced, Stored, Text};
use crate::world::World;

/// What was found in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// The findings in file order; empty if nothing is worth telling.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing but notes was found.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::counts)
    }

    /// The report as JSON: `{path, findings}`.
    pub fn to_json(&self) -> Json {
        let findings: Vec<Json> = self.findings.iter().map(finding_json).collect();
        let mut report = ObjectWriter::new();
        report.string("path", &self.path.to_string_lossy()).array("findings", findings.iter().map(Json::raw));
        report.finish()
    }
}

/// A finding as JSON: `{code, severity, line, offset, message, consequence, repair}`.
pub(crate) fn finding_json(finding: &Finding) -> Json {
    let mut object = ObjectWriter::new();
    object.string("code", finding.code.word()).string("severity", finding.severity.word());
    write_place(&mut object, finding.line, finding.offset);
    object
        .string("message", &finding.message)
        .string("consequence", finding.consequence())
        .string("repair", finding.remedy.text());
    object.finish()
}

pub(crate) fn write_place(object: &mut ObjectWriter, line: u64, offset: u64) {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    object.integer("line", number(line)).integer("offset", number(offset));
}

/// A whole record in a damaged line. It is no entry until repair has given it a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenRecord {
    /// The line it begins on, counted from 1.
    pub line: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// How it was found.
    pub how: How,
    /// The record.
    pub record: Json,
}

/// One session of many that was looked at: see [`Sessions::verify_all`].
pub struct Verified<'v> {
    /// Its file, or a directory that could not be listed.
    pub path: &'v Path,
    /// What was found.
    pub report: Result<Report, SessionError>,
    /// How many bytes of sessions were looked at by now.
    pub n_done: u64,
    /// How many there are in all.
    pub n_bytes: u64,
}

impl Sessions {
    /// Looks for everything that is wrong with a session. Changes nothing.
    pub fn verify(&self, path: impl AsRef<Path>) -> Result<Report, SessionError> {
        self.verify_beside(path.as_ref(), &mut Neighbours::default())
    }

    /// Verifies all sessions of a directory, or of every directory of the store, and hands on each report.
    ///
    /// A file that cannot be read, or is no session, does not keep the others from being looked at.
    pub fn verify_all(
        &self,
        session_dir: Option<&Path>,
        cancel: &Cancel,
        on_verified: &mut dyn FnMut(Verified<'_>),
    ) -> Result<(), SessionError> {
        let environment = self.environment();
        let directories = match given_dir(environment, session_dir) {
            Some(directory) => vec![directory],
            None => subdirectories(self.world.os(), &sessions_root(environment))?,
        };
        let listed: Vec<_> = directories
            .into_iter()
            .map(|directory| {
                let files = find_sessions(self.world.os(), &directory);
                (directory, files)
            })
            .collect();
        let files = || listed.iter().filter_map(|(_, files)| files.as_ref().ok()).flatten();
        let n_bytes = files().map(|file| file.stat.length).sum();
        let mut n_done = 0;
        let mut neighbours = Neighbours::default();
        for (directory, files) in listed {
            match files {
                Ok(files) => {
                    for file in files {
                        if cancel.is_cancelled() {
                            return Err(SessionError::Cancelled);
                        }
                        let report = self.verify_beside(&file.path, &mut neighbours);
                        n_done += file.stat.length;
                        on_verified(Verified { path: &file.path, report, n_done, n_bytes });
                    }
                }
                Err(error) => on_verified(Verified { path: &directory, report: Err(error.into()), n_done, n_bytes }),
            }
        }
        Ok(())
    }

    /// Whether a directory holds no sessions, but directories with sessions, as the root of pi's store does.
    pub fn is_store_root(&self, dir: impl AsRef<Path>) -> bool {
        let dir = absolute(self.environment(), dir.as_ref());
        let has_sessions = |dir: &Path| find_sessions(self.world.os(), dir).is_ok_and(|files| !files.is_empty());
        let below = || subdirectories(self.world.os(), &dir).unwrap_or_default();
        !has_sessions(&dir) && below().iter().any(|dir| has_sessions(dir))
    }

    /// The whole records in a session's damaged lines that repair would bring back.
    pub fn hidden_records(&self, path: impl AsRef<Path>) -> Result<Vec<HiddenRecord>, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let log = FileLog::open(&self.world.os, path.clone(), self.world.writing)?;
        let examined = examine(self.environment(), &path, &Stored::new(&log)?)?;
        Ok(examined.hidden.into_iter().filter_map(|found| found.to_record()).collect())
    }

    fn verify_beside(&self, path: &Path, neighbours: &mut Neighbours) -> Result<Report, SessionError> {
        let environment = self.environment();
        let path = absolute(environment, path);
        let log = FileLog::open(&self.world.os, path.clone(), self.world.writing)?;
        let examined = examine(environment, &path, &Stored::new(&log)?)?;
        let mut findings = exposure(&self.world, &path)?;
        let Vanished { restorable, expired } = vanished(&self.world, &path)?;
        findings.extend(restorable.into_iter().chain(expired));
        findings.extend(neighbours.collision(&self.world, &path, &examined.cwd));
        findings.extend(examined.findings);
        Ok(Report { path, findings })
    }
}

/// Whether others can read a file.
pub(crate) fn exposure(world: &World, path: &Path) -> Result<Vec<Finding>, SessionError> {
    let found = permissions(world.os(), path)?;
    if found.are_private() {
        return Ok(Vec::new());
    }
    let directory = found.directory.map(|mode| format!(", that of its directory {mode:04o}")).unwrap_or_default();
    let message = format!("the mode of the file is {:04o}{directory}", found.file);
    let remedy = Remedy::Permissions("with --permissions: sets them to 0600 and 0700".to_owned());
    let finding = Finding::new(Code::Permissions, 1, 0, message).with(remedy);
    // A private file in an open directory shows others its name, not what is in it.
    let severity = if found.is_file_private() { Severity::Note } else { finding.severity };
    Ok(vec![Finding { severity, ..finding }])
}

/// Entries that were acknowledged and are no longer in a file, as its guard knows.
#[derive(Default)]
pub(crate) struct Vanished {
    /// Those that are put back.
    pub(crate) restorable: Option<Finding>,
    /// Those that are too old for that.
    pub(crate) expired: Option<Finding>,
}

/// Whether entries that were acknowledged are no longer in a file, and what becomes of them.
pub(crate) fn vanished(world: &World, path: &Path) -> Result<Vanished, SessionError> {
    let missing = missing_lines(world.os(), path)?;
    let finding = |n_missing: usize, rest: &str| {
        let are = if n_missing == 1 { "entry is" } else { "entries are" };
        let message = format!("{n_missing} acknowledged {are} not in the file{rest}");
        (n_missing > 0).then(|| Finding::new(Code::Vanished, 1, 0, message))
    };
    let back = "puts them back at the end; so does the next command that writes to the session within an hour of their \
                acknowledgement";
    let old = ", and more than an hour old: the next command that writes to the session forgets them";
    let restorable = finding(missing.restorable.len(), "");
    let expired = finding(missing.expired.len(), old);
    Ok(Vanished {
        restorable: restorable.map(|finding| finding.with(Remedy::Repair(back.to_owned()))),
        // Whether they were destroyed or taken out on purpose cannot be told any more.
        expired: expired.map(|finding| Finding { severity: Severity::Note, ..finding }),
    })
}

/// The working directories whose sessions a directory holds, looked up once.
#[derive(Default)]
struct Neighbours(HashMap<PathBuf, BTreeSet<PathBuf>>);

impl Neighbours {
    /// Whether a session shares its default directory with those of another working directory.
    fn collision(&mut self, world: &World, path: &Path, cwd: &str) -> Option<Finding> {
        let environment = world.environment();
        let cwd = absolute(environment, Path::new(cwd));
        let directory = path.parent().filter(|directory| *directory == default_session_dir(environment, &cwd))?;
        let all = self.0.entry(directory.to_path_buf()).or_insert_with(|| {
            let files = find_sessions(world.os(), directory).unwrap_or_default();
            let named = files.iter().filter_map(|file| read_header(world, &file.path)?.cwd());
            named.filter(|named| !named.is_empty()).map(|named| absolute(environment, Path::new(&named))).collect()
        });
        let other = all.iter().find(|other| **other != cwd && encode_cwd(other) == encode_cwd(&cwd))?;
        let message = format!("{} and {} share this directory", cwd.display(), other.display());
        Some(Finding::new(Code::DirectoryCollision, 1, 0, message))
    }
}

/// All that was found in a text, and all that would be done about it.
pub(crate) struct Examined {
    pub(crate) outline: Outline,
    pub(crate) findings: Vec<Finding>,
    /// The records in damaged lines that are taken apart.
    pub(crate) hidden: Vec<Hidden>,
    /// Entries that get another parent, and that parent.
    pub(crate) adopted: Vec<Adopted>,
    /// What is changed to bring records back.
    pub(crate) salvage: Vec<Splice>,
    /// What is changed after that to give orphans a parent.
    pub(crate) adoption: Vec<Splice>,
    /// Whether a byte order mark goes.
    pub(crate) drops_mark: bool,
    /// The working directory that the header names.
    pub(crate) cwd: String,
}

impl Examined {
    /// Whether there is something to change.
    pub(crate) fn is_repairable(&self) -> bool {
        !self.salvage.is_empty() || !self.adoption.is_empty()
    }
}

/// A record in a damaged line, and the place of its first byte in the file.
pub(crate) struct Hidden {
    pub(crate) line: u64,
    pub(crate) at: Span,
    pub(crate) fate: Fate,
    pub(crate) record: Salvaged,
}

impl Hidden {
    fn to_record(&self) -> Option<HiddenRecord> {
        let record = Json::parse(&self.record.line).ok().filter(|_| self.fate == Fate::ComesBack)?;
        Some(HiddenRecord { line: self.line, offset: self.at.offset, how: self.record.how, record })
    }
}

/// An orphan and its new parent.
pub(crate) struct Adopted {
    /// Where the orphan stands once records have come back.
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) id: EntryId,
    pub(crate) lost: EntryId,
    pub(crate) parent: EntryId,
}

/// Finds out what is wrong with a text and what would be done about it.
pub(crate) fn examine(environment: &dyn Environment, path: &Path, text: &dyn Text) -> Result<Examined, SessionError> {
    let outline = outline_of(environment, text)?;
    let mut damage = Damage::new(&outline);
    damage.look(text)?;
    let Damage { mut findings, hidden, has_header, .. } = damage;
    if !has_header {
        return Err(SessionError::NotASession { path: path.to_path_buf() });
    }
    let drops_mark = has_mark(text)? && may_mend(&outline);
    let salvage = salvage_splices(text, &hidden, drops_mark)?;
    let mended = Spliced::new(text, &salvage);
    let after = if salvage.is_empty() { None } else { Some(outline_of(environment, &mended)?) };
    let after = after.as_ref().unwrap_or(&outline);
    let adoptions = if may_mend(&outline) { adoptions(after) } else { Vec::new() };
    let (adoption, adopted) = adoption_splices(path, &mended, after, &adoptions)?;

    findings.extend(missing_parents(&outline, &hidden, &adopted));
    findings.extend(verify::oddities(&outline));
    let header = after.header().map(|row| value(path, &mended, after, row)).transpose()?.map(Header::new);
    findings.extend(header.as_ref().and_then(|header| verify::version(&outline, header)));
    findings.extend(verify::references(&outline, &mut |row| value(path, text, &outline, row))?);
    for finding in findings.iter_mut().filter(|finding| finding.code == Code::ByteOrderMark && drops_mark) {
        finding.remedy = Remedy::Repair("takes the mark away".to_owned());
    }
    findings.sort_by_key(|finding| (finding.line, finding.offset, finding.code));
    let cwd = header.and_then(|header| header.cwd()).unwrap_or_default();
    Ok(Examined { outline, findings, hidden, adopted, salvage, adoption, drops_mark, cwd })
}

fn outline_of(environment: &dyn Environment, text: &dyn Text) -> Result<Outline, SessionError> {
    let mut outline = Outline::new();
    let mut ids = Migrated(environment);
    text.lines(text.whole(), &mut |line| outline.push(line, &mut ids))?;
    Ok(outline)
}

/// Whether files of this version are changed at all.
///
/// Records of version 1 have no ids to tell them by, and its compactions count lines.
fn may_mend(outline: &Outline) -> bool {
    matches!(outline.upgrade(), Upgrade::None | Upgrade::FromV2)
}

/// The value of a row in the current version's form.
fn value(path: &Path, text: &dyn Text, outline: &Outline, row: Row) -> Result<Json, SessionError> {
    let mut stored = |row: Row| {
        let line = text.read(outline.span(row))?;
        Json::parse(line).map_err(|source| SessionError::Changed {
            path: path.to_path_buf(),
            line: outline.line_number(row),
            source,
        })
    };
    let value = stored(row)?;
    if !outline.upgrade().is_needed() || outline.header() == Some(row) {
        return Ok(value);
    }
    upgrade_value(outline, row, value.raw(), &mut stored)
}

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

fn has_mark(text: &dyn Text) -> Result<bool, SessionError> {
    let len = text.length().min(MARK.len() as u64);
    Ok(text.read(Span { offset: 0, len })? == MARK)
}

/// The lines that are no rows, taken apart.
struct Damage<'o> {
    outline: &'o Outline,
    findings: Vec<Finding>,
    hidden: Vec<Hidden>,
    /// Whether a header is there, or was found.
    has_header: bool,
    /// The places among them of the ids found so far.
    found: HashMap<EntryId, usize>,
}

impl<'o> Damage<'o> {
    fn new(outline: &'o Outline) -> Self {
        let has_header = outline.is_session();
        Self { outline, findings: Vec::new(), hidden: Vec::new(), has_header, found: HashMap::new() }
    }

    /// Looks at everything between rows.
    fn look(&mut self, text: &dyn Text) -> Result<(), SessionError> {
        let (mut from, mut line) = (0, 1);
        for row in self.outline.rows() {
            let span = self.outline.span(row);
            let is_before_rows = row.index() == 0;
            self.gap(text, Span { offset: from, len: span.offset - from }, line, is_before_rows)?;
            (from, line) = (span.end() + 1, self.outline.line_number(row) + 1);
        }
        let len = text.length().saturating_sub(from);
        self.gap(text, Span { offset: from, len }, line, self.outline.rows().len() == 0)
    }

    /// Looks at the lines of a span, as many at a time as memory is meant for.
    fn gap(&mut self, text: &dyn Text, span: Span, line: u64, is_before_rows: bool) -> Result<(), SessionError> {
        if span.len == 0 {
            return Ok(());
        }
        let mut run = Run { start: span.offset, line, bytes: Vec::new() };
        let mut result = Ok(());
        text.lines(span, &mut |line: Line<'_>| {
            let len = line.bytes.map_or(0, <[u8]>::len);
            if line.bytes.is_none() || run.bytes.len() + len > LINE_CAP {
                result = std::mem::replace(&mut result, Ok(())).and_then(|()| self.run(text, &run, is_before_rows));
                run.begin_at(line.span.offset);
            }
            match line.bytes {
                Some(bytes) => run.push(bytes, line.terminated),
                None => run.pass_over(line.span.end() + 1),
            }
        })?;
        result.and_then(|()| self.run(text, &run, is_before_rows))
    }

    fn run(&mut self, text: &dyn Text, run: &Run, is_before_rows: bool) -> Result<(), SessionError> {
        take_apart(&run.bytes).iter().try_for_each(|damaged| self.damaged(text, run, damaged, is_before_rows))
    }

    fn damaged(
        &mut self,
        text: &dyn Text,
        run: &Run,
        damaged: &Damaged,
        is_before_rows: bool,
    ) -> Result<(), SessionError> {
        let line = run.line + damaged.line as u64;
        let place = |range: &Range<usize>| Span { offset: run.start + range.start as u64, len: range.len() as u64 };
        let mut taken = Vec::new();
        let mut has_header = self.has_header;
        for record in &damaged.records {
            let fate = self.fate(text, record, &taken, is_before_rows, has_header)?;
            has_header |= record.is_header;
            taken.push(Hidden { line, at: place(&record.range), fate, record: record.clone() });
        }
        let is_worth_it = taken.iter().any(|found| found.fate == Fate::ComesBack);
        let must_stay = || taken.iter().any(|found| found.fate == Fate::Stays) || brings_to_light(run, damaged);
        if !is_worth_it || must_stay() {
            taken.clear();
        }
        let finding = verify::damage(damaged, line, place(&damaged.range).offset);
        self.findings.push(match (taken.is_empty(), self.outline.upgrade()) {
            (false, _) => finding.with(Remedy::Repair(salvage_text(&taken))),
            (true, Upgrade::FromV1) if !damaged.records.is_empty() => {
                finding.with(Remedy::Leave("left as it is: records of version 1 have no ids to tell them by"))
            }
            (true, Upgrade::Newer) => finding.with(Remedy::Leave(Code::NewerVersion.why_left())),
            (true, _) => finding,
        });
        for found in taken {
            if found.record.is_header {
                self.has_header = true;
                self.findings.push(lost_header());
            }
            self.found.insert(found.record.id.clone(), self.hidden.len());
            self.hidden.push(found);
        }
        Ok(())
    }

    /// What becomes of a record in a damaged line, those before it on the line being `taken`.
    fn fate(
        &self,
        text: &dyn Text,
        record: &Salvaged,
        taken: &[Hidden],
        is_before_rows: bool,
        has_header: bool,
    ) -> Result<Fate, SessionError> {
        let is_wanted = if record.is_header {
            is_before_rows && !has_header
        } else {
            // Nothing may come to stand before the header.
            has_header && !(is_before_rows && self.outline.is_session())
        };
        if !may_mend(self.outline) || !is_wanted {
            return Ok(Fate::Stays);
        }
        if record.is_header {
            return Ok(Fate::ComesBack);
        }
        let in_file = self.outline.find(&record.id).map(|row| text.read(self.outline.span(row))).transpose()?;
        let found = self.found.get(&record.id).map(|index| &self.hidden[*index]);
        let found = found.or_else(|| taken.iter().find(|found| found.record.id == record.id));
        let other = in_file.as_deref().or(found.map(|found| found.record.line.as_slice()));
        Ok(match other {
            None => Fate::ComesBack,
            Some(other) if is_same(other, &record.line) => Fate::IsCopy,
            Some(_) => Fate::Stays,
        })
    }
}

/// Whether two lines are the same record, the parent apart, which repair may have changed in one of them.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let null = Json::null();
    let bare = |line| Raw::parse(line).map(|value: Raw<'_>| value.edited(&[Edit::Set("parentId", null.raw())]));
    bare(one).is_ok_and(|one| bare(other) == Ok(one))
}

/// What becomes of a record in a damaged line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It gets a line of its own.
    ComesBack,
    /// The same record is a line already, or will be; it is not needed twice.
    IsCopy,
    /// It must not count, so it stays hidden, and so does what is on the line with it.
    Stays,
}

/// Whether what is left of a damaged line would be readable once the records are taken out of it.
///
/// pi takes such a line for an entry, and one without an id cuts the conversation.
fn brings_to_light(run: &Run, damaged: &Damaged) -> bool {
    let mut ends: Vec<usize> = vec![damaged.range.start];
    ends.extend(damaged.records.iter().flat_map(|record| [record.range.start, record.range.end]));
    ends.push(damaged.range.end);
    let is_readable = |line: &[u8]| matches!(head::read(line), Parsed::Kept(_));
    ends.chunks_exact(2).any(|rest| run.bytes[rest[0]..rest[1]].split(|byte| *byte == b'\n').any(is_readable))
}

fn lost_header() -> Finding {
    let remedy = Remedy::Repair("the header comes back".to_owned());
    Finding::new(Code::NoHeader, 1, 0, "the header is not on a line of its own").with(remedy)
}

/// Some lines that follow each other.
struct Run {
    start: u64,
    line: u64,
    bytes: Vec<u8>,
}

impl Run {
    fn push(&mut self, line: &[u8], terminated: bool) {
        self.bytes.extend_from_slice(line);
        self.bytes.extend(terminated.then_some(b'\n'));
    }

    /// Starts over with the line at this offset.
    fn begin_at(&mut self, offset: u64) {
        self.line += self.bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        self.start = offset;
        self.bytes.clear();
    }

    /// Goes on behind a line that is not looked into.
    fn pass_over(&mut self, end: u64) {
        self.line += 1;
        self.start = end;
    }
}

fn salvage_text(taken: &[Hidden]) -> String {
    let back = || taken.iter().filter(|found| found.fate == Fate::ComesBack).map(|found| &found.record);
    let ids = verify::ids(back().map(|record| &record.id));
    match back().map(|record| record.how).max() {
        Some(How::Joined) => format!("writes {ids} as one line, the newline as an escape"),
        Some(How::WithoutNuls) => format!("gives {ids} a line without the NUL bytes; what they replaced is lost"),
        _ => format!("gives {ids} a line of its own; what is left of the damaged line stays"),
    }
}

/// The changes that give each record a line of its own.
///
/// Where nothing stands between a record and the bytes around it a newline
/// comes in; no other byte changes unless it is what damaged the record.
fn salvage_splices(text: &dyn Text, hidden: &[Hidden], drops_mark: bool) -> Result<Vec<Splice>, SessionError> {
    let mut splices = Vec::new();
    if drops_mark {
        splices.push(Splice { at: Span { offset: 0, len: MARK.len() as u64 }, with: Vec::new() });
    }
    let start = if drops_mark { MARK.len() as u64 } else { 0 };
    let is_newline = |offset: u64| -> Result<bool, SessionError> { Ok(text.read(Span { offset, len: 1 })? == b"\n") };
    let mut end_of_last = None;
    for Hidden { at, fate, record, .. } in hidden {
        // Behind the last record a newline was put already.
        if at.offset > start && end_of_last != Some(at.offset) && !is_newline(at.offset - 1)? {
            splices.push(Splice::insert(at.offset, b"\n"));
        }
        match fate {
            Fate::IsCopy => splices.push(Splice { at: *at, with: Vec::new() }),
            _ if record.how != How::Whole => splices.push(Splice { at: *at, with: record.line.clone() }),
            _ => {}
        }
        if at.end() < text.length() && !is_newline(at.end())? {
            splices.push(Splice::insert(at.end(), b"\n"));
            end_of_last = Some(at.end());
        }
    }
    Ok(splices)
}

/// The changes that hang each orphan on its new parent: the value of `parentId` and nothing else.
fn adoption_splices(
    path: &Path,
    text: &dyn Text,
    outline: &Outline,
    adoptions: &[Adoption],
) -> Result<(Vec<Splice>, Vec<Adopted>), SessionError> {
    let (mut splices, mut adopted) = (Vec::new(), Vec::new());
    for Adoption { row, parent } in adoptions {
        let names = (outline.id(*row), outline.parent_id(*row), outline.id(*parent));
        let (Some(id), Some(lost), Some(parent)) = names else { continue };
        let (span, line) = (outline.span(*row), outline.line_number(*row));
        let bytes = text.read(span)?;
        let changed = |source| SessionError::Changed { path: path.to_path_buf(), line, source };
        let Some(old) = Raw::parse(&bytes).map_err(changed)?.get("parentId") else { continue };
        let into = old.as_bytes().as_ptr().addr() - bytes.as_ptr().addr();
        let at = Span { offset: span.offset + into as u64, len: old.as_bytes().len() as u64 };
        splices.push(Splice { at, with: parent.to_json().into_bytes() });
        adopted.push(Adopted { line, offset: span.offset, id, lost, parent });
    }
    Ok((splices, adopted))
}

/// Entries whose parent is not in the file, and where they go.
fn missing_parents(outline: &Outline, hidden: &[Hidden], adopted: &[Adopted]) -> Vec<Finding> {
    let hidden: BTreeMap<&EntryId, u64> = hidden.iter().map(|found| (&found.record.id, found.line)).collect();
    let adopted: BTreeMap<&EntryId, &EntryId> = adopted.iter().map(|it| (&it.id, &it.parent)).collect();
    let orphans = outline.entries().filter(|row| is_orphan(outline, *row));
    orphans.filter_map(|row| Some(missing_parent(outline, row, &outline.parent_id(row)?, &hidden, &adopted))).collect()
}

fn missing_parent(
    outline: &Outline,
    row: Row,
    parent: &EntryId,
    hidden: &BTreeMap<&EntryId, u64>,
    adopted: &BTreeMap<&EntryId, &EntryId>,
) -> Finding {
    let message = format!("parent {parent} is not in the file");
    let finding = Finding::new(Code::MissingParent, outline.line_number(row), outline.span(row).offset, message);
    if outline.upgrade().is_newer() {
        return finding.with(Remedy::Leave(Code::NewerVersion.why_left()));
    }
    if outline.current(row) != row {
        return finding.with(Remedy::Leave("left as it is: a later entry of the same id counts"));
    }
    let new = outline.id(row).and_then(|id| adopted.get(&id).copied());
    match (hidden.get(parent), new) {
        (Some(line), _) => finding.with(Remedy::Repair(format!("the parent comes back from line {line}"))),
        (None, Some(new)) => finding.with(Remedy::Repair(format!("hangs it on {new}, the entry before it"))),
        (None, None) => finding,
    }
}
