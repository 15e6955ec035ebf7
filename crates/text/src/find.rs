//! Evaluates a query on all sessions: with the index, and by reading what it does not cover.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use sessile_core::date::Timestamp;
use sessile_core::line::Span;
use sessile_core::search::filter::Filter;
use sessile_core::search::matching::Matcher;
use sessile_core::search::query::Query;
use sessile_core::search::score::{Scale, seconds};
use sessile_core::search::texts::{Document, DocumentKind, read_texts};
use sessile_index::{Freshness, Mark};
use sessile_store::os::{Mode, Os};
use sessile_store::{LineReader, threads};

use crate::TextIndex;
use crate::evaluate::{Matched, Matches, SegmentQuery, UNWANTED, evaluate};
use crate::hits::{Candidate, Collector, Floor, HitLocation};
use crate::lines;
use crate::opening::Opening;
use crate::page::Corrupt;
use crate::segment::Segment;
use crate::survey::SurveyedFile;
use crate::turns::{BEST_PER_HIT, HitCounts, Paging, first_page, page};

/// Decides whether a session counts, by path, id and working directory.
pub type Admits<'r> = dyn Fn(&Path, &str, &str) -> bool + Sync + 'r;

/// A search request.
pub struct Request<'r> {
    /// What to search for.
    pub query: &'r Query,
    /// Which entries count.
    pub filter: &'r Filter,
    /// Which sessions count, by path, id and working directory; all if none.
    pub admits: Option<&'r Admits<'r>>,
    /// The maximum number of hits.
    pub limit: usize,
    /// Which page of all hits to return, with at most `limit` of them; the best hits if none.
    pub paging: Option<Paging<'r>>,
    /// Whether only the best entry of each session counts.
    pub per_session: bool,
    /// The current time.
    pub now: Timestamp,
    /// Called regularly; returns true to stop.
    pub is_cancelled: &'r (dyn Fn() -> bool + Sync),
    /// Called regularly; returns true if what the index does not cover must not be read any more.
    pub is_late: &'r (dyn Fn() -> bool + Sync),
    /// Called regularly with the number of bytes read without the index, and the total of such bytes.
    pub on_progress: &'r (dyn Fn(u64, u64) + Sync),
}

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The index of its session among the searched files.
    pub file: usize,
    /// Where its line is.
    pub span: Span,
    /// Greater is better.
    pub score: f32,
    /// The kind of entry.
    pub kind: DocumentKind,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many there are, if a page was requested.
    pub counts: Option<HitCounts>,
    /// Number of bytes that had to be read because the index does not cover them.
    pub n_scanned: u64,
    /// Number of these bytes that were not read, because it was too late.
    pub n_unread: u64,
}

/// A unit of work.
#[derive(Clone, Debug)]
enum Job {
    /// Query a segment.
    Segment(usize),
    /// Read some lines of a file that the index covers up to `end`.
    Lines { file: usize, spans: Vec<Span>, end: u64 },
    /// Read a range of a file.
    Scan { file: usize, from: u64, to: u64 },
}

/// How much of a file the index covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Covered up to `end`, as the session at this index of the manifest; `length` is the file's length.
    Known { index: usize, end: u64, length: u64 },
    /// Not covered.
    Unknown,
}

impl TextIndex {
    /// Searches these files, whatever state the index is in.
    ///
    /// None if it was cancelled.
    pub fn find(&mut self, files: &[SurveyedFile], request: &Request<'_>) -> Option<Findings> {
        let mut covered = self.covered.take().filter(|covered| covered.len() == files.len());
        loop {
            let coverage = covered.take().unwrap_or_else(|| self.coverage(files));
            match self.attempt(files, &coverage, request) {
                Ok(findings) => return findings,
                Err(segment) => self.drop_segment(segment),
            }
        }
    }

