//! Merges segments and drops the documents of deleted sessions.

use std::io;
use std::path::Path;

use sessile_store::StoreError;
use sessile_store::os::Os;

use crate::dictionary::{BlockReader, TermLocation};
use crate::document::DocumentRecord;
use crate::page::Corrupt;
use crate::positions::Positions;
use crate::postings::PostingsWriter;
use crate::segment::{OnTerm, Run, Segment, SegmentInfo, Terms, write_segment};

/// Why segments were not merged.
#[derive(Debug)]
pub(crate) enum Unmerged {
    /// The segment at this index is not valid.
    Corrupt(usize),
    /// The new segment could not be written.
    Store(StoreError),
}

/// Writes a segment with all documents of `segments` whose sessions are alive, in order. None if no document is left.
pub(crate) fn merge(
    os: &dyn Os,
    segments: &[Segment<'_>],
    is_alive: &dyn Fn(u32) -> bool,
    path: &Path,
    name: String,
) -> Result<Option<SegmentInfo>, Unmerged> {
    let mut documents = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut inputs = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let numbers = take_documents(segment, is_alive, &mut documents, &mut runs);
        let numbers = numbers.map_err(|Corrupt| Unmerged::Corrupt(index))?;
        inputs.push(Input { terms: TermWalk::new(segment), numbers });
    }
    if documents.is_empty() {
        return Ok(None);
    }
    let mut merging = Merging { inputs, untrusted: None };
    let written = write_segment(os, path, name, runs, &documents, &mut merging);
    match (merging.untrusted, written) {
        (Some(index), _) => Err(Unmerged::Corrupt(index)),
        (None, written) => written.map(Some).map_err(Unmerged::Store),
    }
}

/// Adds the live documents of a segment, and returns the new number of each.
fn take_documents(
    segment: &Segment<'_>,
    is_alive: &dyn Fn(u32) -> bool,
    documents: &mut Vec<DocumentRecord>,
    runs: &mut Vec<Run>,
) -> Result<Vec<Option<u32>>, Corrupt> {
    let n_documents = segment.info.n_documents();
    let records = segment.facts(0..n_documents)?.into_iter().zip(segment.spans(0..n_documents)?);
    let mut records = records.map(|(facts, span)| DocumentRecord { span, facts });
    let mut numbers = Vec::with_capacity(n_documents as usize);
    for run in &segment.info.runs {
        let records = records.by_ref().take(run.n_documents as usize);
        if !is_alive(run.session) {
            numbers.extend(records.map(|_| None));
            continue;
        }
        for record in records {
            numbers.push(u32::try_from(documents.len()).ok());
            documents.push(record);
        }
        match runs.last_mut() {
            Some(last) if last.session == run.session => last.n_documents += run.n_documents,
            _ => runs.push(*run),
        }
    }
    Ok(numbers)
}

struct Input<'s> {
    terms: TermWalk<'s>,
    numbers: Vec<Option<u32>>,
}

struct Merging<'s> {
    inputs: Vec<Input<'s>>,
    untrusted: Option<usize>,
}

impl Terms for Merging<'_> {
    fn write(&mut self, postings: &mut PostingsWriter<'_>, on_term: &mut OnTerm<'_>) -> Result<(), StoreError> {
        let stop = |_| StoreError::io("read", Path::new("a segment"))(io::ErrorKind::InvalidData.into());
        for index in 0..self.inputs.len() {
            self.step(index).map_err(stop)?;
        }
        let mut term = Vec::new();
        loop {
            let current = self.inputs.iter().filter_map(|input| input.terms.current.as_ref());
            let Some((least, _)) = current.min_by(|one, other| one.0.cmp(&other.0)) else { return Ok(()) };
            term.clone_from(least);
            for index in 0..self.inputs.len() {
                if self.inputs[index].terms.current.as_ref().is_some_and(|(current, _)| *current == term) {
                    let copied = self.inputs[index].copy(postings);
                    copied.inspect_err(|_| self.untrusted = Some(index)).map_err(stop)?;
                    self.step(index).map_err(stop)?;
                }
            }
            if !postings.is_empty() {
                on_term(&term, postings)?;
            }
        }
    }
}

impl Merging<'_> {
    fn step(&mut self, index: usize) -> Result<(), Corrupt> {
        self.inputs[index].terms.step().inspect_err(|_| self.untrusted = Some(index))
    }
}

impl Input<'_> {
    /// Adds the live documents of the current term.
    fn copy(&self, out: &mut PostingsWriter<'_>) -> Result<(), Corrupt> {
        let Some((_, location)) = self.terms.current else { return Ok(()) };
        let postings = self.terms.segment.postings(location)?;
        let documents = postings.documents.clone();
        let mut reader = Positions::new(self.terms.segment, location, postings);
        let mut positions = Vec::new();
        for document in documents {
            let number = self.numbers.get(document as usize).ok_or(Corrupt)?;
            if let Some(number) = number {
                reader.of(document, &mut positions)?;
                out.push(*number, positions.iter().copied());
            }
        }
        Ok(())
    }
}

/// Iterates over the terms of a segment.
struct TermWalk<'s> {
    segment: &'s Segment<'s>,
    next_block: usize,
    /// The terms of the current block, the next one last.
    block: Vec<(Vec<u8>, TermLocation)>,
    current: Option<(Vec<u8>, TermLocation)>,
}

impl<'s> TermWalk<'s> {
    fn new(segment: &'s Segment<'s>) -> Self {
        Self { segment, next_block: 0, block: Vec::new(), current: None }
    }

    fn step(&mut self) -> Result<(), Corrupt> {
        if self.block.is_empty() && self.next_block < self.segment.n_blocks() {
            let bytes = self.segment.block(self.next_block)?;
            let mut terms = BlockReader::new(&bytes)?;
            while let Some((term, location)) = terms.next()? {
                self.block.push((term.to_vec(), location));
            }
            self.block.reverse();
            self.next_block += 1;
        }
        self.current = self.block.pop();
        Ok(())
    }
}
