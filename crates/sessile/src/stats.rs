//! Usage of sessions: messages, tool calls, tokens and cost, without double counting.
//!
//! A fork begins with copies of its parent's entries, and so does a copied or
//! imported file. Each would count the cost of its past again. So the sessions
//! of one family, and those with the same id, are counted together, oldest
//! first. An entry whose id and time were seen in another file of the family is
//! a copy and adds nothing. Ids of unrelated sessions are never compared,
//! because eight digits can repeat. Files of version 1 have no ids, so the
//! entries of copies are also compared by their content.

pub use sessile_core::stats::{OTHER_MODELS, Share, SplitBy, Tally};

mod absent;
mod ledger;
mod names;
mod one;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
use sessile_core::date::{Timestamp, to_iso, to_iso_week, to_local};
use sessile_core::location::fingerprint;
use sessile_core::stats::likeness;
use sessile_store::os::Mode;
use sessile_store::{LineReader, StoreError};

use crate::environment::Zone;
use crate::error::SessionError;
use crate::group::SessionRef;
use crate::list::SessionInfo;
use crate::parallel::each;
use crate::sessions::Sessions;
use absent::Absent;
pub use ledger::{Ledger, LedgerOptions, LedgerQuery};
use names::SessionNames;
pub use one::SessionStats;

/// What to group by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The model that answered.
    Model,
    /// The day in local time, such as `2026-01-31`.
    Day,
    /// The ISO 8601 week in local time, such as `2026-W05`.
    Week,
    /// The month in local time, such as `2026-01`.
    Month,
    /// The project: one of the team's store that is in use, or else a repository with its worktrees, or a directory.
    Project,
    /// The repository, as host and path of its remote `origin`. The key is empty without one.
    Repository,
    /// The member of the team's store that is in use. The key is empty for the user's own sessions if the login is not
    /// known.
    Member,
    /// The tool.
    Tool,
    /// The session.
    Session,
}

impl Grouping {
    /// Its name in commands and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Project => "project",
            Self::Repository => "repository",
            Self::Member => "member",
            Self::Tool => "tool",
            Self::Session => "session",
        }
    }

    /// Whether it is a period of time.
    pub fn is_period(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month)
    }

    /// Whether all entries of a session are in the same group, so that the totals in a list suffice.
    fn is_of_session(self) -> bool {
        matches!(self, Self::Project | Self::Repository | Self::Member | Self::Session)
    }
}

/// What to count.
#[derive(Clone, Default)]
pub struct StatsOptions<'o> {
    /// How to group: not at all, by one criterion, or by two.
    ///
    /// Tool results do not name a model. By model and tool, only calls are counted.
    pub by: Vec<Grouping>,
    /// Count entries from this time on.
    pub since: Option<Timestamp>,
    /// Count entries up to this time.
    pub until: Option<Timestamp>,
    /// Checked before each family.
    pub cancel: Cancel,
    /// Called with the number of sessions counted and the total, from any thread.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// The usage of some sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// The criteria of the groups.
    pub by: Vec<Grouping>,
    /// The total.
    pub total: Tally,
    /// The number of sessions; for a period, only sessions with an entry in it.
    pub sessions: usize,
    /// The number of these sessions that are forks.
    pub forks: usize,
    /// The number of these sessions in which an entry's parent is not the entry before it.
    pub branched: usize,
    /// The number of entries not counted because they are copies of counted ones.
    pub copied: u64,
    /// Whether tool calls were counted. Lists do not contain them, so they are missing if only totals are requested.
    pub knows_tools: bool,
    /// The groups, sorted by criterion: periods by date, tools by calls, everything else by cost and then by tokens.
    /// With two criteria: sorted by the first, then by the second.
    pub groups: Vec<StatsGroup>,
    /// Files that could not be read.
    pub unreadable: Vec<PathBuf>,
    /// The number of sessions of other members that were counted by what their owners noted, because their lines are not on
    /// this machine. Their entries that are copies of others' are counted, too.
    pub estimated: usize,
    /// The number of sessions of other members that were not counted, because what their owners noted does not suffice.
    pub missing: usize,
}

/// A group of a [`Stats`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsGroup {
    /// The values that its members share: one text for each criterion.
    pub keys: Vec<String>,
    /// The file and the id of the session, if the group is a session.
    pub session: Option<(PathBuf, SessionId)>,
    /// The number of sessions that contribute to it, if counted.
    pub sessions: Option<usize>,
    /// Its usage.
    pub tally: Tally,
}

/// The counts of one session.
#[derive(Default)]
struct SessionTally {
    index: usize,
    tally: Tally,
    /// By the keys of each group. A key that all entries of a session share is an empty text.
    groups: HashMap<Vec<String>, Tally>,
    copied: u64,
    /// Whether the session has an entry in the period, copied or not.
    is_within: bool,
    failed: bool,
}

