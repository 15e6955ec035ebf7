//! A query against everything: what the index covers, and by reading what it does not.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use sessile_core::line::Span;
use sessile_core::search::filter::Filter;
use sessile_core::search::matching::Matcher;
use sessile_core::search::query::Query;
use sessile_core::search::score::{Scale, length_code, seconds};
use sessile_core::search::texts::{DocumentKind, read_texts};
use sessile_store::os::{Mode, Os};
use sessile_store::threads;

use super::TextIndex;
use super::evaluate::{Matched, Matches, UNWANTED, Wanted, evaluate};
use super::hits::{Candidate, Collector, Floor, Place};
use super::lines::{Opening, read_lines};
use super::note::Recalled;
use super::page::Untrusted;
use super::segment::Segment;
use super::survey::Surveyed;
use crate::{Freshness, Mark};

/// Decides about a session, by path, id and working directory.
pub type Admits<'r> = dyn Fn(&Path, &str, &str) -> bool + Sync + 'r;

/// What to look for, and where.
pub struct Request<'r> {
    /// What to look for.
    pub query: &'r Query,
    /// Which entries count.
    pub filter: &'r Filter,
    /// Which sessions count, by path, id and working directory; without it, all.
    pub admits: Option<&'r Admits<'r>>,
    /// How many are wanted.
    pub limit: usize,
    /// Whether only the best entry of each session counts.
    pub per_session: bool,
    /// The time, in milliseconds.
    pub now_ms: i64,
    /// Asked now and then; true to stop.
    pub is_cancelled: &'r (dyn Fn() -> bool + Sync),
    /// Told now and then how many bytes have been read without the index, of how many.
    pub on_progress: &'r (dyn Fn(u64, u64) + Sync),
}

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The place of its session among the files that were searched.
    pub file: usize,
    /// Where its line lies.
    pub span: Span,
    /// The greater, the better.
    pub score: f32,
    /// What it is.
    pub kind: DocumentKind,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The best first.
    pub hits: Vec<Hit>,
    /// How many bytes had to be read because the index does not cover them.
    pub n_scanned: u64,
}

/// What has to be done about one file.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// A segment has to be asked.
    Segment(usize),
    /// A file has to be read from here to there.
    Scan { file: usize, from: u64, to: u64 },
}

/// How far the index covers a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// Up to there, as the session at this place of the manifest; and how long the file is.
    Known { place: usize, end: u64, length: u64 },
    /// Not at all.
    Unknown,
}

impl TextIndex {
    /// Finds what is looked for in these files, whatever state the index is in.
    ///
    /// None if it was cancelled.
    pub fn find(&mut self, files: &[Surveyed], request: &Request<'_>) -> Option<Findings> {
        let mut covered = self.covered.take().filter(|covered| covered.len() == files.len());
        loop {
            let coverage = covered.take().unwrap_or_else(|| self.coverage(files));
            match self.attempt(files, &coverage, request) {
                Ok(findings) => return findings,
                Err(segment) => self.distrust(segment),
            }
        }
    }

    /// Finds what is looked for in files that were recalled.
    ///
    /// None if the index cannot be believed, and within that none if it was cancelled.
    pub fn find_recalled(&self, recalled: &Recalled, request: &Request<'_>) -> Option<Option<Findings>> {
        self.attempt(&[], &recalled.coverage, request).ok()
    }

