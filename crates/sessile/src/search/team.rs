//! Hits in sessions of other members that are not on this machine.

use std::collections::BTreeMap;

use sessile_core::search::glance::Glance;
use sessile_core::search::matching::Matcher;
use sessile_core::search::query::Query;
use sessile_core::search::score::Scale;
use sessile_core::search::terms::query_terms;
use sessile_core::search::texts::read_texts;
use sessile_remote::SessionNo;

use super::hit::{ANYTHING, SearchHit};
use super::is_in_scope;
use super::options::{SearchOptions, SearchScope};
use crate::directory::CwdFilter;
use crate::list::Archived;
use crate::list::absent::row_of_other;
use crate::others::{OtherSession, Others, Suspect, TeamReach, Wanted};
use crate::sessions::Sessions;
use crate::team::Author;

/// Matches lines that a server delivers.
pub(super) struct TeamSearch<'t> {
    sessions: &'t Sessions,
    query: &'t Query,
    options: &'t SearchOptions<'t>,
    /// Decides what is a hit.
    matcher: Matcher<'t>,
    /// Makes the excerpts of hits.
    quoting: Matcher<'t>,
    scale: Scale,
    /// By session and line, because a line may come more than once. With one hit per session, by session alone.
    hits: BTreeMap<(SessionNo, u64), SearchHit>,
}

impl<'t> TeamSearch<'t> {
    pub(super) fn new(sessions: &'t Sessions, query: &'t Query, options: &'t SearchOptions<'t>) -> Self {
        Self {
            sessions,
            query,
            options,
            matcher: Matcher::new(query, &options.filter),
            quoting: Matcher::new(query, &ANYTHING),
            scale: Scale::new(sessions.environment().now()),
            hits: BTreeMap::new(),
        }
    }

    /// Returns the hits, and how far it looked. Without the server, it looks at nothing.
    pub(super) fn run(mut self, others: &Others) -> (TeamReach, Vec<SearchHit>) {
        let sets = query_terms(self.query);
        let (world, options) = (&self.sessions.world, self.options);
        let filter = match &options.scope {
            SearchScope::Cwd(cwd) => world.filter_of_others(cwd),
            SearchScope::All | SearchScope::Files(_) => CwdFilter::All,
        };
        let admits = |session: &OtherSession| {
            let is_wanted = || match options.archived {
                Archived::Shown => true,
                Archived::Hidden => !row_of_other(session).is_archived,
                Archived::Only => row_of_other(session).is_archived,
            };
            is_in_scope(world, &filter, options, &session.path, session.id.as_str(), &session.cwd) && is_wanted()
        };
        // Only a whole session shows which entries are on a path. Without excerpts, the caller wants the files.
        let needs_files = options.on_path.is_some() || !options.excerpts;
        let glance = Glance::new(self.query);
        let wanted = Wanted { sets: &sets, glance: &glance, admits: &admits, needs_files };
        let reach = others.finder.find(&wanted, &mut |suspect| self.take(suspect)).unwrap_or_default();
        (reach, self.hits.into_values().collect())
    }

    /// Keeps a line if it is a hit, unless it will be found in a file. Returns whether it is one.
    fn take(&mut self, Suspect { session, line, is_for_file }: &Suspect<'_>) -> bool {
        self.matcher.begin();
        let document = read_texts(line.bytes, &mut self.matcher);
        let Some((document, found)) = document.and_then(|it| Some((it, self.matcher.finish(it)?))) else {
            return false;
        };
        if *is_for_file {
            return true;
        }
        let score = self.scale.matched(document, &found);
        let key = (session.no, if self.options.per_session { 0 } else { line.number });
        if self.hits.get(&key).is_some_and(|known| known.score >= score) {
            return true;
        }
        let Some(hit) = SearchHit::in_line(&session.path, line.bytes, &mut self.quoting, 0) else { return false };
        let author = Author {
            is_owner: line.author == session.owner,
            member: line.author.to_owned(),
            device: line.device.map(str::to_owned),
        };
        self.hits.insert(key, SearchHit { score, author: Some(author), ..hit });
        true
    }
}
