//! What sessions took: messages, calls of tools, tokens and money, with nothing counted twice.
//!
//! A fork begins with copies of the entries it was forked from, and so does a
//! copied or imported file. Each would bring the cost of its past along once
//! more. So the sessions of one family, and those with the same id, are counted
//! together, the oldest first: an entry whose id and time were met in another
//! file of the family is a copy and adds nothing. Ids of unrelated sessions are
//! never compared, because eight digits repeat.

mod one;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::cancel::Cancel;
use sessile_core::date::{to_iso, to_local};
use sessile_core::json::{Json, ObjectWriter};
use sessile_core::location::fingerprint;
use sessile_core::stats::{GroupBy, Share, Tally};
use sessile_store::os::Mode;
use sessile_store::{LineReader, StoreError};

use crate::environment::Zone;
use crate::error::SessionError;
use crate::group::{ProjectPlace, Who};
use crate::list::SessionInfo;
use crate::list::spread::each;
use crate::manager::Sessions;
pub use one::SessionStats;
pub(crate) use one::tally_json;

/// By what sessions are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Not at all.
    #[default]
    Nothing,
    /// By the model that answered.
    Model,
    /// By the day on the user's clock.
    Day,
    /// By project: a repository with its worktrees, or a directory.
    Project,
    /// By tool.
    Tool,
    /// By session.
    Session,
}

/// What to count.
#[derive(Clone, Default)]
pub struct StatsOptions<'o> {
    /// How to group.
    pub grouping: Grouping,
    /// Count entries from this time on, in milliseconds.
    pub since: Option<i64>,
    /// Count entries up to this time, in milliseconds.
    pub until: Option<i64>,
    /// Looked at before each family.
    pub cancel: Option<Cancel>,
    /// Told how many sessions have been counted, of how many, from any thread.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// What some sessions took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// All together.
    pub total: Tally,
    /// Sessions.
    pub sessions: usize,
    /// Those of them that were forked from another.
    pub forks: usize,
    /// Those in which some entry hangs on another one than the one before it.
    pub branched: usize,
    /// Entries that were not counted because they are copies of others that were.
    pub copied: u64,
    /// Whether calls of tools were counted: a list does not know them, so asking for totals alone leaves them out.
    pub knows_tools: bool,
    /// The groups, in the order of their kind: days by date, everything else by cost and then by tokens.
    pub groups: Vec<StatsGroup>,
    /// Files that could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// A group of a [`Stats`].
#[derive(Clone, Debug, PartialEq)]
pub struct StatsGroup {
    /// What its members have in common.
    pub key: String,
    /// The session, if the group is one.
    pub path: Option<PathBuf>,
    /// What it took.
    pub tally: Tally,
}

impl Stats {
    /// As JSON, documented with the command `stats`.
    pub fn to_json(&self) -> Json {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let mut out = ObjectWriter::new();
        out.integer("sessions", number(self.sessions))
            .integer("forks", number(self.forks))
            .integer("branchedSessions", number(self.branched))
            .integer("copiedEntries", i64::try_from(self.copied).unwrap_or(i64::MAX));
        tally_json(&mut out, &self.total, self.knows_tools);
        let groups: Vec<Json> = self.groups.iter().map(|group| group.to_json(self.knows_tools)).collect();
        out.array("groups", groups.iter().map(Json::raw));
        out.finish()
    }
}

impl StatsGroup {
    fn to_json(&self, knows_tools: bool) -> Json {
        let mut out = ObjectWriter::new();
        out.string("key", &self.key);
        if let Some(path) = &self.path {
            out.string("path", &path.to_string_lossy());
        }
        tally_json(&mut out, &self.tally, knows_tools);
        out.finish()
    }
}

/// What was counted in one session.
#[derive(Default)]
struct Counted {
    place: usize,
    tally: Tally,
    groups: HashMap<String, Tally>,
    copied: u64,
    failed: bool,
}

