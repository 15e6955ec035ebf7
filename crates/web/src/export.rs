//! A session as one HTML file, or as a folder of files.
//!
//! The page contains the HTML of all entries and the original bytes of the session, compressed in chunks. It unpacks
//! the chunks that it needs for what is on the screen. The last entries of the current branch are plain HTML before
//! that, so the page can be read without scripts.

use maud::{PreEscaped, html};
use sessile::json::Json;
use sessile::{Environment, SessionError, SessionManager};
use sessile_display::text::Calls;

use crate::entry::percent_encoded;
use crate::facts::Facts;
use crate::pack::Packer;
use crate::page::{Card, END_OF_ENTRIES, PageKind, SCRIPT, file_policy, start_of_page};
use crate::reader::{REMEMBERED_CALLS, Reader, SEPARATOR, TITLES_PER_CHUNK, title};
use crate::tree::{FILTERS, RowFacts, TreeRows, structure};

/// The parts of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// One file.
    #[default]
    OneFile,
    /// A page, and the chunks in files beside it.
    Split,
}

/// Receives an export piece by piece.
pub trait Sink {
    /// The error of the place that the export goes to.
    type Error: From<SessionError>;

    /// Takes the next bytes of the page.
    fn page(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Takes a file beside the page. Called only for [`Form::Split`].
    fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// A sink for a page without files beside it.
pub struct PageSink<'w, E> {
    /// Takes the next bytes of the page.
    pub write: &'w mut dyn FnMut(&[u8]) -> Result<(), E>,
}

impl<E> std::fmt::Debug for PageSink<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSink").finish_non_exhaustive()
    }
}

impl<E: From<SessionError>> Sink for PageSink<'_, E> {
    type Error = E;

    fn page(&mut self, bytes: &[u8]) -> Result<(), E> {
        (self.write)(bytes)
    }

    fn file(&mut self, _name: &str, _bytes: &[u8]) -> Result<(), E> {
        Ok(())
    }
}

/// The bytes of HTML in a chunk of entries, and the number of entries in other chunks.
const CHUNK_BYTES: usize = 192 << 10;
const IDS_PER_CHUNK: usize = 5000;

/// The bytes of the session in a chunk.
const RAW_BYTES: usize = 512 << 10;

/// The chunks that are packed at the same time, or wait to be written.
const MAX_PACKING: usize = 6;

/// Exports a session. Memory does not depend on the length of the session's file, only on the number of entries.
pub fn export_html<S: Sink>(
    session: &SessionManager,
    card: &Card,
    environment: &dyn Environment,
    form: Form,
    sink: &mut S,
) -> Result<(), S::Error> {
    let outline = session.outline();
    let sources = match form {
        Form::OneFile => "",
        Form::Split => " 'self' file:",
    };
    let page = start_of_page(card, environment, PageKind::File { policy: &file_policy(sources) }, outline.n_entries());
    sink.page(page.as_bytes())?;
    std::thread::scope(|scope| {
        let packer = Packer::new(scope);
        let mut writer = Writer {
            session,
            reader: Reader { session, environment, authors: None },
            form,
            sink,
            packer,
            chunks: Chunks::default(),
            facts: RowFacts::default(),
        };
        let last_entries = writer.reader.last_entries()?;
        writer.sink.page(last_entries.as_bytes())?;
        writer.sink.page(END_OF_ENTRIES.as_bytes())?;
        writer.entries()?;
        writer.structure()?;
        writer.original()?;
        writer.end()
    })
}

/// Where the chunks of each kind begin.
#[derive(Default)]
struct Chunks {
    /// The first row of each chunk of entries.
    entries: Vec<u64>,
    /// The offset of each chunk of the original.
    raw: Vec<u64>,
    /// For each long text: the row, its number in the entry, its chunk, its first window there, the number of windows.
    long: Vec<[u64; 5]>,
    n_long: u64,
}

struct Writer<'a, S> {
    session: &'a SessionManager,
    reader: Reader<'a>,
    form: Form,
    sink: &'a mut S,
    packer: Packer,
    chunks: Chunks,
    facts: RowFacts,
}

/// Pieces that are collected until they fill a chunk.
#[derive(Default)]
struct Pieces {
    text: String,
    n_pieces: usize,
}

impl Pieces {
    fn push(&mut self, piece: &str) {
        if self.n_pieces > 0 {
            self.text.push(SEPARATOR);
        }
        self.text.push_str(piece);
        self.n_pieces += 1;
    }
}

