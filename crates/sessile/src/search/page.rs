//! Pages of a long result.

use std::collections::HashMap;
use std::path::Path;

use sessile_core::location::fingerprint;
use sessile_text::{Hit, SurveyedFile};

use super::SearchHit;
use super::options::SearchPage;

/// How many hits there are besides those of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitCounts {
    /// All hits.
    pub total: usize,
    /// The hits after the page.
    pub left: usize,
    /// Whether the hit after which the page begins is no longer one. The page is empty then.
    pub is_lost: bool,
}

impl SearchPage {
    /// Keeps only the hits of this page, at most `limit`.
    pub(super) fn turn_to(self, limit: usize, files: &[SurveyedFile], hits: &mut Vec<Hit>) -> HitCounts {
        let total = hits.len();
        self.take_turns(hits);
        let position_of = |hit: &Hit| files.get(hit.file).map(|file| position(&file.path, hit.span.offset));
        let start = match self.after {
            None => Some(0),
            Some(last) => hits.iter().position(|hit| position_of(hit) == Some(last)).map(|at| at + 1),
        };
        hits.drain(..start.unwrap_or(total));
        let left = hits.len().saturating_sub(limit);
        hits.truncate(limit);
        HitCounts { total, left, is_lost: start.is_none() }
    }

    /// Sorts the hits by turn. Within a turn, the order stays.
    fn take_turns(self, hits: &mut [Hit]) {
        let mut n_of_session: HashMap<usize, usize> = HashMap::new();
        hits.sort_by_cached_key(|hit| {
            let n_before = n_of_session.entry(hit.file).or_default();
            *n_before += 1;
            (*n_before - 1) / self.per_turn.max(1)
        });
    }
}

impl SearchHit {
    /// A number that names the position of the hit in the store, for [`SearchPage::after`]; `None` if the session of
    /// another member is not on this machine.
    pub fn position(&self) -> Option<u64> {
        self.offset.map(|offset| position(&self.session_path, offset))
    }
}

fn position(path: &Path, offset: u64) -> u64 {
    let mut name = path.as_os_str().as_encoded_bytes().to_vec();
    name.extend_from_slice(&offset.to_le_bytes());
    fingerprint(&name)
}

#[cfg(test)]
mod tests {
    use sessile_core::line::Span;
    use sessile_core::search::texts::DocumentKind;

    use super::*;

    fn order(per_turn: usize, files: &[usize]) -> Vec<u64> {
        let hit = |(index, file): (usize, &usize)| Hit {
            file: *file,
            span: Span { offset: index as u64, len: 1 },
            score: 0.0,
            kind: DocumentKind::User,
        };
        let mut hits: Vec<Hit> = files.iter().enumerate().map(hit).collect();
        SearchPage { per_turn, after: None }.take_turns(&mut hits);
        hits.iter().map(|hit| hit.span.offset).collect()
    }

    #[test]
    fn sessions_take_turns_and_nothing_is_lost() {
        assert_eq!(order(2, &[7, 7, 7, 8, 7, 7]), [0, 1, 3, 2, 4, 5]);
        assert_eq!(order(usize::MAX, &[7, 7, 7, 8]), [0, 1, 2, 3]);
        assert_eq!(order(0, &[7, 7, 8]), [0, 2, 1]);
    }
}
