//! Pages of a long result, in which sessions take turns.

use sessile_core::line::Span;

use crate::hits::Candidate;

/// Which page of all hits to return.
#[derive(Clone, Copy)]
pub struct Paging<'r> {
    /// The hits of a session before other sessions get their turn.
    pub per_turn: usize,
    /// Whether a hit is the one after which the page begins, by its file and its offset; none for the first page.
    pub is_before: Option<&'r (dyn Fn(usize, u64) -> bool + Sync)>,
}

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

/// The first page is looked for among this many of the best hits per hit on it.
pub(crate) const BEST_PER_HIT: usize = 64;

/// The first page, if the best hits suffice for it. Whose turn a hit is depends only on better hits, so the others need
/// no order.
pub(crate) fn first_page(
    best: &mut [Candidate],
    total: usize,
    n_files: usize,
    limit: usize,
    paging: &Paging<'_>,
) -> Option<(Vec<Candidate>, HitCounts)> {
    if paging.is_before.is_some() {
        return None;
    }
    best.sort_unstable_by(|one, other| other.cmp(one));
    let turns = turns(best, n_files, paging.per_turn);
    let first: Vec<Candidate> =
        best.iter().zip(turns).filter(|(_, turn)| *turn == 0).map(|(hit, _)| *hit).take(limit).collect();
    let counts = HitCounts { total, left: total.saturating_sub(limit), is_lost: false };
    (first.len() == limit).then_some((first, counts))
}

/// The hits of a page, at most `limit`.
///
/// `span_of` returns where the line of a hit is.
pub(crate) fn page<E>(
    hits: Vec<Candidate>,
    n_files: usize,
    limit: usize,
    paging: &Paging<'_>,
    span_of: &mut dyn FnMut(&Candidate) -> Result<Span, E>,
) -> Result<(Vec<Candidate>, HitCounts), E> {
    let total = hits.len();
    let mut hits = in_turns(hits, n_files, paging.per_turn);
    let mut start = Some(0);
    if let Some(is_before) = paging.is_before {
        start = None;
        for (nth, hit) in hits.iter().enumerate() {
            if is_before(hit.rank as usize, span_of(hit)?.offset) {
                start = Some(nth + 1);
                break;
            }
        }
    }
    hits.drain(..start.unwrap_or(total));
    let left = hits.len().saturating_sub(limit);
    hits.truncate(limit);
    Ok((hits, HitCounts { total, left, is_lost: start.is_none() }))
}

/// All hits by turn. Within a turn, the best come first.
fn in_turns(mut hits: Vec<Candidate>, n_files: usize, per_turn: usize) -> Vec<Candidate> {
    hits.sort_unstable_by(|one, other| other.cmp(one));
    let mut by_turn: Vec<(usize, Candidate)> = turns(&hits, n_files, per_turn).into_iter().zip(hits).collect();
    by_turn.sort_by_key(|(turn, _)| *turn);
    by_turn.into_iter().map(|(_, hit)| hit).collect()
}

/// The turn of each hit.
fn turns(sorted: &[Candidate], n_files: usize, per_turn: usize) -> Vec<usize> {
    let mut n_before = vec![0; n_files];
    let turn = |hit: &Candidate| match n_before.get_mut(hit.rank as usize) {
        Some(n_before) => {
            *n_before += 1;
            (*n_before - 1) / per_turn.max(1)
        }
        None => usize::MAX,
    };
    sorted.iter().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hits::HitLocation;

    fn hit((nth, (rank, score)): (usize, (u32, u8))) -> Candidate {
        let location = HitLocation::Scanned { offset: nth as u64, length: 1 };
        Candidate { score: f32::from(score), time: 0, rank, location, kind: 0 }
    }

    fn offset(hit: &Candidate) -> u64 {
        match hit.location {
            HitLocation::Scanned { offset, .. } => offset,
            HitLocation::Indexed { .. } => 0,
        }
    }

    fn span_of(hit: &Candidate) -> Span {
        Span { offset: offset(hit), len: 1 }
    }

    fn order(per_turn: usize, files: &[u32]) -> Vec<u64> {
        let score = |(nth, file): (usize, &u32)| (nth, (*file, u8::MAX - u8::try_from(nth).unwrap()));
        let hits = files.iter().enumerate().map(score).map(hit).collect();
        in_turns(hits, 9, per_turn).iter().map(offset).collect()
    }

    #[test]
    fn sessions_take_turns_and_nothing_is_lost() {
        assert_eq!(order(2, &[7, 7, 7, 8, 7, 7]), [0, 1, 3, 2, 4, 5]);
        assert_eq!(order(usize::MAX, &[7, 7, 7, 8]), [0, 1, 2, 3]);
        assert_eq!(order(0, &[7, 7, 8]), [0, 2, 1]);
    }

    proptest! {
        /// Turning all pages gives every hit once, in the order that sorting everything gives.
        #[test]
        fn pages_together_are_all_hits_in_order(
            made in prop::collection::vec((0..12u32, any::<u8>()), 0..600),
            limit in 1..8usize,
            per_turn in 0..5usize,
            n_best in 0..600usize,
        ) {
            let hits: Vec<Candidate> = made.into_iter().enumerate().map(hit).collect();
            let first = Paging { per_turn, is_before: None };
            let (whole, counts) = page(hits.clone(), 12, limit, &first, &mut |hit| Ok::<_, ()>(span_of(hit))).unwrap();
            let mut best = hits.clone();
            best.sort_unstable_by(|one, other| other.cmp(one));
            best.truncate(n_best);
            if let Some((of_best, counts_of_best)) = first_page(&mut best, hits.len(), 12, limit, &first) {
                prop_assert_eq!((of_best.iter().map(offset).collect::<Vec<_>>(), counts_of_best), (whole.iter().map(offset).collect(), counts));
            }
            let expected: Vec<u64> = in_turns(hits.clone(), 12, per_turn).iter().map(offset).collect();
            let mut found = Vec::new();
            loop {
                let last = found.last().copied();
                let is_before = |_: usize, at: u64| Some(at) == last;
                let is_before: Option<&(dyn Fn(usize, u64) -> bool + Sync)> = if last.is_some() { Some(&is_before) } else { None };
                let paging = Paging { per_turn, is_before };
                let (turned, counts) = page(hits.clone(), 12, limit, &paging, &mut |hit| Ok::<_, ()>(span_of(hit))).unwrap();
                found.extend(turned.iter().map(offset));
                prop_assert_eq!((counts.total, counts.left, counts.is_lost), (hits.len(), hits.len() - found.len(), false));
                if counts.left == 0 {
                    break;
                }
            }
            prop_assert_eq!(found, expected);
            let nowhere = Paging { per_turn, is_before: Some(&|_, _| false) };
            let (turned, counts) = page(hits, 12, limit, &nowhere, &mut |hit| Ok::<_, ()>(span_of(hit))).unwrap();
            prop_assert!(turned.is_empty() && counts.is_lost);
        }
    }
}