    /// Makes one attempt. Fails with the index of an invalid segment.
    fn attempt(
        &self,
        files: &[SurveyedFile],
        coverage: &[Coverage],
        request: &Request<'_>,
    ) -> Result<Option<Findings>, usize> {
        let os = self.caches.os().as_ref();
        let segments: Vec<OnceLock<Result<Segment<'_>, Corrupt>>> =
            self.manifest.segments.iter().map(|_| OnceLock::new()).collect();
        let open = |index: usize| {
            let info = &self.manifest.segments[index];
            segments[index].get_or_init(|| Segment::open(os, &self.segment_path(&info.name), info)).as_ref()
        };
        let scale = Scale::new(request.now);
        let conditions = lines::conditions(request.query);
        let mut plan = Plan::new(self, files, coverage, request, conditions.is_empty());
        if !conditions.is_empty() {
            let query = SegmentQuery { clauses: &conditions, filter: request.filter, scale: &scale };
            plan.read_lines_instead(&query, coverage, &|index| open(index).map_err(|_untrusted| index))?;
        }
        let next = AtomicUsize::new(0);
        let n_done = AtomicU64::new(0);
        let n_unread = AtomicU64::new(0);
        let floor = Arc::new(Floor::default());
        let work = |made: &dyn Fn() -> Collector| -> Result<Collector, usize> {
            let mut collector = made();
            let mut matcher = Matcher::new(request.query, request.filter);
            while let Some(job) = plan.jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if (request.is_cancelled)() {
                    break;
                }
                match job {
                    Job::Segment(index) => {
                        let index = *index;
                        let result = open(index).map_err(|untrusted| *untrusted).and_then(|segment| {
                            query_segment(segment, index, request, &scale, &plan.ranks[index], &mut collector)
                        });
                        result.map_err(|Corrupt| index)?;
                    }
                    Job::Lines { file, spans, end } => {
                        let mut reader = Reader { os, request, scale: &scale, matcher: &mut matcher };
                        let n_skipped = reader.lines(&files[*file].path, (*file, spans, *end), &mut collector);
                        n_unread.fetch_add(n_skipped, Ordering::Relaxed);
                    }
                    Job::Scan { file, from, to } => {
                        let (file, from, to) = (*file, *from, *to);
                        let mut reader = Reader { os, request, scale: &scale, matcher: &mut matcher };
                        let end = reader.scan(&files[file].path, (file, from, to), &mut collector);
                        n_unread.fetch_add(to.saturating_sub(end), Ordering::Relaxed);
                        let done = n_done.fetch_add(to - from, Ordering::Relaxed) + to - from;
                        (request.on_progress)(done, plan.n_scanned);
                    }
                }
            }
            Ok(collector)
        };
        let collect = |made: &(dyn Fn() -> Collector + Sync)| -> Result<Collector, usize> {
            next.store(0, Ordering::Relaxed);
            n_done.store(0, Ordering::Relaxed);
            n_unread.store(0, Ordering::Relaxed);
            if plan.jobs.len() > 1 && os.has_threads() {
                let (mine, other) = threads::both(|| work(made), || work(made));
                let mut mine = mine?;
                mine.merge(other?);
                Ok(mine)
            } else {
                work(made)
            }
        };
        let all = |n_best| Collector::new(n_best, request.per_session, coverage.len(), &floor);
        let is_first_page = !request.per_session && request.paging.is_some_and(|paging| paging.is_before.is_none());
        let collector = if is_first_page {
            collect(&|| Collector::counted(request.limit.saturating_mul(BEST_PER_HIT), &floor))?
        } else {
            collect(&|| all(if request.paging.is_some() { usize::MAX } else { request.limit }))?
        };
        if (request.is_cancelled)() {
            return Ok(None);
        }
        // Without a page, few spans are needed.
        let mut known_spans: Vec<Option<Vec<Span>>> = vec![None; segments.len()];
        let mut span_of = |candidate: &Candidate, is_one_of_many: bool| match candidate.location {
            HitLocation::Scanned { offset, length } => Ok(Span { offset, len: length }),
            HitLocation::Indexed { segment, document } => {
                let index = segment as usize;
                let opened = || open(index).map_err(|_untrusted| index);
                if let (true, Some(known)) = (is_one_of_many, known_spans.get_mut(index)) {
                    if known.is_none() {
                        let segment = opened()?;
                        *known = Some(segment.spans(0..segment.info.n_documents()).map_err(|Corrupt| index)?);
                    }
                    return known.as_ref().and_then(|spans| spans.get(document as usize)).copied().ok_or(index);
                }
                let spans = opened()?.spans(document..document + 1);
                spans.ok().and_then(|spans| spans.first().copied()).ok_or(index)
            }
        };
        let (best, counts) = if let Some(paging) = &request.paging {
            let (total, mut found) = (collector.total(), collector.into_vec());
            let first = first_page(&mut found, total, files.len(), request.limit, paging);
            let (hits, counts) = if let Some(first) = first {
                first
            } else {
                if found.len() < total {
                    // The best are all from a few sessions, so other hits are on the page, too.
                    found = collect(&|| all(usize::MAX))?.into_vec();
                }
                if (request.is_cancelled)() {
                    return Ok(None);
                }
                page(found, files.len(), request.limit, paging, &mut |hit| span_of(hit, true))?
            };
            (hits, Some(counts))
        } else {
            (best_of(collector, request.limit, &floor), None)
        };
        let mut hits = Vec::new();
        for candidate in best {
            let span = span_of(&candidate, false)?;
            let kind = DocumentKind::of_code(candidate.kind).unwrap_or(DocumentKind::Custom);
            hits.push(Hit { file: candidate.rank as usize, span, score: candidate.score, kind });
        }
        Ok(Some(Findings { hits, counts, n_scanned: plan.n_scanned, n_unread: n_unread.into_inner() }))
    }

    /// Returns the coverage of each file.
    pub(crate) fn coverage(&self, files: &[SurveyedFile]) -> Vec<Coverage> {
        let os = self.caches.os().as_ref();
        let mut near = 0;
        let cover = |file: &SurveyedFile| {
            let Some(index) = self.manifest.find_near(&file.path, near) else { return Coverage::Unknown };
            near = index + 1;
            let known = &self.manifest.records[index];
            if self.corrupt_files.contains(&known.number) {
                return Coverage::Unknown;
            }
            coverage_of(os, file, index, &known.mark)
        };
        files.iter().map(cover).collect()
    }

    /// Returns how many of these files are fully covered, and how many bytes of all files are not covered.
    pub fn coverage_of_files(&self, files: &[SurveyedFile]) -> (usize, u64) {
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

    /// Returns how many bytes of these files the index does not cover.
    ///
    /// The coverage is kept for a search of the same files right afterwards.
    pub fn n_uncovered(&mut self, files: &[SurveyedFile]) -> u64 {
        let coverage = self.coverage(files);
        let uncovered = |(file, coverage): (&SurveyedFile, &Coverage)| match coverage {
            Coverage::Unknown => file.stat.length,
            Coverage::Known { end, length, .. } => length.saturating_sub(*end),
        };
        let n_uncovered = files.iter().zip(&coverage).map(uncovered).sum();
        self.covered = Some(coverage);
        n_uncovered
    }
}