impl<S: Sink> Writer<'_, S> {
    /// Packs a chunk in the background, and writes those that are ready.
    fn chunk(&mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Result<(), S::Error> {
        self.packer.push(name, bytes.into());
        while let Some((name, data)) = self.packer.pop(MAX_PACKING) {
            self.write_chunk(&name, &data)?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, name: &str, data: &str) -> Result<(), S::Error> {
        match self.form {
            Form::OneFile => {
                self.sink.page(format!("<script type=\"text/plain\" id=\"{name}\">").as_bytes())?;
                self.sink.page(data.as_bytes())?;
                self.sink.page(b"</script>\n")
            }
            Form::Split => {
                let text = format!("sessileChunk(\"{name}\",\"{data}\")\n");
                self.sink.file(&format!("{name}.js"), text.as_bytes())
            }
        }
    }

    /// Writes the HTML, the lines of the tree and the ids of all entries.
    fn entries(&mut self) -> Result<(), S::Error> {
        let outline = self.session.outline();
        let rows = outline.rows().len();
        self.facts.resize(rows);
        let mut calls = Calls::recent(REMEMBERED_CALLS);
        let (mut html, mut titles, mut ids, mut long) =
            (Pieces::default(), Pieces::default(), Pieces::default(), Pieces::default());
        let (mut n_titles, mut n_ids) = (0, 0);
        let mut facts = Facts::default();
        self.chunks.entries.push(0);
        let mut next = outline.entries().peekable();
        let mut entries = self.session.entries();
        for row in outline.rows() {
            let index = row.index() as u64;
            if next.peek() == Some(&row) {
                next.next();
                let Some(entry) = entries.next().transpose()? else { break };
                let rendered = self.reader.render(row, &entry, &mut calls)?;
                html.push(&rendered.html);
                titles.push(&title(self.session, &entry, &calls)?);
                ids.push(&entry.id().map(|id| percent_encoded(&id.to_string())).unwrap_or_default());
                facts.push(row.index(), &entry);
                self.facts.note(row, &entry);
                for (part, text) in (0_u64..).zip(&rendered.long_texts) {
                    self.long_text([index, part], text, &mut long)?;
                }
            } else {
                html.push("");
                titles.push("");
                ids.push("");
            }
            if html.text.len() >= CHUNK_BYTES {
                let full = std::mem::take(&mut html);
                self.chunk(&format!("e{}", self.chunks.entries.len() - 1), full.text)?;
                self.chunks.entries.push(index + 1);
            }
            if titles.n_pieces >= TITLES_PER_CHUNK {
                self.chunk(&format!("t{n_titles}"), std::mem::take(&mut titles).text)?;
                n_titles += 1;
            }
            if ids.n_pieces >= IDS_PER_CHUNK {
                self.chunk(&format!("i{n_ids}"), std::mem::take(&mut ids).text)?;
                n_ids += 1;
            }
        }
        self.chunk(&format!("e{}", self.chunks.entries.len() - 1), html.text)?;
        self.chunk(&format!("t{n_titles}"), titles.text)?;
        self.chunk(&format!("i{n_ids}"), ids.text)?;
        self.chunk("facts", facts.bytes)?;
        self.chunk(&format!("l{}", self.chunks.n_long), long.text)
    }

    /// Adds the windows of a long text. They may spread over several chunks, each of which begins a new record.
    fn long_text(
        &mut self,
        [row, part]: [u64; 2],
        text: &crate::entry::LongText,
        pieces: &mut Pieces,
    ) -> Result<(), S::Error> {
        let mut record = [row, part, self.chunks.n_long, pieces.n_pieces as u64, 0];
        for window in text.windows() {
            pieces.push(&window);
            record[4] += 1;
            if pieces.text.len() >= CHUNK_BYTES {
                let full = std::mem::take(pieces);
                self.chunk(&format!("l{}", self.chunks.n_long), full.text)?;
                self.chunks.n_long += 1;
                self.chunks.long.push(record);
                record = [row, part, self.chunks.n_long, 0, 0];
            }
        }
        if record[4] > 0 {
            self.chunks.long.push(record);
        }
        Ok(())
    }

    fn structure(&mut self) -> Result<(), S::Error> {
        let outline = self.session.outline();
        self.chunk("s", structure(outline))?;
        let rows = TreeRows::new(self.session)?;
        for (name, filter) in FILTERS {
            let drawn = rows.drawn(outline, filter, &self.facts);
            self.chunk(&format!("tree-{name}"), drawn)?;
        }
        Ok(())
    }

    /// Writes the original bytes, cut at line ends where possible.
    fn original(&mut self) -> Result<(), S::Error> {
        let session = self.session;
        let mut buffer: Vec<u8> = Vec::new();
        let mut offset = 0_u64;
        session.export_original::<S::Error>(&mut |bytes| {
            buffer.extend_from_slice(bytes);
            while buffer.len() >= RAW_BYTES {
                let end = buffer.get(..RAW_BYTES).and_then(|start| start.iter().rposition(|byte| *byte == b'\n'));
                let end = end.map_or(RAW_BYTES, |at| at + 1);
                let rest = buffer.split_off(end);
                let full = std::mem::replace(&mut buffer, rest);
                let next = offset + full.len() as u64;
                self.raw_chunk(offset, full)?;
                offset = next;
            }
            Ok(())
        })?;
        self.raw_chunk(offset, buffer)
    }

    fn raw_chunk(&mut self, offset: u64, bytes: Vec<u8>) -> Result<(), S::Error> {
        let name = format!("r{}", self.chunks.raw.len());
        self.chunks.raw.push(offset);
        self.chunk(&name, bytes)
    }

    /// Writes the index of the chunks, and the script.
    fn end(&mut self) -> Result<(), S::Error> {
        while let Some((name, data)) = self.packer.pop(0) {
            self.write_chunk(&name, &data)?;
        }
        let outline = self.session.outline();
        let numbers = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let long: Vec<String> = self.chunks.long.iter().map(|record| format!("[{}]", numbers(record))).collect();
        let leaf = self.session.path().last().map_or(-1, |row| i64::try_from(row.index()).unwrap_or(-1));
        let name = Json::string(self.session.session_id().as_str());
        let index = format!(
            "{{\"rows\":{},\"leaf\":{leaf},\"id\":{},\"titles\":{TITLES_PER_CHUNK},\"ids\":{IDS_PER_CHUNK},\
             \"bytes\":{},\"entries\":[{}],\"raw\":[{}],\"long\":[{}],\"split\":{}}}",
            outline.rows().len(),
            name.to_text().replace('<', "\\u003c"),
            outline.end(),
            numbers(&self.chunks.entries),
            numbers(&self.chunks.raw),
            long.join(","),
            self.form == Form::Split,
        );
        let markup = html! {
            script type="application/json" #index { (PreEscaped(index)) }
            script { (PreEscaped(SCRIPT)) }
        };
        self.sink.page(markup.into_string().as_bytes())?;
        self.sink.page(b"</body></html>\n")
    }
}