impl Sessions {
    /// What sessions took, every entry counted once.
    ///
    /// What a list knows already is taken from it, so that totals of sessions
    /// without relatives need no reading.
    pub fn stats(&self, sessions: &[SessionInfo], options: &StatsOptions<'_>) -> Result<Stats, SessionError> {
        let is_listed = options.since.is_none()
            && options.until.is_none()
            && matches!(options.grouping, Grouping::Nothing | Grouping::Project | Grouping::Session);
        let cancel = options.cancel.clone().unwrap_or_default();
        let families = self.related(sessions);
        let n_done = AtomicU64::new(0);
        let counted = each(self.world.os(), families, 1, |family| {
            let counted = match family.as_slice() {
                _ if cancel.is_cancelled() => Vec::new(),
                [place] if is_listed => {
                    vec![Counted { place: *place, tally: Tally::from(&sessions[*place].facts), ..Counted::default() }]
                }
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
        let counted: Vec<Counted> = counted.into_iter().flatten().collect();
        Ok(self.summed(sessions, counted, options.grouping, !is_listed))
    }

    /// Which sessions may have entries in common, by their places, the oldest first.
    fn related(&self, sessions: &[SessionInfo]) -> Vec<Vec<usize>> {
        let mut family_of: Vec<usize> = (0..sessions.len()).collect();
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (number, family) in self.families(sessions).iter().enumerate() {
            for member in &family.members {
                if let Who::Listed(place) = member.who {
                    family_of[place] = number;
                }
            }
        }
        // Copies of one session may stand in different families; those are one, too.
        let mut joined: Vec<usize> = (0..sessions.len().max(1)).collect();
        for (place, session) in sessions.iter().enumerate() {
            let family = root(&mut joined, family_of[place]);
            match by_id.get(session.id.as_str()) {
                Some(other) => {
                    let other = root(&mut joined, *other);
                    joined[family] = other;
                }
                None => drop(by_id.insert(&session.id, family)),
            }
        }
        let mut families: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, family) in family_of.iter().enumerate() {
            families.entry(root(&mut joined, *family)).or_default().push(place);
        }
        let age = |place: &usize| (sessions[*place].created.unwrap_or(i64::MAX), sessions[*place].path.clone());
        let mut families: Vec<Vec<usize>> = families.into_values().collect();
        for family in &mut families {
            family.sort_by_key(age);
        }
        families
    }

    /// Reads the sessions of a family one after the other, and leaves out what was copied from one to the next.
    fn count_family(&self, sessions: &[SessionInfo], family: &[usize], options: &StatsOptions<'_>) -> Vec<Counted> {
        let mut seen = Seen::default();
        let mut lines = LineReader::default();
        let count = |place: &usize| {
            let session = &sessions[*place];
            let mut counted = Counted { place: *place, ..Counted::default() };
            // What is older than asked for adds nothing, but what was copied from it must be known to others.
            let is_over = session.facts.newest_entry.zip(options.since).is_some_and(|(newest, since)| newest < since);
            if is_over && family.len() == 1 {
                return counted;
            }
            let read = self.read_shares(&mut lines, &session.path, &mut |share| {
                if family.len() > 1 && seen.is_copy(&share, *place) {
                    counted.copied += 1;
                } else if is_within(&share, options) {
                    self.count(&share, options.grouping, &mut counted);
                }
            });
            counted.failed = read.is_err();
            counted
        };
        family.iter().map(count).collect()
    }

    fn count(&self, share: &Share, grouping: Grouping, counted: &mut Counted) {
        counted.tally.add(share);
        let by = match grouping {
            Grouping::Nothing | Grouping::Project | Grouping::Session => return,
            Grouping::Model => GroupBy::Model,
            Grouping::Day => GroupBy::Day,
            Grouping::Tool => GroupBy::Tool,
        };
        let zone = Zone(self.environment());
        let day = |time| to_iso(to_local(time, &zone)).split('T').next().unwrap_or_default().to_owned();
        for (key, tally) in share.grouped(by, day) {
            counted.groups.entry(key).or_default().merge(&tally);
        }
    }

    /// Hands on what each entry of a file adds.
    fn read_shares(
        &self,
        lines: &mut LineReader,
        path: &Path,
        on_share: &mut dyn FnMut(Share),
    ) -> Result<(), StoreError> {
        let zone = Zone(self.environment());
        let file = self.world.os().open(path, Mode::Read).map_err(|error| StoreError::io_at("open", path, error))?;
        lines.read(file.as_ref(), path, 0, &mut |line| {
            let share = line.without_bom().bytes.and_then(|bytes| Share::of_line(bytes, &zone));
            share.into_iter().for_each(&mut *on_share);
            true
        })?;
        Ok(())
    }

    fn summed(&self, sessions: &[SessionInfo], counted: Vec<Counted>, grouping: Grouping, knows_tools: bool) -> Stats {
        let mut stats = Stats { sessions: sessions.len(), knows_tools, ..Stats::default() };
        let projects = if grouping == Grouping::Project { self.project_names(sessions) } else { Vec::new() };
        let mut groups: HashMap<(String, Option<PathBuf>), Tally> = HashMap::new();
        for Counted { place, tally, groups: own, copied, failed } in counted {
            let session = &sessions[place];
            stats.forks += usize::from(session.parent_session_path.is_some());
            stats.branched += usize::from(session.facts.has_branches);
            stats.copied += copied;
            stats.total.merge(&tally);
            stats.unreadable.extend(failed.then(|| session.path.clone()));
            for (key, tally) in own {
                groups.entry((key, None)).or_default().merge(&tally);
            }
            let key = match grouping {
                Grouping::Project => (projects[place].clone(), None),
                Grouping::Session => {
                    let title = session.name.as_ref().unwrap_or(&session.first_message);
                    (title.to_str().into_owned(), Some(session.path.clone()))
                }
                _ => continue,
            };
            groups.entry(key).or_default().merge(&tally);
        }
        stats.groups = groups.into_iter().map(|((key, path), tally)| StatsGroup { key, path, tally }).collect();
        stats.groups.sort_by(|one, other| order(grouping, one, other));
        stats
    }

    /// For each session the path of its project.
    fn project_names(&self, sessions: &[SessionInfo]) -> Vec<String> {
        let mut names = vec![String::new(); sessions.len()];
        for project in self.group_by_project(sessions) {
            let name = match &project.place {
                // What people call the repository is the directory around its `.git`.
                ProjectPlace::Repository(common) if common.ends_with(".git") => {
                    common.parent().unwrap_or(common).to_string_lossy().into_owned()
                }
                ProjectPlace::Repository(path) | ProjectPlace::Directory(path) | ProjectPlace::Missing(path) => {
                    path.to_string_lossy().into_owned()
                }
                ProjectPlace::Unknown => String::new(),
            };
            for place in project.directories.into_iter().flat_map(|directory| directory.sessions) {
                names[place].clone_from(&name);
            }
        }
        names
    }
}

/// Days in their order, tools by their calls, everything else by cost and then by tokens.
fn order(grouping: Grouping, one: &StatsGroup, other: &StatsGroup) -> Ordering {
    let weight = |group: &StatsGroup| (group.tally.cost, group.tally.tokens.total());
    let first = match grouping {
        Grouping::Day => Ordering::Equal,
        Grouping::Tool => other.tally.tool_calls.cmp(&one.tally.tool_calls),
        _ => weight(other).partial_cmp(&weight(one)).unwrap_or(Ordering::Equal),
    };
    first.then_with(|| (&one.key, &one.path).cmp(&(&other.key, &other.path)))
}

/// Which entries were met, and in which session first.
#[derive(Default)]
struct Seen(HashMap<(u64, i64), usize>);

impl Seen {
    /// Takes note of an entry.
    fn note(&mut self, share: &Share, session: usize) {
        self.is_copy(share, session);
    }

    /// Whether an entry was met in another session before. An entry without id or time is never a copy.
    fn is_copy(&mut self, share: &Share, session: usize) -> bool {
        let Some((id, time)) = share.id.as_ref().zip(share.time) else { return false };
        *self.0.entry((fingerprint(id), time)).or_insert(session) != session
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

/// The number under which a family is counted, after it was joined to others.
fn root(joined: &mut [usize], mut family: usize) -> usize {
    while joined[family] != family {
        joined[family] = joined[joined[family]];
        family = joined[family];
    }
    family
}