/// The best candidates, best first, at most `limit`.
fn best_of(collector: Collector, limit: usize, floor: &Arc<Floor>) -> Vec<Candidate> {
    match collector {
        Collector::Sessions(best) if limit < best.len() => {
            let mut fewer = Collector::new(limit, false, 0, floor);
            best.into_iter().flatten().for_each(|candidate| fewer.push(candidate));
            fewer.finish()
        }
        other => other.finish(),
    }
}

fn coverage_of(os: &dyn Os, file: &SurveyedFile, index: usize, mark: &Mark) -> Coverage {
    if mark.is_same(&file.stat) {
        return Coverage::Known { index, end: mark.end(), length: file.stat.length };
    }
    let examine = || {
        let open = os.open(&file.path, Mode::Read).ok()?;
        let stat = open.stat().ok()?;
        let is_known = mark.freshness(open.as_ref(), &stat) != Freshness::Other;
        is_known.then_some(Coverage::Known { index, end: mark.end(), length: stat.length })
    };
    examine().unwrap_or(Coverage::Unknown)
}

/// The work needed to answer a request.
struct Plan {
    jobs: Vec<Job>,
    /// The file of each run, for each segment.
    ranks: Vec<Vec<u32>>,
    n_scanned: u64,
}

impl Plan {
    /// Plans a search. For a regular expression without conditions, everything must be read.
    fn new(
        text_index: &TextIndex,
        files: &[SurveyedFile],
        coverage: &[Coverage],
        request: &Request<'_>,
        has_no_conditions: bool,
    ) -> Self {
        let manifest = &text_index.manifest;
        let mut rank_of = vec![UNWANTED; manifest.next_number as usize];
        let mut scans = Vec::new();
        let mut buffer = Vec::new();
        let is_by_reading = matches!(request.query, Query::Pattern(_)) && has_no_conditions;
        for (file, coverage) in coverage.iter().enumerate() {
            let (from, to) = match *coverage {
                Coverage::Unknown => (0, files[file].stat.length),
                Coverage::Known { index, end, length } => {
                    let known = &manifest.records[index];
                    let mut is_admitted = |admits: &Admits<'_>| {
                        admits(manifest.path(known, &mut buffer), manifest.id(known), manifest.cwd(known))
                    };
                    // Most searches cover everything, and then thousands of sessions need no check.
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
        let ranks = |runs: &[crate::segment::Run]| runs.iter().map(|run| rank(run.session)).collect::<Vec<u32>>();
        let ranks: Vec<Vec<u32>> = manifest.segments.iter().map(|segment| ranks(&segment.runs)).collect();
        let is_wanted = |index: &usize| ranks[*index].iter().any(|rank| *rank != UNWANTED);
        let mut segments: Vec<usize> = (0..ranks.len()).filter(is_wanted).collect();
        // Newest segments first: recent entries score higher, and entries that cannot compete need no close check.
        segments.reverse();
        let n_scanned = scans.iter().map(|job| if let Job::Scan { from, to, .. } = job { to - from } else { 0 }).sum();
        let jobs = segments.into_iter().map(Job::Segment).chain(scans).collect();
        Self { jobs, ranks, n_scanned }
    }

    /// Replaces queries of segments by reading the lines that meet the conditions. Fails with the index of an invalid
    /// segment.
    fn read_lines_instead<'s>(
        &mut self,
        conditions: &SegmentQuery<'_>,
        coverage: &[Coverage],
        open: &dyn Fn(usize) -> Result<&'s Segment<'s>, usize>,
    ) -> Result<(), usize> {
        let (mut spans_of, mut jobs) = (BTreeMap::<usize, Vec<Span>>::new(), Vec::new());
        for job in std::mem::take(&mut self.jobs) {
            let Job::Segment(index) = job else {
                jobs.push(job);
                continue;
            };
            let found = lines::of_segment(open(index)?, conditions, &self.ranks[index]).map_err(|Corrupt| index)?;
            for (rank, span) in found {
                spans_of.entry(rank as usize).or_default().push(span);
            }
        }
        for (file, mut spans) in spans_of {
            spans.sort_unstable_by_key(|span| span.offset);
            if let Some(Coverage::Known { end, .. }) = coverage.get(file) {
                jobs.push(Job::Lines { file, spans, end: *end });
            }
        }
        self.jobs = jobs;
        Ok(())
    }
}

fn query_segment(
    segment: &Segment<'_>,
    index: usize,
    request: &Request<'_>,
    scale: &Scale,
    ranks: &[u32],
    collector: &mut Collector,
) -> Result<(), Corrupt> {
    let Query::Clauses(clauses) = request.query else { return Ok(()) };
    let query = SegmentQuery { clauses, filter: request.filter, scale };
    let number = u32::try_from(index).unwrap_or(u32::MAX);
    evaluate(segment, &query, ranks, &mut SegmentMatches { collector, number })
}

/// Collects the matches of a segment.
struct SegmentMatches<'a> {
    collector: &'a mut Collector,
    number: u32,
}