    /// One attempt; the place of a segment if that cannot be believed.
    fn attempt(
        &self,
        files: &[Surveyed],
        coverage: &[Coverage],
        request: &Request<'_>,
    ) -> Result<Option<Findings>, usize> {
        let plan = Plan::new(self, files, coverage, request);
        let os = self.caches.os().as_ref();
        let segments: Vec<OnceLock<Result<Segment<'_>, Untrusted>>> =
            self.manifest.segments.iter().map(|_| OnceLock::new()).collect();
        let open = |place: usize| {
            let info = &self.manifest.segments[place];
            segments[place].get_or_init(|| Segment::open(os, &self.segment_path(&info.name), info)).as_ref()
        };
        let scale = Scale::new(request.now_ms);
        let next = AtomicUsize::new(0);
        let n_done = AtomicU64::new(0);
        let floor = Arc::new(Floor::default());
        let work = || -> Result<Collector, usize> {
            let mut collector = Collector::new(request.limit, request.per_session, coverage.len(), &floor);
            let mut matcher = Matcher::new(request.query, request.filter);
            while let Some(job) = plan.jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if (request.is_cancelled)() {
                    break;
                }
                match *job {
                    Job::Segment(place) => {
                        let asked = open(place).map_err(|untrusted| *untrusted).and_then(|segment| {
                            ask(segment, place, request, &scale, &plan.ranks[place], &mut collector)
                        });
                        asked.map_err(|Untrusted| place)?;
                    }
                    Job::Scan { file, from, to } => {
                        let known = match coverage[file] {
                            Coverage::Known { place, .. } => Some(self.manifest.path_at(place)),
                            Coverage::Unknown => None,
                        };
                        let path = known.as_deref().or_else(|| Some(files.get(file)?.path.as_path()));
                        let path = path.unwrap_or(Path::new(""));
                        scan(os, path, (file, from, to), request, &scale, &mut matcher, &mut collector);
                        let done = n_done.fetch_add(to - from, Ordering::Relaxed) + to - from;
                        (request.on_progress)(done, plan.n_scanned);
                    }
                }
            }
            Ok(collector)
        };
        let mut collector = if plan.jobs.len() > 1 && os.has_threads() {
            let (mine, other) = threads::both(work, work);
            let mut mine = mine?;
            mine.merge(other?);
            mine
        } else {
            work()?
        };
        if (request.is_cancelled)() {
            return Ok(None);
        }
        collector = match collector {
            Collector::Sessions(best) if request.limit < best.len() => {
                let mut fewer = Collector::new(request.limit, false, 0, &floor);
                best.into_iter().flatten().for_each(|candidate| fewer.push(candidate));
                fewer
            }
            other => other,
        };
        let mut hits = Vec::new();
        for candidate in collector.finish() {
            let span = match candidate.place {
                Place::Scanned { offset, length } => Span { offset, len: length },
                Place::Indexed { segment, document } => {
                    let place = segment as usize;
                    let spans = open(place).map_err(|untrusted| *untrusted);
                    let spans = spans.and_then(|segment| segment.spans(document..document + 1));
                    spans.ok().and_then(|spans| spans.first().copied()).ok_or(place)?
                }
            };
            let kind = DocumentKind::of_code(candidate.kind).unwrap_or(DocumentKind::Custom);
            hits.push(Hit { file: candidate.rank as usize, span, score: candidate.score, kind });
        }
        Ok(Some(Findings { hits, n_scanned: plan.n_scanned }))
    }

    /// How far the index covers each file.
    pub(super) fn coverage(&self, files: &[Surveyed]) -> Vec<Coverage> {
        let os = self.caches.os().as_ref();
        let mut near = 0;
        let cover = |file: &Surveyed| {
            let Some(place) = self.manifest.find_near(&file.path, near) else { return Coverage::Unknown };
            near = place + 1;
            let known = &self.manifest.records[place];
            if self.distrusted.contains(&known.number) {
                return Coverage::Unknown;
            }
            coverage_of(os, file, place, &known.mark)
        };
        files.iter().map(cover).collect()
    }

    /// How many of these files the index covers as they are, and how many bytes of the others it does not.
    pub fn coverage_of_files(&self, files: &[Surveyed]) -> (usize, u64) {
        let (mut n_covered, mut n_uncovered) = (0, 0);
        for (file, coverage) in files.iter().zip(self.coverage(files)) {
            let n_missing = match coverage {
                Coverage::Unknown => file.stat.length,
                Coverage::Known { end, length, .. } => length.saturating_sub(end),
            };
            n_covered += usize::from(n_missing == 0 && matches!(coverage, Coverage::Known { .. }));
            n_uncovered += n_missing;
        }
        (n_covered, n_uncovered)
    }

    /// How many bytes of these files the index does not cover.
    ///
    /// What is found out is kept for a search of the same files right afterwards.
    pub fn n_uncovered(&mut self, files: &[Surveyed]) -> u64 {
        let coverage = self.coverage(files);
        let uncovered = |(file, coverage): (&Surveyed, &Coverage)| match coverage {
            Coverage::Unknown => file.stat.length,
            Coverage::Known { end, length, .. } => length.saturating_sub(*end),
        };
        let n_uncovered = files.iter().zip(&coverage).map(uncovered).sum();
        self.covered = Some(coverage);
        n_uncovered
    }
}

pub(super) fn coverage_of(os: &dyn Os, file: &Surveyed, place: usize, mark: &Mark) -> Coverage {
    if mark.is_same(&file.stat) {
        return Coverage::Known { place, end: mark.end(), length: file.stat.length };
    }
    let look = || {
        let open = os.open(&file.path, Mode::Read).ok()?;
        let stat = open.stat().ok()?;
        let is_known = mark.freshness(open.as_ref(), &stat) != Freshness::Other;
        is_known.then_some(Coverage::Known { place, end: mark.end(), length: stat.length })
    };
    look().unwrap_or(Coverage::Unknown)
}

/// What has to be done to answer.
struct Plan {
    jobs: Vec<Job>,
    /// For each segment, which file each run is of.
    ranks: Vec<Vec<u32>>,
    n_scanned: u64,
}

