//! Secrets in sessions. No answer holds a value.

use sessile::date::to_iso;
use sessile::format::cause::chain;
use sessile::json::{Json, ObjectWriter};
use sessile::redact::{
    RULES_VERSION, RedactedCopy, Report, RuleInfo, ScanReport, ScrubbedSecrets, SecretFinding, SecretScrub, Tier, Via,
};
use sessile::scrub::ScrubbedCopy;

use super::{count, object, put_list, put_path, put_string, saturating_i64};

/// The report of a scan: `{sessions, findings, counts: {certain, likely, rules}, bytes, seconds, rulesVersion}`.
pub fn scan_report(report: &ScanReport) -> Json {
    object(|out| {
        out.integer("sessions", count(report.sessions.len()));
        put_list(out, "findings", report.findings.iter().map(secret_finding));
        let rules = object(|rules| {
            for (rule, n_findings) in report.by_rule() {
                rules.integer(rule, count(n_findings));
            }
        });
        let counts = object(|counts| {
            counts.integer("certain", count(report.count(Tier::Certain)));
            counts.integer("likely", count(report.count(Tier::Likely))).raw("rules", rules.raw());
        });
        out.raw("counts", counts.raw());
        out.integer("bytes", saturating_i64(report.bytes));
        out.number("seconds", report.elapsed.as_secs_f64()).integer("rulesVersion", i64::from(report.rules_version));
    })
}

/// A secret in one string of an entry: `{sessionPath, line, entryId?, type?, role?, pointer, rule, tier, via?,
/// placeholder, masked, occurrences, kept?}`.
pub fn secret_finding(finding: &SecretFinding) -> Json {
    object(|out| {
        put_path(out, "sessionPath", Some(&finding.session_path));
        out.integer("line", saturating_i64(finding.line));
        put_string(out, "entryId", finding.entry_id.as_deref());
        put_string(out, "type", finding.kind.and_then(sessile::format::head::Kind::word));
        put_string(out, "role", finding.role.word());
        out.string("pointer", &finding.pointer).string("rule", &finding.rule).integer("tier", tier(finding.tier));
        put_string(out, "via", finding.via.map(via));
        out.string("placeholder", &finding.placeholder).string("masked", &finding.masked);
        out.integer("occurrences", count(finding.occurrences));
        if finding.is_kept {
            out.bool("kept", true);
        }
    })
}

/// A rule: `{name, description, tier, checksum?, anchors?}`.
pub fn secret_rule(rule: &RuleInfo) -> Json {
    object(|out| {
        out.string("name", rule.name).string("description", rule.description).integer("tier", tier(rule.tier));
        if rule.has_checksum {
            out.bool("checksum", true);
        }
        if !rule.anchors.is_empty() {
            put_list(out, "anchors", rule.anchors.iter().map(|anchor| Json::string(anchor)));
        }
    })
}

/// A rule of the user: `{name, pattern, tier}`.
pub fn own_secret_rule(name: &str, pattern: &str) -> Json {
    object(|out| {
        out.string("name", name).string("pattern", pattern).integer("tier", tier(Tier::Certain));
    })
}

/// A redacted copy: `{path?, sessionId, level, size, findings, rules, lines, changedLines, names, removedThoughts,
/// removedSignatures, replacedPictures, fullOutputs?, warnings?}`.
pub fn redacted_copy(copy: &RedactedCopy) -> Json {
    let report = &copy.report;
    object(|out| {
        put_path(out, "path", copy.path.as_deref());
        out.string("sessionId", copy.id.as_str()).string("level", copy.level.word());
        out.integer("size", saturating_i64(copy.size)).integer("findings", count(report.findings()));
        put_rules(out, report);
        out.integer("lines", saturating_i64(report.lines))
            .integer("changedLines", saturating_i64(report.changed_lines));
        put_counts(out, report);
        put_texts(out, "fullOutputs", &report.full_outputs);
        put_warnings(out, report);
    })
}

