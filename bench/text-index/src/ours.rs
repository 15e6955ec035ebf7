//! Our own index.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::search::filter::Filter;
use sessile_core::search::query::Query as Parsed;
use sessile_index::Caches;
use sessile_store::os::{Os, RealOs};
use sessile_text::{Findings, Request, SurveyedFile, TextIndex, UpdateOptions, Updated};

use crate::Failure;
use crate::engine::{Engine, Hit, Query};

pub struct Ours {
    index: TextIndex,
    files: Vec<SurveyedFile>,
    /// Whether to index an added entry at once, which the product leaves until it is worthwhile.
    pub is_eager: bool,
}

/// As `sessile::search`: fewer uncovered bytes are read on each search.
const WORTHWHILE: u64 = 128 << 10;

impl Ours {
    pub fn open(index: &Path, files: Vec<PathBuf>) -> Self {
        let os: Arc<dyn Os> = Arc::new(RealOs);
        let surveyed = files.into_iter().filter_map(|path| Some(SurveyedFile { stat: os.stat(&path).ok()?, path }));
        let files = surveyed.collect();
        Self { index: TextIndex::open(Caches::new(os, index)), files, is_eager: false }
    }

    /// Lists and examines every session file, as the product does before each search.
    pub fn survey(store: &Path) -> Result<usize, Failure> {
        let root = store.join("sessions");
        let folders: Vec<PathBuf> =
            std::fs::read_dir(root)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        Ok(sessile_text::survey(&RealOs, &folders).len())
    }

    fn find(&mut self, query: &Query, limit: usize) -> Result<Findings, Failure> {
        let text = match query {
            Query::Word(word) => word.clone(),
            Query::All(words) => words.join(" "),
            Query::Phrase(words) => format!("\"{}\"", words.join(" ")),
            Query::Prefix(prefix) => format!("{prefix}*"),
        };
        let request = Request {
            query: &Parsed::parse(&text)?,
            filter: &Filter::default(),
            admits: None,
            limit,
            paging: None,
            per_session: false,
            now: sessile_core::date::Timestamp::from_ms(1_800_000_000_000),
            is_cancelled: &|| false,
            is_late: &|| false,
            on_progress: &|_, _| {},
        };
        self.index.find(&self.files, &request).ok_or_else(|| "cancelled".into())
    }
}

impl Engine for Ours {
    fn update(&mut self) -> Result<(), Failure> {
        match self.index.update(&self.files, &UpdateOptions::default())? {
            Updated::Done => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn index_appended(&mut self) -> Result<(), Failure> {
        let Some(last) = self.files.last_mut() else { return Ok(()) };
        last.stat = RealOs.stat(&last.path)?;
        if self.is_eager || self.index.n_uncovered(&self.files) >= WORTHWHILE { self.update() } else { Ok(()) }
    }

    fn count(&mut self, query: &Query) -> Result<usize, Failure> {
        Ok(self.find(query, usize::MAX)?.hits.len())
    }

    fn best(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        let hits = self.find(query, limit)?.hits;
        hits.iter().map(|hit| Ok((u32::try_from(hit.file)?, hit.span.offset))).collect()
    }
}
