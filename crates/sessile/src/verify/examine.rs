//! Finds what is wrong with a text, and plans the repair.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use sessile_core::EntryId;
use sessile_core::head::Kind;
use sessile_core::header::Header;
use sessile_core::incomplete::{MARK_LENGTH, is_marked};
use sessile_core::json::{Json, Raw};
use sessile_core::line::{BOM, Span};
use sessile_core::migrate::upgrade_value;
use sessile_core::orphan::is_orphan;
use sessile_core::outline::{Outline, Row};
use sessile_core::verify::{self, Code, Finding, Remedy};
use sessile_core::version::Upgrade;

use super::damage::{Damage, DamageSite, Hidden, RecordFate};
use super::heading::{Heading, REBUILT};
use super::marks::{Marked, Plan, StandsFor, by_id, plan};
use sessile_store::LogName;

use crate::environment::{Environment, Migrated};
use crate::error::SessionError;
use crate::splice::{Splice, Spliced, Text};
use crate::world::World;

/// The findings for a text, and the planned repair.
pub(crate) struct Examined {
    /// The outline of the text, including a new header if it gets one.
    pub(crate) outline: Outline,
    pub(crate) findings: Vec<Finding>,
    sites: Vec<DamageSite>,
    /// The marks to write for incomplete records.
    pub(crate) marks: Vec<Marked>,
    /// The header to add before anything else, if the file has none.
    pub(crate) heading: Option<Heading>,
    /// The changes to the text with its header.
    pub(crate) splices: Vec<Splice>,
    /// Whether to remove a byte order mark.
    pub(crate) drops_mark: bool,
    /// The working directory in the header.
    pub(crate) cwd: String,
}

impl Examined {
    /// Whether there is something to change.
    pub(crate) fn is_repairable(&self) -> bool {
        self.heading.is_some() || !self.splices.is_empty()
    }

    /// The records to extract from damaged lines, in file order.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Hidden> {
        self.sites.iter().flat_map(|site| &site.hidden)
    }

    /// The change that gives the text its header.
    pub(crate) fn heading_splices(&self) -> &[Splice] {
        self.heading.as_ref().map_or(&[], |heading| std::slice::from_ref(&heading.splice))
    }

    /// The code of the damage at a line.
    pub(crate) fn code_at(&self, line: u64) -> Option<Code> {
        let site = self.sites.iter().rfind(|site| site.finding.line <= line)?;
        Some(site.finding.code)
    }
}

/// Examines a text and plans its repair.
pub(crate) fn examine(world: &World, path: &Path, text: &dyn Text) -> Result<Examined, SessionError> {
    let outline = outline_of(world.environment(), text)?;
    let damage = Damage::of(&outline, text)?;
    if damage.has_header {
        let plan = settle(text, &outline, damage)?;
        return examined(path, text, outline, plan, None);
    }
    let heading = Heading::of(world, path, text, &outline, &damage)?;
    let heading = heading.ok_or_else(|| SessionError::NotASession { path: path.to_path_buf() })?;
    let splice = heading.splice.clone();
    let headed = Spliced::new(text, std::slice::from_ref(&splice));
    let outline = outline_of(world.environment(), &headed)?;
    let plan = settle(&headed, &outline, Damage::of(&outline, &headed)?)?;
    examined(path, &headed, outline, plan, Some(heading))
}

/// The damaged lines, the planned changes, and whether to remove the byte order mark.
struct PlannedRepair {
    sites: Vec<DamageSite>,
    plan: Plan,
    drops_mark: bool,
}

fn settle(text: &dyn Text, outline: &Outline, mut damage: Damage<'_>) -> Result<PlannedRepair, SessionError> {
    let drops_mark = has_mark(text)? && may_repair(outline);
    let plan = plan(text, outline, &mut damage, drops_mark)?;
    Ok(PlannedRepair { sites: damage.sites, plan, drops_mark })
}