impl Plan {
    fn new(index: &TextIndex, files: &[Surveyed], coverage: &[Coverage], request: &Request<'_>) -> Self {
        let manifest = &index.manifest;
        let mut rank_of = vec![UNWANTED; manifest.next_number as usize];
        let mut scans = Vec::new();
        let mut buffer = Vec::new();
        let is_by_reading = matches!(request.query, Query::Pattern(_));
        for (file, coverage) in coverage.iter().enumerate() {
            let (from, to) = match *coverage {
                Coverage::Unknown => (0, files[file].stat.length),
                Coverage::Known { place, end, length } => {
                    let known = &manifest.records[place];
                    let mut is_admitted = |admits: &Admits<'_>| {
                        admits(manifest.path(known, &mut buffer), manifest.id(known), manifest.cwd(known))
                    };
                    // Most searches are of everything, and then nothing has to be found out about thousands of sessions.
                    if !known.is_session || !request.admits.is_none_or(&mut is_admitted) {
                        continue;
                    }
                    if let (Some(rank), false) = (rank_of.get_mut(known.number as usize), is_by_reading) {
                        *rank = u32::try_from(file).unwrap_or(UNWANTED);
                    }
                    (if is_by_reading { 0 } else { end }, length)
                }
            };
            if from < to {
                scans.push(Job::Scan { file, from, to });
            }
        }
        let rank = |session: u32| rank_of.get(session as usize).copied().unwrap_or(UNWANTED);
        let ranks = |runs: &[super::segment::Run]| runs.iter().map(|run| rank(run.session)).collect::<Vec<u32>>();
        let ranks: Vec<Vec<u32>> = manifest.segments.iter().map(|segment| ranks(&segment.runs)).collect();
        let is_wanted = |place: &usize| ranks[*place].iter().any(|rank| *rank != UNWANTED);
        let mut places: Vec<usize> = (0..ranks.len()).filter(is_wanted).collect();
        // The new ones first: what is recent is better, and what cannot be as good need not be looked at closely.
        places.reverse();
        let n_scanned = scans.iter().map(|job| if let Job::Scan { from, to, .. } = job { to - from } else { 0 }).sum();
        let jobs = places.into_iter().map(Job::Segment).chain(scans).collect();
        Self { jobs, ranks, n_scanned }
    }
}

fn ask(
    segment: &Segment<'_>,
    place: usize,
    request: &Request<'_>,
    scale: &Scale,
    ranks: &[u32],
    collector: &mut Collector,
) -> Result<(), Untrusted> {
    let Query::Clauses(clauses) = request.query else { return Ok(()) };
    let wanted = Wanted { clauses, filter: request.filter, scale };
    let number = u32::try_from(place).unwrap_or(u32::MAX);
    evaluate(segment, &wanted, ranks, &mut Asked { collector, number })
}

/// Collects what a segment answers.
struct Asked<'a> {
    collector: &'a mut Collector,
    number: u32,
}

impl Matches for Asked<'_> {
    fn wants(&self, score: f32, rank: u32) -> bool {
        self.collector.wants(score, rank)
    }

    fn floor(&self) -> Option<f32> {
        self.collector.floor()
    }

    fn push(&mut self, found: Matched) {
        let Matched { document, rank, score, facts } = found;
        let place = Place::Indexed { segment: self.number, document };
        self.collector.push(Candidate { score, time: facts.time, rank, place, kind: facts.kind });
    }
}

/// Reads a part of a file. A file that cannot be read hides only itself.
fn scan(
    os: &dyn Os,
    path: &Path,
    (file, from, to): (usize, u64, u64),
    request: &Request<'_>,
    scale: &Scale,
    matcher: &mut Matcher<'_>,
    collector: &mut Collector,
) {
    let Ok(open) = os.open(path, Mode::Read) else { return };
    // Whether a part is of a session was decided when its beginning was read.
    let mut opening = if from == 0 { Opening::Awaited } else { Opening::Session(super::lines::Heading::default()) };
    let mut is_admitted = from > 0;
    let rank = u32::try_from(file).unwrap_or(UNWANTED);
    drop(read_lines(open.as_ref(), from, to, &mut |line| {
        let Some(bytes) = line.bytes else { return true };
        if !opening.take(bytes) {
            if let Opening::Session(heading) = &opening {
                is_admitted = request.admits.is_none_or(|admits| admits(path, &heading.id, &heading.cwd));
            }
            return matches!(opening, Opening::Awaited) || is_admitted;
        }
        matcher.begin();
        let Some(document) = read_texts(bytes, matcher) else { return true };
        let Some(found) = matcher.finish(document) else { return true };
        let (length, kind, time) = (length_code(found.n_tokens), document.kind.code(), seconds(document.time));
        let mut sum = 0.0;
        for frequency in found.frequencies {
            sum += scale.clause(frequency, length);
        }
        let score = scale.document(sum, kind, time);
        collector.push(Candidate { score, time, rank, place: Place::scanned(line.span), kind });
        !(request.is_cancelled)()
    }));
}
