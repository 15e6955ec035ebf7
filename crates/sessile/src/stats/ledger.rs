//! The usage of many sessions by day and model, kept in memory for many questions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::cancel::Cancel;
use sessile_core::date::{Timestamp, to_local};
use sessile_core::stats::{Share, SplitBy, Tally};
use sessile_store::os::Identity;

use super::{Absent, Grouping, SessionNames, SessionTally, Stats, period_of, summed, whole_sessions};
use crate::environment::Zone;
use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::parallel::each;
use crate::sessions::Sessions;

const MS_PER_DAY: i64 = 86_400_000;

/// The usage of sessions by day and model: see [`Sessions::ledger`].
///
/// It answers questions without reading, with the same figures as [`Sessions::stats`].
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    sessions: Vec<SessionInfo>,
    /// For each session the names of its groups.
    names: SessionNames,
    accounts: Vec<Arc<Account>>,
    /// What was counted, by the files of a family in the state in which they were counted.
    families: HashMap<Vec<FileState>, Vec<Arc<Account>>>,
    n_left: usize,
}

/// The usage of one session.
#[derive(Debug, Default)]
struct Account {
    /// By the day on the local clock, in days since 1970. Entries without a time are under `None`. There are thousands of
    /// accounts with few days, for which a map would take several times the memory.
    days: Vec<(Option<i64>, DayAccount)>,
    failed: bool,
}

#[derive(Debug, Default)]
struct DayAccount {
    whole: Tally,
    models: Vec<(String, Tally)>,
    copied: u64,
}

/// A file, and the state in which it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FileState {
    path: PathBuf,
    /// The file, its length, and the times of its last changes; `None` if it cannot be accessed.
    state: Option<(Identity, u64, i64, i64)>,
}

/// How to count: see [`Sessions::ledger`].
#[derive(Clone, Default)]
pub struct LedgerOptions<'o> {
    /// Checked before each family.
    pub cancel: Cancel,
    /// Returns true when the ledger is needed; families that must be read are then left out, except for the first, so that
    /// each call comes closer to the end. See [`Ledger::n_left`].
    pub is_late: Option<&'o (dyn Fn() -> bool + Sync)>,
    /// Called with the number of sessions counted and the total, from any thread.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// What to ask a [`Ledger`].
#[derive(Clone, Debug, Default)]
pub struct LedgerQuery<'q> {
    /// How to group, as in [`StatsOptions::by`](super::StatsOptions::by). A ledger does not know tools, so a group by
    /// tool is empty.
    pub by: Vec<Grouping>,
    /// Count entries from this day on: see [`Sessions::local_day`].
    pub since: Option<i64>,
    /// Count entries up to this day.
    pub until: Option<i64>,
    /// Count only the sessions of the project with this name, as groups by project have it.
    pub project: Option<&'q str>,
    /// Count only what this model has used.
    pub model: Option<&'q str>,
}

impl Sessions {
    /// Counts sessions by day and model, with every entry counted once.
    ///
    /// Reads only those families again of which a file has changed since `before`.
    pub fn ledger(
        &self,
        sessions: Vec<SessionInfo>,
        before: &Ledger,
        options: &LedgerOptions<'_>,
    ) -> Result<Ledger, SessionError> {
        // What their owners noted is not by day.
        let families = Absent::among(self, &sessions, false).removed_from(self.related(&sessions));
        let (n_done, n_all) = (AtomicU64::new(0), sessions.len() as u64);
        let n_read = AtomicU64::new(0);
        let is_late = || options.is_late.is_some_and(|is_late| is_late());
        let counted = each(self.world.os(), families, 1, |family| {
            if options.cancel.is_cancelled() {
                return (family, Vec::new(), Vec::new());
            }
            let states: Vec<FileState> = family.iter().map(|index| self.file_state(&sessions[*index])).collect();
            let accounts = match before.families.get(&states) {
                Some(known) => known.clone(),
                None if n_read.fetch_add(1, Relaxed) > 0 && is_late() => return (family, Vec::new(), Vec::new()),
                None => self.account_family(&sessions, &family),
            };
            if let Some(on_progress) = options.on_progress {
                let n_here = family.len() as u64;
                on_progress(n_done.fetch_add(n_here, Relaxed) + n_here, n_all);
            }
            (family, states, accounts)
        });
        if options.cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let mut accounts = vec![Arc::default(); sessions.len()];
        let mut families = HashMap::with_capacity(counted.len());
        let mut n_left = 0;
        for (family, states, counted) in counted {
            if states.is_empty() {
                n_left += family.len();
                continue;
            }
            for (index, account) in family.iter().zip(&counted) {
                accounts[*index] = Arc::clone(account);
            }
            families.insert(states, counted);
        }
        let names = SessionNames::of(self, &sessions, &[Grouping::Project, Grouping::Repository, Grouping::Member]);
        Ok(Ledger { sessions, names, accounts, families, n_left })
    }

    /// The day on the local clock at an instant, in days since 1970.
    pub fn local_day(&self, time: Timestamp) -> i64 {
        to_local(time, &Zone(self.environment())).as_ms().div_euclid(MS_PER_DAY)
    }

    fn file_state(&self, session: &SessionInfo) -> FileState {
        let stat = self.world.os().stat(&session.path).ok();
        let state = stat.map(|stat| (stat.identity, stat.length, stat.modified_ms, stat.changed_ns));
        FileState { path: session.path.clone(), state }
    }