fn examined(
    path: &Path,
    text: &dyn Text,
    outline: Outline,
    planned: PlannedRepair,
    heading: Option<Heading>,
) -> Result<Examined, SessionError> {
    let PlannedRepair { sites, plan: Plan { marks, splices }, drops_mark } = planned;
    let mut findings: Vec<Finding> = sites.iter().map(|site| damage_finding(&outline, site, &marks)).collect();
    let header_back = sites.iter().flat_map(|site| &site.hidden).find(|found| found.is_header);
    let header_back = header_back.filter(|found| found.fate == RecordFate::ComesBack);
    findings.extend(header_back.map(|_| lost_header("restores the header".to_owned())));
    findings.extend(missing_parents(&outline, &sites, &marks));
    findings.extend(verify::oddities(&outline));
    let header = match header_back {
        Some(found) => Json::parse(&found.bytes).ok(),
        None => outline.header().map(|row| value(path, text, &outline, row)).transpose()?,
    };
    let header = header.map(Header::new);
    findings.extend(header.as_ref().and_then(|header| verify::version(&outline, header)));
    findings.extend(header.as_ref().and_then(|header| verify::redacted(&outline, header)));
    findings.extend(verify::references(&outline, &mut |row| value(path, text, &outline, row))?);
    findings.extend(marked_entries(text, &outline)?);
    for finding in findings.iter_mut().filter(|finding| finding.code == Code::ByteOrderMark && drops_mark) {
        finding.remedy = Remedy::Repair("removes the mark".to_owned());
    }
    let cwd = header.as_ref().and_then(Header::cwd).unwrap_or_default();
    if let Some(heading) = &heading {
        for finding in &mut findings {
            (finding.line, finding.offset) = heading.before(finding.line, finding.offset);
        }
        findings.push(lost_header(heading.remedy.clone()));
    } else {
        let rebuilt = header.as_ref().and_then(|header| header.json().raw().get(REBUILT));
        findings.extend(rebuilt.map(rebuilt_header));
    }
    findings.sort_by_key(|finding| (finding.line, finding.offset, finding.code));
    Ok(Examined { outline, findings, sites, marks, heading, splices, drops_mark, cwd })
}

pub(crate) fn outline_of(environment: &dyn Environment, text: &dyn Text) -> Result<Outline, SessionError> {
    let mut outline = Outline::new();
    let mut ids = Migrated(environment);
    text.lines(text.whole(), &mut |line| outline.push(line, &mut ids))?;
    Ok(outline)
}

/// Whether repair changes files of this version.
///
/// Records of version 1 have no ids to identify them, and its compactions refer to line numbers.
pub(super) fn may_repair(outline: &Outline) -> bool {
    matches!(outline.upgrade(), Upgrade::None | Upgrade::FromV2)
}