/// A scrub: `{level, dryRun, sessions, sharing: [{path, lines?}], failed?: [{error}], rulesVersion}`.
pub fn secret_scrub(scrub: &SecretScrub) -> Json {
    object(|out| {
        out.string("level", scrub.level.word()).bool("dryRun", scrub.dry_run);
        put_list(out, "sessions", scrub.sessions.iter().map(scrubbed_secrets));
        let sharing = scrub.sharing.iter().map(|other| {
            object(|out| {
                put_path(out, "path", Some(&other.path));
                if let Some(n_lines) = other.n_lines {
                    out.integer("lines", count(n_lines));
                }
            })
        });
        put_list(out, "sharing", sharing);
        if !scrub.failed.is_empty() {
            let failed = scrub.failed.iter().map(|error| {
                object(|out| {
                    out.string("error", &chain(error));
                })
            });
            put_list(out, "failed", failed);
        }
        out.integer("rulesVersion", i64::from(RULES_VERSION));
    })
}

/// A scrubbed session: `{path, id, operation?, lines, changedLines, sizeBefore, sizeAfter, sha256?, original?, rules,
/// findings, names, removedThoughts, removedSignatures, replacedPictures, copies: [{path, kind, lines}], notes,
/// fullOutputs?, created?, otherLinks?, warnings?}`.
fn scrubbed_secrets(session: &ScrubbedSecrets) -> Json {
    let (scrubbed, report) = (&session.scrubbed, &session.report);
    object(|out| {
        put_path(out, "path", Some(&scrubbed.session.path));
        out.string("id", scrubbed.session.id.as_str());
        put_string(out, "operation", scrubbed.operation.as_deref());
        out.integer("lines", count(scrubbed.n_lines)).integer("changedLines", count(scrubbed.n_changed));
        out.integer("sizeBefore", saturating_i64(scrubbed.size_before));
        out.integer("sizeAfter", saturating_i64(scrubbed.size_after));
        put_string(out, "sha256", scrubbed.sha256.as_deref());
        put_path(out, "original", scrubbed.original.as_deref());
        put_rules(out, report);
        put_list(out, "findings", session.findings.iter().map(secret_finding));
        put_counts(out, report);
        put_list(out, "copies", scrubbed.copies.iter().map(scrubbed_copy));
        out.integer("notes", count(scrubbed.n_notes));
        let full_outputs: Vec<String> =
            session.full_outputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        put_texts(out, "fullOutputs", &full_outputs);
        put_string(out, "created", session.created.map(to_iso).as_deref());
        if scrubbed.n_other_links > 0 {
            out.integer("otherLinks", saturating_i64(scrubbed.n_other_links));
        }
        put_warnings(out, report);
    })
}

fn scrubbed_copy(copy: &ScrubbedCopy) -> Json {
    object(|out| {
        put_path(out, "path", Some(&copy.path));
        out.string("kind", copy.kind.word()).integer("lines", count(copy.n_changed));
    })
}

/// The number of findings by rule.
fn put_rules(out: &mut ObjectWriter, report: &Report) {
    let rules = object(|rules| {
        for (rule, n_findings) in &report.rules {
            rules.integer(rule, count(*n_findings));
        }
    });
    out.raw("rules", rules.raw());
}

fn put_counts(out: &mut ObjectWriter, report: &Report) {
    out.integer("names", count(report.names)).integer("removedThoughts", count(report.removed_thoughts));
    out.integer("removedSignatures", count(report.removed_signatures));
    out.integer("replacedPictures", count(report.replaced_pictures));
}

fn put_warnings(out: &mut ObjectWriter, report: &Report) {
    put_texts(out, "warnings", &report.warnings.iter().map(ToString::to_string).collect::<Vec<_>>());
}

fn put_texts(out: &mut ObjectWriter, key: &str, texts: &[String]) {
    if !texts.is_empty() {
        put_list(out, key, texts.iter().map(|text| Json::string(text)));
    }
}

/// 1 for a certain finding, 2 for a likely one.
fn tier(tier: Tier) -> i64 {
    match tier {
        Tier::Certain => 1,
        Tier::Likely => 2,
    }
}

fn via(via: Via) -> &'static str {
    match via {
        Via::Base64 => "base64",
        Via::Percent => "percent",
        Via::Hex => "hex",
        Via::Json => "json",
        Via::Ansi => "ansi",
        Via::Wrapped => "wrapped",
    }
}