    fn account_family(&self, sessions: &[SessionInfo], family: &[usize]) -> Vec<Arc<Account>> {
        let mut accounts: Vec<Account> = family.iter().map(|_| Account::default()).collect();
        let failed = self.read_family(sessions, family, &mut |at, share, is_copy| {
            let day = share.time.map(|time| self.local_day(time));
            row_of(&mut accounts[at].days, day).add(share, is_copy);
        });
        for (account, failed) in accounts.iter_mut().zip(failed) {
            account.failed = failed;
            account.days.shrink_to_fit();
        }
        accounts.into_iter().map(Arc::new).collect()
    }
}

impl Grouping {
    /// The key of the period that contains a day; `None` if it is not a period. The day is in days since 1970.
    pub fn period_of_day(self, day: i64) -> Option<String> {
        self.is_period().then(|| period_of(self, Timestamp::from_ms(day.saturating_mul(MS_PER_DAY))))
    }
}

/// The value of a key in sorted rows.
fn row_of<K: Ord, V: Default>(rows: &mut Vec<(K, V)>, key: K) -> &mut V {
    let index = match rows.binary_search_by(|(other, _)| other.cmp(&key)) {
        Ok(index) => index,
        Err(index) => {
            // Most accounts have one day and one model.
            rows.reserve_exact(1);
            rows.insert(index, (key, V::default()));
            index
        }
    };
    &mut rows[index].1
}

impl DayAccount {
    /// What a model has used.
    fn of_model(&self, model: &str) -> Option<&Tally> {
        self.models.iter().find(|(name, _)| name == model).map(|(_, tally)| tally)
    }

    fn add(&mut self, share: &Share, is_copy: bool) {
        if is_copy {
            self.copied += 1;
            return;
        }
        self.whole.add(share);
        for (model, tally) in share.parts(SplitBy::Model) {
            row_of(&mut self.models, model).merge(&tally);
        }
    }
}

impl Ledger {
    /// The usage of all sessions, or of some.
    pub fn stats(&self, query: &LedgerQuery<'_>) -> Stats {
        let is_limited = query.since.is_some() || query.until.is_some() || query.model.is_some();
        let is_of_project = |index: &usize| query.project.is_none_or(|project| self.names.projects[*index] == project);
        let indexes = (0..self.sessions.len()).filter(is_of_project);
        let counted = indexes.map(|index| {
            let mut counted = self.accounts[index].tally(query);
            counted.index = index;
            if let Some(keys) = whole_sessions(&query.by).filter(|_| !is_limited) {
                counted.groups.entry(keys).or_default();
            }
            counted
        });
        summed(&self.sessions, &self.names, counted, &query.by, is_limited)
    }

    /// The number of sessions that are not counted yet, because it was too late. A ledger made from this one goes on.
    pub fn n_left(&self) -> usize {
        self.n_left
    }

    /// The first and the last day of any entry that a query without groups counts.
    pub fn days(&self, query: &LedgerQuery<'_>) -> Option<(i64, i64)> {
        let is_of_project = |index: &usize| query.project.is_none_or(|project| self.names.projects[*index] == project);
        let accounts = (0..self.sessions.len()).filter(is_of_project).map(|index| &self.accounts[index]);
        let has_usage = |day: &DayAccount| match query.model {
            Some(model) => day.of_model(model).is_some(),
            None => day.whole.entries > 0,
        };
        let days = accounts.flat_map(|account| account.days.iter().filter(|(_, day)| has_usage(day)));
        let days = days.filter_map(|(day, _)| *day).filter(|day| query.is_within(Some(*day)));
        days.fold(None, |found: Option<(i64, i64)>, day| {
            Some(found.map_or((day, day), |(first, last)| (first.min(day), last.max(day))))
        })
    }
}

impl LedgerQuery<'_> {
    fn is_within(&self, day: Option<i64>) -> bool {
        match day {
            Some(day) => self.since.is_none_or(|since| day >= since) && self.until.is_none_or(|until| day <= until),
            None => self.since.is_none() && self.until.is_none(),
        }
    }
}

impl Account {
    fn tally(&self, query: &LedgerQuery<'_>) -> SessionTally {
        let mut counted = SessionTally { failed: self.failed, ..SessionTally::default() };
        let is_by_model = query.by.contains(&Grouping::Model);
        for (day, account) in self.days.iter().filter(|(day, _)| query.is_within(*day)) {
            let mut add = |model: &str, tally: &Tally| {
                let key = |grouping: &Grouping| match grouping {
                    Grouping::Model => Some(model.to_owned()),
                    Grouping::Tool => None,
                    of_session if of_session.is_of_session() => Some(String::new()),
                    // An entry without a time is in no period.
                    period => period.period_of_day((*day)?),
                };
                let keys = query.by.iter().map(key).collect::<Option<Vec<String>>>();
                if let Some(keys) = keys.filter(|keys| !keys.is_empty()) {
                    counted.groups.entry(keys).or_default().merge(tally);
                }
            };
            if let Some(model) = query.model {
                let Some(tally) = account.of_model(model) else { continue };
                add(model, tally);
                counted.tally.merge(tally);
            } else {
                if is_by_model {
                    account.models.iter().for_each(|(model, tally)| add(model, tally));
                } else if account.whole.entries > 0 {
                    add("", &account.whole);
                }
                counted.tally.merge(&account.whole);
                counted.copied += account.copied;
            }
            counted.is_within = true;
        }
        counted
    }
}