impl Sessions {
    /// The usage of sessions, with every entry counted once.
    ///
    /// Uses the totals of the list where possible, so that totals of sessions
    /// without relatives need no reading.
    pub fn stats(&self, sessions: &[SessionInfo], options: &StatsOptions<'_>) -> Result<Stats, SessionError> {
        let is_listed = !options.has_span() && options.by.iter().all(|grouping| grouping.is_of_session());
        let cancel = options.cancel.clone();
        let absent = Absent::among(self, sessions, is_listed);
        let families = absent.removed_from(self.related(sessions));
        let n_done = AtomicU64::new(0);
        let counted = each(self.world.os(), families, 1, |family| {
            let counted = match family.as_slice() {
                _ if cancel.is_cancelled() => Vec::new(),
                [index] if is_listed => vec![listed(sessions, *index, &options.by)],
                family => self.count_family(sessions, family, options),
            };
            if let Some(on_progress) = options.on_progress {
                let n_here = family.len() as u64;
                on_progress(n_done.fetch_add(n_here, Relaxed) + n_here, sessions.len() as u64);
            }
            counted
        });
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let estimated = absent.counted.iter().map(|index| listed(sessions, *index, &options.by));
        let counted: Vec<SessionTally> = counted.into_iter().flatten().chain(estimated).collect();
        let names = SessionNames::of(self, sessions, &options.by);
        let stats = summed(sessions, &names, counted, &options.by, options.has_span());
        let is_within = |index: &&usize| options.since.is_none_or(|since| sessions[**index].modified >= since);
        let (estimated, missing) = (absent.counted.len(), absent.missing.iter().filter(is_within).count());
        Ok(Stats { knows_tools: !is_listed, estimated, missing, ..stats })
    }

