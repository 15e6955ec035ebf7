//! A simple finder, and short ways to rewrite lines.

use std::sync::LazyLock;

use regex::Regex;
use sessile_core::date::Timestamp;
use sessile_core::line::split;
use sessile_core::outline::Outline;
use sessile_core::version::StableIds;
use sessile_redact::{
    CopyIdentity, CopyPlan, Finding, Level, NameKind, Names, Origin, Refusal, Report, Rewriter, RunKey, Secret, Tier,
};

static SECRET: LazyLock<Regex> = LazyLock::new(|| Regex::new("SECRET-[0-9]+").unwrap());
static SOURCE: LazyLock<Regex> = LazyLock::new(|| Regex::new("SECRET-[0-9]+|SOURCE").unwrap());

/// Finds `SECRET-1`, and `SOURCE` in secret sources.
pub(crate) fn finder(text: &str, origin: Origin) -> Vec<Finding> {
    let pattern = if origin == Origin::SecretSource { &SOURCE } else { &SECRET };
    let finding = |found: regex::Match<'_>| Finding {
        range: found.range(),
        rule: "test".into(),
        tier: Tier::Certain,
        via: None,
        secret: Secret::new(found.as_str()),
    };
    pattern.find_iter(text).map(finding).collect()
}

pub(crate) fn is_source(_: &str, arguments: &str) -> bool {
    arguments.contains("printenv")
}

pub(crate) fn key() -> RunKey {
    RunKey::new(vec![7; 32])
}

/// The placeholder of a value of [`finder`].
pub(crate) fn placeholder(value: &str) -> String {
    key().placeholder("test", &Secret::new(value))
}

pub(crate) fn names() -> Names {
    let mut names = Names::new();
    names.add_word(NameKind::User, "alice").unwrap();
    names.add_word(NameKind::Organisation, "acme").unwrap();
    names
}

/// Rewrites lines in two passes. The result of the second counts.
pub(crate) fn rewritten_bytes(level: Level, lines: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Report), Refusal> {
    let (key, mut names) = (key(), names());
    let mut rewriter = Rewriter::new(&finder, &is_source, &key, level, &mut names);
    for line in lines {
        rewriter.line(line)?;
    }
    let report = rewriter.report();
    let rewritten =
        lines.iter().map(|line| rewriter.line(line).map(std::borrow::Cow::into_owned)).collect::<Result<_, _>>()?;
    Ok((rewritten, report))
}

pub(crate) fn rewritten(level: Level, lines: &[&str]) -> (Vec<String>, Report) {
    let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let (rewritten, report) = rewritten_bytes(level, &bytes).unwrap();
    (rewritten.into_iter().map(|line| String::from_utf8(line).unwrap()).collect(), report)
}

/// Rewrites one line.
pub(crate) fn one(level: Level, line: &str) -> String {
    rewritten(level, &[line]).0.remove(0)
}

/// Copies a session.
pub(crate) fn copied(level: Level, lines: &[&str]) -> Result<(Vec<String>, Report), Refusal> {
    let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let (copy, report) = copied_bytes(level, &bytes, &mut names())?;
    Ok((copy.into_iter().map(|line| String::from_utf8(line).unwrap()).collect(), report))
}

pub(crate) fn copied_bytes(
    level: Level,
    lines: &[&[u8]],
    names: &mut Names,
) -> Result<(Vec<Vec<u8>>, Report), Refusal> {
    let key = key();
    let rewriter = Rewriter::new(&finder, &is_source, &key, level, names);
    let identity = CopyIdentity {
        session_id: "new-id".to_owned(),
        time: Timestamp::from_ms(1_735_689_600_000),
        by: "sessile 0.1.0".to_owned(),
    };
    let mut plan = CopyPlan::new(rewriter, identity);
    for line in lines {
        plan.read(line)?;
    }
    let mut writer = plan.finish()?;
    let mut copy = Vec::new();
    for line in lines {
        copy.push(writer.line(line)?.into_owned());
    }
    copy.push(writer.last_line());
    Ok((copy, writer.report()))
}

/// The outline of a session.
pub(crate) fn outline(lines: &[impl AsRef<[u8]>]) -> Outline {
    let bytes = lines.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(&b'\n');
    let mut outline = Outline::new();
    for line in split(&bytes) {
        outline.push(line, &mut StableIds);
    }
    outline
}