impl Matches for SegmentMatches<'_> {
    fn wants(&self, score: f32, rank: u32) -> bool {
        self.collector.wants(score, rank)
    }

    fn floor(&self) -> Option<f32> {
        self.collector.floor()
    }

    fn push(&mut self, matched: Matched) {
        let Matched { document, rank, score, facts } = matched;
        let location = HitLocation::Indexed { segment: self.number, document };
        self.collector.push(Candidate { score, time: facts.time, rank, location, kind: facts.kind });
    }

    fn counts(&self) -> bool {
        self.collector.counts()
    }

    fn count(&mut self, n: usize) {
        self.collector.count(n);
    }
}

/// Reads files without the index.
struct Reader<'r, 'q> {
    os: &'r dyn Os,
    request: &'r Request<'r>,
    scale: &'r Scale,
    matcher: &'r mut Matcher<'q>,
}

impl Reader<'_, '_> {
    /// Reads a part of a file, and returns where it stopped because it was too late; otherwise the end of the part.
    ///
    /// If the file cannot be read, only this file is missing from the result.
    fn scan(&mut self, path: &Path, (file, from, to): (usize, u64, u64), collector: &mut Collector) -> u64 {
        let request = self.request;
        if (request.is_late)() {
            return from;
        }
        let Ok(open) = self.os.open(path, Mode::Read) else { return to };
        let mut end = to;
        // If this is not the beginning of the file, it was already recognised as a session.
        let mut opening =
            if from == 0 { Opening::Awaited } else { Opening::Session(crate::opening::Heading::default()) };
        let mut is_admitted = from > 0;
        drop(LineReader::default().read_range(open.as_ref(), from..to, &mut |line| {
            if (request.is_cancelled)() {
                return false;
            }
            if (request.is_late)() {
                end = line.span.offset;
                return false;
            }
            let line = line.without_bom();
            let Some(bytes) = line.bytes else { return true };
            if !opening.take(bytes) {
                if let Opening::Session(heading) = &opening {
                    is_admitted = request.admits.is_none_or(|admits| admits(path, &heading.id, &heading.cwd));
                }
                return matches!(opening, Opening::Awaited) || is_admitted;
            }
            let document = self.read(bytes);
            if let Some(candidate) = document.and_then(|document| self.matched(file, document, line.span)) {
                collector.count(1);
                collector.push(candidate);
            }
            true
        }));
        end
    }