    /// Groups of sessions that may share entries, by index, oldest first.
    fn related(&self, sessions: &[SessionInfo]) -> Vec<Vec<usize>> {
        let mut family_of: Vec<usize> = (0..sessions.len()).collect();
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (number, family) in self.families(sessions).iter().enumerate() {
            for member in &family.members {
                if let SessionRef::Listed(index) = member.session {
                    family_of[index] = number;
                }
            }
        }
        // Copies of one session may be in different families; join those.
        let mut joined: Vec<usize> = (0..sessions.len().max(1)).collect();
        for (index, session) in sessions.iter().enumerate() {
            let family = root(&mut joined, family_of[index]);
            match by_id.get(session.id.as_str()) {
                Some(other) => {
                    let other = root(&mut joined, *other);
                    joined[family] = other;
                }
                None => drop(by_id.insert(session.id.as_str(), family)),
            }
        }
        let mut families: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, family) in family_of.iter().enumerate() {
            families.entry(root(&mut joined, *family)).or_default().push(index);
        }
        let age = |index: &usize| (sessions[*index].created.unwrap_or(Timestamp::MAX), sessions[*index].path.clone());
        let mut families: Vec<Vec<usize>> = families.into_values().collect();
        for family in &mut families {
            family.sort_by_key(age);
        }
        families
    }

    /// Counts the sessions of a family, and skips entries copied from one to the next.
    fn count_family(
        &self,
        sessions: &[SessionInfo],
        family: &[usize],
        options: &StatsOptions<'_>,
    ) -> Vec<SessionTally> {
        let counts = family.iter().map(|index| SessionTally { index: *index, ..SessionTally::default() });
        let mut counts: Vec<SessionTally> = counts.collect();
        // A session older than the period adds nothing, but its entries are needed to recognise copies.
        if let [index] = family
            && sessions[*index].facts.newest_entry.zip(options.since).is_some_and(|(newest, since)| newest < since)
        {
            return counts;
        }
        let failed = self.read_family(sessions, family, &mut |at, share, is_copy| {
            let counted = &mut counts[at];
            let is_within = is_within(share, options);
            counted.is_within |= is_within;
            if is_copy {
                counted.copied += u64::from(is_within);
            } else if is_within {
                self.count(share, &options.by, counted);
            }
        });
        for (counted, failed) in counts.iter_mut().zip(failed) {
            counted.failed = failed;
            // A session that adds nothing still counts, unless a period was requested.
            if let Some(keys) = whole_sessions(&options.by).filter(|_| !options.has_span()) {
                counted.groups.entry(keys).or_default();
            }
        }
        counts
    }

    /// Reads the sessions of a family one after the other.
    ///
    /// Passes each entry to a callback, with the place of its session in the family and whether it is a copy from a
    /// session before. Returns for each session whether it could not be read.
    fn read_family(
        &self,
        sessions: &[SessionInfo],
        family: &[usize],
        on_share: &mut dyn FnMut(usize, &Share, bool),
    ) -> Vec<bool> {
        let mut seen = SeenEntries::default();
        let mut lines = LineReader::default();
        let ids: HashSet<&str> = family.iter().map(|index| sessions[*index].id.as_str()).collect();
        let has_copies = ids.len() < family.len();
        let mut read = |(at, index): (usize, &usize)| {
            let read = self.read_shares(&mut lines, &sessions[*index].path, &mut |share, line| {
                let likeness = if has_copies { likeness(line) } else { None };
                let is_copy = family.len() > 1 && seen.is_copy(&share, likeness, *index);
                on_share(at, &share, is_copy);
            });
            read.is_err()
        };
        family.iter().enumerate().map(&mut read).collect()
    }

    fn count(&self, share: &Share, by: &[Grouping], counted: &mut SessionTally) {
        counted.tally.add(share);
        if by.is_empty() {
            return;
        }
        let one_call = || Tally { tool_calls: 1, ..Tally::default() };
        // The model and the tool of each part.
        let parts: Vec<(String, String, Tally)> = match (by.contains(&Grouping::Model), by.contains(&Grouping::Tool)) {
            (true, true) => share.calls_by_model().map(|(model, tool)| (model, tool, one_call())).collect(),
            (true, false) => {
                share.parts(SplitBy::Model).into_iter().map(|(model, tally)| (model, String::new(), tally)).collect()
            }
            (false, true) => {
                share.parts(SplitBy::Tool).into_iter().map(|(tool, tally)| (String::new(), tool, tally)).collect()
            }
            (false, false) => vec![(String::new(), String::new(), share.whole())],
        };
        for (model, tool, tally) in parts {
            let key = |grouping: &Grouping| match grouping {
                Grouping::Model => Some(model.clone()),
                Grouping::Tool => Some(tool.clone()),
                of_session if of_session.is_of_session() => Some(String::new()),
                period => share.time.map(|time| self.period(*period, time)),
            };
            // An entry without a time is in no period.
            let Some(keys) = by.iter().map(key).collect::<Option<Vec<String>>>() else { continue };
            counted.groups.entry(keys).or_default().merge(&tally);
        }
    }

    /// The day, week or month of a time in local time.
    fn period(&self, grouping: Grouping, time: Timestamp) -> String {
        period_of(grouping, to_local(time, &Zone(self.environment())))
    }

    /// Passes the share of each entry of a file to a callback, with its line.
    fn read_shares(
        &self,
        lines: &mut LineReader,
        path: &Path,
        on_share: &mut dyn FnMut(Share, &[u8]),
    ) -> Result<(), StoreError> {
        let zone = Zone(self.environment());
        let file = self.world.os().open(path, Mode::Read).map_err(|error| StoreError::io_at("open", path, error))?;
        lines.read(file.as_ref(), path, 0, &mut |line| {
            if let Some(bytes) = line.without_bom().bytes
                && let Some(share) = Share::of_line(bytes, &zone)
            {
                on_share(share, bytes);
            }
            true
        })?;
        Ok(())
    }
}

impl StatsOptions<'_> {
    fn has_span(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }
}

/// The keys of the group that contains a whole session, if all its entries are in the same one.
fn whole_sessions(by: &[Grouping]) -> Option<Vec<String>> {
    let is_whole = !by.is_empty() && by.iter().all(|grouping| grouping.is_of_session());
    is_whole.then(|| vec![String::new(); by.len()])
}

/// The day, week or month of a time on the local clock.
fn period_of(grouping: Grouping, local: Timestamp) -> String {
    if grouping == Grouping::Week {
        return to_iso_week(local);
    }
    let mut day = to_iso(local);
    // Years may have more than four digits, and a sign.
    day.truncate(day.find('T').unwrap_or(day.len()));
    if grouping == Grouping::Month {
        day.truncate(day.rfind('-').unwrap_or(day.len()));
    }
    day
}

/// The counts of a session as a list has them.
fn listed(sessions: &[SessionInfo], index: usize, by: &[Grouping]) -> SessionTally {
    let tally = Tally::from(&sessions[index].facts);
    let groups = whole_sessions(by).map(|keys| (keys, tally.clone())).into_iter().collect();
    SessionTally { index, tally, groups, ..SessionTally::default() }
}