/// The value of a row in the current version's form.
fn value(path: &Path, text: &dyn Text, outline: &Outline, row: Row) -> Result<Json, SessionError> {
    let mut stored = |row: Row| {
        let line = text.read(outline.span(row))?;
        Json::parse(line).map_err(|source| SessionError::Changed {
            log: LogName::file(path),
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

pub(super) fn has_mark(text: &dyn Text) -> Result<bool, SessionError> {
    let len = text.length().min(BOM.len() as u64);
    Ok(text.read(Span { offset: 0, len })? == BOM)
}

fn lost_header(remedy: String) -> Finding {
    Finding::new(Code::NoHeader, 1, 0, "there is no header on its own line").with(Remedy::Repair(remedy))
}

fn rebuilt_header(rebuilt: Raw<'_>) -> Finding {
    let from = |key| rebuilt.get(key).and_then(Raw::as_string).unwrap_or_default();
    let message = format!("the header was rebuilt: id from {}, cwd from {}", from("id"), from("cwd"));
    Finding::new(Code::RebuiltHeader, 1, 0, message)
}

/// The finding for a damaged line, with its remedy.
fn damage_finding(outline: &Outline, site: &DamageSite, marks: &[Marked]) -> Finding {
    let finding = site.finding.clone();
    let back = site.hidden.iter().filter(|found| found.fate == RecordFate::ComesBack);
    let back = verify::ids(back.map(|found| &found.id));
    let is_inside = |mark: &&Marked| site.remainders.iter().any(|remainder| remainder.at == mark.at);
    let marked = marks.iter().filter(|mark| mark.stands_for != StandsFor::Lost).filter(is_inside);
    let marked = verify::ids(marked.map(|mark| &mark.id));
    let remedy = match (back.is_empty(), marked.is_empty(), outline.upgrade()) {
        (true, true, Upgrade::FromV1) if site.has_records => {
            Remedy::Leave("left unchanged: records of version 1 have no ids to identify them")
        }
        (true, true, Upgrade::Newer) => Remedy::Leave(Code::NewerVersion.why_left()),
        (true, true, _) => return finding,
        (false, true, _) => Remedy::Repair(format!("puts {back} on its own line; the rest of the damaged line stays")),
        (true, false, _) => {
            Remedy::Repair(format!("keeps the rest as incomplete record {marked}, which is not in the context"))
        }
        (false, false, _) => Remedy::Repair(format!(
            "puts {back} on its own line; keeps the rest as incomplete record {marked}, which is not in the context"
        )),
    };
    finding.with(remedy)
}

/// Entries that an earlier repair marked as incomplete.
fn marked_entries(text: &dyn Text, outline: &Outline) -> Result<Vec<Finding>, SessionError> {
    let mut findings = Vec::new();
    for row in outline.entries().filter(|row| outline.kind(*row) == Kind::Custom) {
        let span = outline.span(row);
        let len = span.len.min(MARK_LENGTH as u64);
        if is_marked(&text.read(Span { len, ..span })?) {
            let id = outline.id(row).map(|id| id.to_string()).unwrap_or_default();
            let message = format!("record {id} is incomplete");
            findings.push(Finding::new(Code::Incomplete, outline.line_number(row), span.offset, message));
        }
    }
    Ok(findings)
}

/// Findings for entries whose parent is not in the file, with its replacement.
fn missing_parents(outline: &Outline, sites: &[DamageSite], marks: &[Marked]) -> Vec<Finding> {
    let hidden = sites.iter().flat_map(|site| &site.hidden);
    let hidden: BTreeMap<&EntryId, u64> = hidden.map(|found| (&found.id, found.line)).collect();
    let marks = by_id(marks);
    let orphans = outline.entries().filter(|row| is_orphan(outline, *row));
    orphans.filter_map(|row| Some(missing_parent(outline, row, &outline.parent_id(row)?, &hidden, &marks))).collect()
}

fn missing_parent(
    outline: &Outline,
    row: Row,
    parent: &EntryId,
    hidden: &BTreeMap<&EntryId, u64>,
    marks: &HashMap<&EntryId, &Marked>,
) -> Finding {
    let message = format!("parent {parent} is not in the file");
    let finding = Finding::new(Code::MissingParent, outline.line_number(row), outline.span(row).offset, message);
    if outline.upgrade().is_newer() {
        return finding.with(Remedy::Leave(Code::NewerVersion.why_left()));
    }
    if outline.current(row) != row {
        return finding.with(Remedy::Leave("left unchanged: a later entry with the same id counts"));
    }
    match (hidden.get(parent), marks.get(parent)) {
        (Some(line), _) => finding.with(Remedy::Repair(format!("restores the parent from line {line}"))),
        (None, Some(mark)) => {
            let on = mark.parent.as_ref().map(|on| format!(", attached to {on}")).unwrap_or_default();
            finding.with(Remedy::Repair(format!("replaces the parent with an incomplete record{on}")))
        }
        (None, None) => finding,
    }
}
