//! tantivy with our tokens, one field with positions, and columns that say where an entry is.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use sessile_core::search::token::TokenKind;
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, PhraseQuery, RangeQuery, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexReader, IndexWriter, Order, ReloadPolicy, TantivyDocument, Term};

use crate::Failure;
use crate::corpus::{Document, read_documents};
use crate::engine::{COMMIT, Engine, Hit, Query};

/// As much as our own index takes.
const MEMORY: usize = 192 << 20;

pub struct Tantivy {
    index: Index,
    fields: Fields,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    files: Vec<PathBuf>,
    /// How far each file is indexed, as of the last commit.
    ends: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Fields {
    text: Field,
    file: Field,
    offset: Field,
    time: Field,
    kind: Field,
}

impl Tantivy {
    pub fn open(path: &Path, files: Vec<PathBuf>) -> Result<Self, Failure> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("ours")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let fields = Fields {
            text: schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing)),
            file: schema.add_u64_field("file", FAST),
            offset: schema.add_u64_field("offset", FAST),
            time: schema.add_u64_field("time", FAST),
            kind: schema.add_u64_field("kind", FAST),
        };
        let directory = tantivy::directory::MmapDirectory::open(path)?;
        let index = Index::open_or_create(directory, schema.build())?;
        index.tokenizers().register("ours", OurTokens::default());
        let payload = index.load_metas()?.payload;
        let mut ends: Vec<u64> = payload.map_or(Ok(Vec::new()), |payload| serde_json::from_str(&payload))?;
        ends.resize(files.len(), 0);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, fields, reader, writer: None, files, ends })
    }

    fn commit(&mut self, ends: &[u64]) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&serde_json::to_string(ends)?);
        commit.commit()?;
        self.ends = ends.to_vec();
        Ok(())
    }

    fn index(&mut self, files: std::ops::Range<usize>) -> Result<(), Failure> {
        if self.writer.is_none() {
            self.writer = Some(self.index.writer_with_num_threads(2, MEMORY)?);
        }
        let mut ends = self.ends.clone();
        let mut n_since = 0;
        for file in files {
            let from = ends[file];
            let writer = self.writer.as_ref().ok_or("no writer")?;
            let add = |document: Document| {
                let mut added = TantivyDocument::default();
                for text in &document.texts {
                    added.add_text(self.fields.text, text);
                }
                added.add_u64(self.fields.file, u64::from(document.file));
                added.add_u64(self.fields.offset, document.offset);
                added.add_u64(self.fields.time, u64::from(document.time));
                added.add_u64(self.fields.kind, u64::from(document.kind));
                writer.add_document(added)?;
                Ok(())
            };
            ends[file] = read_documents(&self.files[file], u32::try_from(file)?, from, &mut { add })?;
            n_since += ends[file] - from;
            if n_since >= COMMIT {
                self.commit(&ends)?;
                n_since = 0;
            }
        }
        if ends != self.ends {
            self.commit(&ends)?;
        }
        self.reader.reload()?;
        Ok(())
    }

    fn query(&self, query: &Query) -> Box<dyn tantivy::query::Query> {
        let term = |word: &str| Term::from_field_text(self.fields.text, word);
        let word = |word: &String| -> Box<dyn tantivy::query::Query> {
            Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs))
        };
        match query {
            Query::Word(one) => word(one),
            Query::All(words) => Box::new(BooleanQuery::intersection(words.iter().map(word).collect())),
            Query::Phrase(words) => Box::new(PhraseQuery::new(words.iter().map(|word| term(word)).collect())),
            Query::Prefix(prefix) => {
                let after = format!("{prefix}\u{10ffff}");
                Box::new(RangeQuery::new(Bound::Included(term(prefix)), Bound::Excluded(term(&after))))
            }
        }
    }
}

impl Engine for Tantivy {
    fn update(&mut self) -> Result<(), Failure> {
        self.index(0..self.files.len())?;
        // A process that ends before its merges are done leaves many segments.
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
        }
        self.reader.reload()?;
        Ok(())
    }

    fn index_appended(&mut self) -> Result<(), Failure> {
        self.index(self.files.len() - 1..self.files.len())
    }

    fn count(&mut self, query: &Query) -> Result<usize, Failure> {
        Ok(self.reader.searcher().search(&self.query(query), &Count)?)
    }

    fn best(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        let searcher = self.reader.searcher();
        let found = searcher.search(&self.query(query), &TopDocs::with_limit(limit).order_by_score())?;
        let mut hits = Vec::new();
        for (_, address) in found {
            let columns = searcher.segment_reader(address.segment_ord).fast_fields();
            let value = |name| Ok::<_, Failure>(columns.u64(name)?.first(address.doc_id).unwrap_or_default());
            hits.push((u32::try_from(value("file")?)?, value("offset")?));
        }
        Ok(hits)
    }

    fn newest(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        let searcher = self.reader.searcher();
        let newest = TopDocs::with_limit(limit).order_by_u64_field("time", Order::Desc);
        let mut hits = Vec::new();
        for (_, address) in searcher.search(&self.query(query), &newest)? {
            let columns = searcher.segment_reader(address.segment_ord).fast_fields();
            let value = |name| Ok::<_, Failure>(columns.u64(name)?.first(address.doc_id).unwrap_or_default());
            hits.push((u32::try_from(value("file")?)?, value("offset")?));
        }
        Ok(hits)
    }
}

/// Our tokenizer, as tantivy wants one.
#[derive(Default)]
struct OurTokens {
    tokenizer: sessile_core::search::token::Tokenizer,
    stream: OurStream,
}

impl Clone for OurTokens {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The tokens of one text, in one buffer.
#[derive(Clone, Default)]
struct OurStream {
    terms: String,
    ends: Vec<(usize, usize)>,
    next: usize,
    token: Token,
}

impl Tokenizer for OurTokens {
    type TokenStream<'a> = &'a mut OurStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> &'a mut OurStream {
        let Self { tokenizer, stream } = self;
        stream.terms.clear();
        stream.ends.clear();
        stream.next = 0;
        let mut wholes = String::new();
        let mut whole_ends = Vec::new();
        tokenizer.run(text, |token| {
            let term = std::str::from_utf8(token.term).unwrap_or_default();
            if token.kind == TokenKind::Whole {
                wholes.push_str(term);
                whole_ends.push(wholes.len());
            } else {
                stream.terms.push_str(term);
                stream.ends.push((stream.terms.len(), stream.ends.len()));
            }
            true
        });
        // Wholes have no neighbours, so no phrase may contain them.
        let (n_bytes, n_tokens) = (stream.terms.len(), stream.ends.len());
        stream.terms.push_str(&wholes);
        let placed = |(place, end): (usize, &usize)| (n_bytes + end, n_tokens + 2 * place + 1);
        stream.ends.extend(whole_ends.iter().enumerate().map(placed));
        stream
    }
}

impl TokenStream for &mut OurStream {
    fn advance(&mut self) -> bool {
        let Some((end, position)) = self.ends.get(self.next).copied() else { return false };
        let start = self.next.checked_sub(1).map_or(0, |before| self.ends[before].0);
        self.next += 1;
        let OurStream { terms, token, .. } = &mut **self;
        token.text.clear();
        token.text.push_str(&terms[start..end]);
        token.position = position;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