/// Sums up the counts of sessions.
fn summed(
    sessions: &[SessionInfo],
    names: &SessionNames,
    counted: impl IntoIterator<Item = SessionTally>,
    by: &[Grouping],
    has_span: bool,
) -> Stats {
    let mut stats = Stats { by: by.to_vec(), knows_tools: true, ..Stats::default() };
    let mut groups: HashMap<(Vec<String>, Option<usize>), StatsGroup> = HashMap::new();
    for SessionTally { index, tally, groups: own, copied, is_within, failed } in counted {
        let session = &sessions[index];
        stats.copied += copied;
        stats.total.merge(&tally);
        stats.unreadable.extend(failed.then(|| session.path.clone()));
        if is_within || !has_span {
            stats.sessions += 1;
            stats.forks += usize::from(session.parent_session_path.is_some());
            stats.branched += usize::from(session.facts.has_branches);
        }
        for (mut keys, tally) in own {
            for (key, grouping) in keys.iter_mut().zip(by) {
                match grouping {
                    Grouping::Project | Grouping::Repository | Grouping::Member => names.put(*grouping, index, key),
                    Grouping::Session => {
                        *key = session.name.as_ref().unwrap_or(&session.first_message).to_str().into_owned();
                    }
                    _ => {}
                }
            }
            let one = by.contains(&Grouping::Session).then_some(index);
            let group = groups.entry((keys.clone(), one)).or_insert_with(|| StatsGroup {
                keys,
                session: one.map(|_| (session.path.clone(), session.id.clone())),
                ..StatsGroup::default()
            });
            group.tally.merge(&tally);
            group.sessions = Some(group.sessions.unwrap_or_default() + 1);
        }
    }
    stats.groups = arranged(by, groups.into_values().collect());
    stats
}

/// Sorts groups: see [`Stats::groups`].
fn arranged(by: &[Grouping], mut groups: Vec<StatsGroup>) -> Vec<StatsGroup> {
    let Some(first) = by.first() else { return groups };
    // Different sessions may have the same title.
    let first_of = |group: &StatsGroup| {
        let session = group.session.as_ref().filter(|_| *first == Grouping::Session).map(|(path, _)| path.clone());
        (group.keys.first().cloned().unwrap_or_default(), session)
    };
    let mut totals: HashMap<(String, Option<PathBuf>), Tally> = HashMap::new();
    for group in &groups {
        totals.entry(first_of(group)).or_default().merge(&group.tally);
    }
    groups.sort_by(|one, other| {
        let (first_one, first_other) = (first_of(one), first_of(other));
        order(*first, &totals[&first_one], &totals[&first_other])
            .then_with(|| first_one.cmp(&first_other))
            .then_with(|| by.get(1).map_or(Ordering::Equal, |second| order(*second, &one.tally, &other.tally)))
            .then_with(|| (&one.keys, &one.session).cmp(&(&other.keys, &other.session)))
    });
    groups
}

/// Compares two groups of a kind by usage; periods are sorted by name only.
fn order(grouping: Grouping, one: &Tally, other: &Tally) -> Ordering {
    match grouping {
        Grouping::Day | Grouping::Week | Grouping::Month => Ordering::Equal,
        Grouping::Tool => other.tool_calls.cmp(&one.tool_calls),
        _ => by_weight((one.cost, one.tokens.total()), (other.cost, other.tokens.total())),
    }
}

/// Compares by weight, heaviest first. Uses a total order, because values may be NaN.
fn by_weight(one: (f64, f64), other: (f64, f64)) -> Ordering {
    other.0.total_cmp(&one.0).then_with(|| other.1.total_cmp(&one.1))
}

/// The entries seen, by a hash and their time, with the session in which each was first seen.
#[derive(Default)]
struct SeenEntries(HashMap<(u64, Option<Timestamp>), usize>);

impl SeenEntries {
    /// Records an entry.
    fn note(&mut self, share: &Share, session: usize) {
        self.is_copy(share, None, session);
    }

    /// Whether an entry was seen in another session before: one with the same id and time, or with the same likeness.
    fn is_copy(&mut self, share: &Share, likeness: Option<u64>, session: usize) -> bool {
        let by_id = share.id.as_ref().filter(|_| share.time.is_some()).map(|id| fingerprint(id));
        let mut is_copy = false;
        for number in by_id.into_iter().chain(likeness) {
            is_copy |= *self.0.entry((number, share.time)).or_insert(session) != session;
        }
        is_copy
    }
}

fn is_within(share: &Share, options: &StatsOptions<'_>) -> bool {
    match share.time {
        Some(time) => {
            options.since.is_none_or(|since| time >= since) && options.until.is_none_or(|until| time <= until)
        }
        None => options.since.is_none() && options.until.is_none(),
    }
}

/// The representative of a family after joining.
fn root(joined: &mut [usize], mut family: usize) -> usize {
    while joined[family] != family {
        joined[family] = joined[joined[family]];
        family = joined[family];
    }
    family
}