    /// Reads some lines of a file that the index covers up to `end`, and returns how many bytes were left out because it
    /// was too late.
    fn lines(&mut self, path: &Path, (file, spans, end): (usize, &[Span], u64), collector: &mut Collector) -> u64 {
        let Ok(open) = self.os.open(path, Mode::Read) else { return 0 };
        let (mut found, mut n_skipped) = (Vec::new(), 0);
        for span in spans {
            if (self.request.is_cancelled)() {
                return 0;
            }
            if (self.request.is_late)() {
                n_skipped += span.len;
                continue;
            }
            let line = lines::read(open.as_ref(), *span);
            let Some(document) = line.and_then(|line| self.read(line.get(1..)?)) else {
                // The file is not what was indexed.
                return end - self.scan(path, (file, 0, end), collector);
            };
            found.extend(self.matched(file, document, *span));
        }
        collector.count(found.len());
        for candidate in found {
            collector.push(candidate);
        }
        n_skipped
    }

    /// Passes the texts of a line to the matcher. Returns none if it is no entry with texts.
    fn read(&mut self, line: &[u8]) -> Option<Document> {
        self.matcher.begin();
        read_texts(line, self.matcher)
    }

    /// Compares the entry that was just read with the query.
    fn matched(&self, file: usize, document: Document, span: Span) -> Option<Candidate> {
        let found = self.matcher.finish(document)?;
        Some(Candidate {
            score: self.scale.matched(document, &found),
            time: seconds(document.time),
            rank: u32::try_from(file).unwrap_or(UNWANTED),
            location: HitLocation::scanned(span),
            kind: document.kind.code(),
        })
    }
}
