//! Findings about session files, and repairs.

use std::path::Path;

use sessile::SessionError;
use sessile::format::cause::messages;
use sessile::json::{Json, ObjectWriter};
use sessile::repair::{Change, Repair};
use sessile::sync::{LogFinding, VerifiedLog};
use sessile::verify::{Finding, Report};

use super::{object, put_list, put_path, saturating_i64};

/// The findings about one session: `{path, findings}`.
pub fn report(report: &Report) -> Json {
    object(|out| {
        out.string("path", &report.path.to_string_lossy());
        put_list(out, "findings", report.findings.iter().map(finding));
    })
}

/// The report for a file that cannot be read: `{path, findings: [], error}`.
pub fn unreadable_report(path: &Path, error: &SessionError) -> Json {
    object(|out| {
        out.string("path", &path.to_string_lossy())
            .array("findings", [])
            .string("error", &messages(error).swap_remove(0));
    })
}

/// The result for a log on a remote: `{id, owner, path?, lines?, compared?, findings: [{code, line?, message}], error?}`.
pub fn verified_log(verified: &VerifiedLog<'_>) -> Json {
    let finding = |finding: &LogFinding| {
        object(|out| {
            out.string("code", finding.code.word());
            if let Some(line) = finding.line {
                out.integer("line", saturating_i64(line));
            }
            out.string("message", &finding.message);
        })
    };
    object(|out| {
        out.string("id", verified.id).string("owner", verified.owner);
        match &verified.report {
            Ok(report) => {
                put_path(out, "path", report.path.as_deref());
                out.integer("lines", saturating_i64(report.n_lines)).bool("compared", report.is_compared);
                put_list(out, "findings", report.findings.iter().map(finding));
            }
            Err(error) => {
                out.array("findings", []).string("error", &messages(error).swap_remove(0));
            }
        }
    })
}

/// The answer of RPC's `verify`: `{findings}`.
pub fn findings(findings: &[Finding]) -> Json {
    object(|out| put_list(out, "findings", findings.iter().map(finding)))
}

/// A finding: `{code, severity, line, offset, message, consequence, repair}`.
fn finding(finding: &Finding) -> Json {
    object(|out| {
        out.string("code", finding.code.word()).string("severity", finding.severity.word());
        put_position(out, finding.line, finding.offset);
        out.string("message", &finding.message)
            .string("consequence", finding.consequence())
            .string("repair", finding.remedy.text());
    })
}

fn put_position(out: &mut ObjectWriter, line: u64, offset: u64) {
    out.integer("line", saturating_i64(line)).integer("offset", saturating_i64(offset));
}

/// A repair: `{path, dryRun, changes: [{code, line, offset, message}], left, original?}`; left are findings.
pub fn repair(repair: &Repair) -> Json {
    let change = |change: &Change| {
        object(|out| {
            out.string("code", change.code.word());
            put_position(out, change.line, change.offset);
            out.string("message", &change.message);
        })
    };
    object(|out| {
        out.string("path", &repair.path.to_string_lossy()).bool("dryRun", repair.dry_run);
        put_list(out, "changes", repair.changes.iter().map(change));
        put_list(out, "left", repair.left.iter().map(finding));
        put_path(out, "original", repair.original.as_deref());
    })
}
