//! A whole file: the tree, the paths and everything derived from them.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use sessile_core::checkpoint::checkpoint;
use sessile_core::date::Timestamp;
use sessile_core::date::Utc;
use sessile_core::diagnostic::Diagnostic;
use sessile_core::entries::{self, Leaf};
use sessile_core::entry::js_time;
use sessile_core::head::{Kind, Role};
use sessile_core::header::Header;
use sessile_core::info::InfoScan;
use sessile_core::json::{Json, Raw, print};
use sessile_core::label::Labels;
use sessile_core::line::{Line, LineSplitter, Span, is_js_space, split};
use sessile_core::migrate::upgrade_value;
use sessile_core::outline::{Outline, Row};
use sessile_core::version::{StableIds, Upgrade};
use sessile_core::{EntryId, context, extract, llm, tree};

use crate::session;

/// The forest shows an entry again for each line that repeats its id, up to this or four times the entries.
const MAX_REPEATS: usize = 100_000;

pub fn check(data: &[u8]) {
    let (bytes, piece) = session::file(data);
    let mut outline = Outline::new();
    let mut info = InfoScan::with_texts();
    for line in split(&bytes) {
        outline.push(line, &mut StableIds);
        info.push(line, &Utc);
    }
    let file = File { bytes: &bytes, outline: &outline };
    assert_eq!(facts(&outline), facts(&in_pieces(&bytes, usize::from(piece) + 1)));
    lines(&file);
    parents(&outline);
    children(&outline);
    forest(&file);
    branches(&outline);
    let labels = labels(&file);
    let ends = [outline.leaf(), outline.entries().next(), outline.entries().nth(usize::from(piece))];
    for row in ends.into_iter().flatten() {
        let path = outline.path(row);
        contexts(&file, &path);
        extraction(&file, &path, &labels);
    }
    as_a_list(&file);
    listed(&outline, info);
}

struct File<'f> {
    bytes: &'f [u8],
    outline: &'f Outline,
}

impl File<'_> {
    fn raw(&self, row: Row) -> Raw<'_> {
        let Span { offset, len } = self.outline.span(row);
        let start = usize::try_from(offset).unwrap();
        Raw::parse(&self.bytes[start..start + usize::try_from(len).unwrap()]).unwrap()
    }

    /// Returns the value as a session reads it: upgraded to the current version.
    fn value(&self, row: Row) -> Json {
        let mut unchanged = |row| Ok::<_, Infallible>(self.raw(row).to_json());
        let Ok(value) = upgrade_value(self.outline, row, self.raw(row), &mut unchanged);
        value
    }

    fn reader(&self) -> impl FnMut(Row) -> Result<Json, Infallible> {
        |row| Ok(self.value(row))
    }
}

/// Reads the same file as it would arrive from a disk, and queries it after every line: cached results must not become
/// stale.
fn in_pieces(bytes: &[u8], size: usize) -> Outline {
    let mut outline = Outline::new();
    let mut splitter = LineSplitter::starting_at(0);
    let mut push = |line: Line<'_>| {
        outline.push(line, &mut StableIds);
        if let Some(leaf) = outline.leaf() {
            assert!(outline.path(leaf).len() <= outline.rows().len());
        }
    };
    for piece in bytes.chunks(size) {
        splitter.feed(piece, &mut push);
    }
    splitter.finish(&mut push);
    outline
}

/// Everything an outline reports.
#[derive(Debug, PartialEq)]
struct Facts {
    whole: (u64, u64, bool, bool, bool, Upgrade, Option<Row>, usize, usize),
    rows: Vec<RowFacts>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, PartialEq)]
struct RowFacts {
    line: u64,
    span: Span,
    kind: Kind,
    role: Role,
    time: Option<i64>,
    id: Option<EntryId>,
    parent_id: Option<EntryId>,
    has_null_parent: bool,
    current: Row,
    parent: Option<Row>,
}

fn facts(outline: &Outline) -> Facts {
    let row_facts = |row| RowFacts {
        line: outline.line_number(row),
        span: outline.span(row),
        kind: outline.kind(row),
        role: outline.role(row),
        time: outline.time(row).map(Timestamp::as_ms),
        id: outline.id(row),
        parent_id: outline.parent_id(row),
        has_null_parent: outline.has_null_parent(row),
        current: outline.current(row),
        parent: outline.parent(row),
    };
    Facts {
        whole: (
            outline.n_lines(),
            outline.end(),
            outline.is_unterminated(),
            outline.is_session(),
            outline.has_conversation(),
            outline.upgrade(),
            outline.leaf(),
            outline.n_entries(),
            outline.n_ids(),
        ),
        rows: outline.rows().map(row_facts).collect(),
        diagnostics: outline.diagnostics(),
    }
}

/// Lines are numbered as in the file, and reported spans lie in it.
fn lines(file: &File<'_>) {
    let lines = split(file.bytes);
    let outline = file.outline;
    assert_eq!(outline.n_lines(), lines.len() as u64);
    assert_eq!(outline.end(), file.bytes.len() as u64);
    for row in outline.rows() {
        let line = lines[usize::try_from(outline.line_number(row)).unwrap() - 1].without_bom();
        assert_eq!(line.span, outline.span(row));
    }
    let diagnostics = outline.diagnostics();
    assert!(diagnostics.is_sorted_by_key(|it| (it.line, it.offset)));
    for it in &diagnostics {
        let line = lines[usize::try_from(it.line).unwrap() - 1];
        assert!((line.span.offset..=line.span.end()).contains(&it.offset), "{it}");
        assert!(!it.to_string().is_empty());
    }
    assert!(outline.unreadable().all(|it| diagnostics.contains(&it)));
}

/// Every path ends at a root without visiting an entry twice.
fn parents(outline: &Outline) {
    for row in outline.entries() {
        let current = outline.current(row);
        assert_eq!(outline.current(current), current);
        assert_eq!(outline.id(current), outline.id(row));
        if let Some(id) = outline.id(row) {
            assert_eq!(outline.find(&id), Some(current));
            assert!(outline.mentions(&id));
        }
        let path = outline.path(row);
        assert_eq!(path.last(), Some(&current));
        assert_eq!(outline.parent(path[0]), None);
        assert!(path.windows(2).all(|pair| outline.parent(pair[1]) == Some(pair[0])));
        assert_eq!(path.iter().collect::<HashSet<_>>().len(), path.len());
        assert!(path.iter().all(|row| outline.kind(*row) != Kind::Header));
        // If a parent is named but not followed, a reason is reported.
        let is_cut = outline.parent_id(current).is_some() && outline.parent(current).is_none();
        let names_nothing = outline.parent_id(current).is_some_and(|parent| parent == "");
        assert!(!is_cut || names_nothing || outline.cut_off(current).is_some());
    }
}

fn children(outline: &Outline) {
    let mut by_parent: HashMap<Option<EntryId>, Vec<Row>> = HashMap::new();
    for row in outline.entries().filter(|row| outline.id(*row).is_some()) {
        for parent in [None, outline.id(row)] {
            by_parent.entry(parent.clone()).or_insert_with(|| outline.children(parent.as_ref()));
        }
    }
    for (parent, children) in &by_parent {
        assert_eq!(children.iter().collect::<HashSet<_>>().len(), children.len());
        for child in children {
            assert_eq!(outline.current(*child), *child);
            assert_eq!(outline.parent_id(*child), *parent);
            assert_eq!(outline.has_null_parent(*child), parent.is_none());
        }
    }
    // An entry without an id is in the tree, but no parent lists it as a child.
    for row in outline.entries().map(|row| outline.current(row)).filter(|row| outline.id(*row).is_some()) {
        if let Some(parent) = outline.parent(row) {
            assert!(by_parent[&outline.id(parent)].contains(&row));
        }
    }
}

fn current_entries(outline: &Outline) -> Vec<Row> {
    outline.entries().filter(|row| outline.current(*row) == *row).collect()
}

/// Every entry occurs once at its effective position; its repetitions stay within bounds.
fn forest(file: &File<'_>) {
    let outline = file.outline;
    let mut odd_time = |row| Ok::<_, Infallible>(js_time(file.value(row).raw().get("timestamp"), &Utc));
    let Ok(nodes) = tree::forest(outline, &mut odd_time);
    let mut above: Vec<tree::Node> = Vec::new();
    let mut counting = Vec::new();
    for node in &nodes {
        assert!(node.depth <= above.len());
        above.truncate(node.depth);
        assert!(above.iter().all(|ancestor| ancestor.row != node.row));
        assert_eq!(outline.current(node.row), node.row);
        if !node.repeated {
            counting.push(node.row);
            assert_eq!(outline.parent(node.row), above.last().map(|parent| parent.row));
            assert!(above.last().is_none_or(|parent| !parent.repeated));
        }
        above.push(*node);
    }
    assert!(nodes.len() - counting.len() <= MAX_REPEATS.max(4 * outline.n_entries()));
    counting.sort_unstable();
    assert_eq!(counting, current_entries(outline));
}

fn branches(outline: &Outline) {
    let points = tree::branch_points(outline);
    assert!(points.is_sorted_by_key(|point| point.at));
    for point in &points {
        assert!(point.children.len() > 1 && point.children.is_sorted());
        assert!(point.children.iter().all(|child| outline.parent(*child) == point.at));
    }
    let figures = tree::branch_statistics(outline, outline.leaf());
    let entries = current_entries(outline);
    let parents: Vec<Row> = entries.iter().filter_map(|row| outline.parent(*row)).collect();
    assert_eq!(figures.entries, entries.len());
    assert_eq!(figures.roots, entries.len() - parents.len());
    assert_eq!(figures.leaves, entries.len() - parents.iter().collect::<HashSet<_>>().len());
    assert_eq!(figures.branch_points, points.len());
    assert_eq!(figures.deepest, entries.iter().map(|row| outline.path(*row).len()).max().unwrap_or_default());
    assert!(figures.active_path <= figures.deepest);
}

fn labels(file: &File<'_>) -> Labels {
    let mut labels = Labels::default();
    let mut last: HashMap<EntryId, bool> = HashMap::new();
    for row in file.outline.entries().filter(|row| file.outline.kind(*row) == Kind::Label) {
        let value = file.value(row);
        labels.push(value.raw());
        if let Some(target) = value.raw().get("targetId").and_then(Raw::as_text) {
            last.insert(target.into(), value.raw().get("label").is_some_and(Raw::is_truthy));
        }
    }
    assert_eq!(labels.iter().count(), last.values().filter(|is_set| **is_set).count());
    assert!(last.iter().all(|(target, is_set)| labels.get(target).is_some() == *is_set));
    for (target, label) in labels.iter() {
        assert_eq!(labels.get(target), Some(label));
        assert!(!label.text().is_empty());
    }
    labels
}

/// The context takes rows only from the path, and its messages are JSON.
fn contexts(file: &File<'_>, path: &[Row]) {
    let Ok(rows) = context::select(file.outline, path, &mut file.reader());
    let on_path: HashSet<&Row> = path.iter().collect();
    assert!(rows.iter().all(|row| on_path.contains(row)));
    assert_eq!(rows.iter().collect::<HashSet<_>>().len(), rows.len());
    assert_eq!(rows.last().is_some(), path.last().is_some());
    let is_compacted = path.iter().any(|row| file.outline.kind(*row) == Kind::Compaction);
    assert!(is_compacted || rows == path);

    let Ok(projected) = context::project(file.outline, &rows, &Utc, &mut file.reader());
    assert!(projected.iter().map(|it| it.row).eq(rows.iter().copied()));
    let Ok(built) = context::build(file.outline, path, &Utc, &mut file.reader());
    assert!(projected.iter().flat_map(|it| &it.messages).eq(&built.messages));
    assert!(Raw::parse(built.to_json().raw().as_bytes()).is_ok());
    for message in llm::convert(built.messages.iter().map(Json::raw)) {
        assert!(Raw::parse(message.raw().as_bytes()).is_ok());
    }
    // The sum of system messages is a system message, and its own sum is itself.
    if let Some(sum) = checkpoint(built.messages.iter().map(Json::raw), Timestamp::from_ms(7)) {
        assert_eq!(checkpoint([sum.raw()], Timestamp::from_ms(7)), Some(sum));
    }
}

/// An extracted branch is a session of one path: its entries without the labels, each the parent of the next.
fn extraction(file: &File<'_>, path: &[Row], labels: &Labels) {
    let steps = extract::steps(file.outline, path);
    let next_kept = extract::next_kept(file.outline, path);
    let mut bytes = Header::compose("s", "2025-01-01T00:00:00.000Z", "/", None).json().raw().as_bytes().to_vec();
    bytes.push(b'\n');
    for step in &steps {
        let value = file.value(step.row);
        let value = extract::rewritten(file.outline, &next_kept, step, value.raw()).unwrap_or(value);
        bytes.extend_from_slice(value.raw().as_bytes());
        bytes.push(b'\n');
    }
    let mut outline = Outline::new();
    for line in split(&bytes) {
        outline.push(line, &mut StableIds);
    }
    assert!(outline.is_session());
    let ids = |outline: &Outline, rows: &[Row]| rows.iter().map(|row| outline.id(*row)).collect::<Vec<_>>();
    let rows: Vec<Row> = steps.iter().map(|step| step.row).collect();
    // The last entry may lack an id, so it need not be the leaf.
    let new_path = outline.entries().next_back().map(|last| outline.path(last)).unwrap_or_default();
    assert_eq!(ids(&outline, &new_path), ids(file.outline, &rows));
    for (target, label) in extract::labels(file.outline, &steps, labels) {
        let entry = extract::label_entry(&"x".into(), None, target, label);
        let mut again = Labels::default();
        again.push(entry.raw());
        // A number beyond all floats is a label, but JavaScript prints it as `null`, so pi's copy has none either.
        let is_infinite = print(label.value.raw()).raw().is_null();
        assert!(again.get(target).is_some() || is_infinite, "{entry:?}");
    }
}

/// pi's functions over arrays return the same as the outline, if both read the same text.
fn as_a_list(file: &File<'_>) {
    let list = entries::parse_session_entries(file.bytes);
    let context = entries::build_session_context(&list, Leaf::Last, &Utc);
    assert_eq!(entries::build_context_entries(&list, Leaf::Root).len(), 0);
    assert!(entries::build_session_context(&list, Leaf::Root, &Utc).messages.is_empty());
    let Ok(text) = std::str::from_utf8(file.bytes) else { return };
    // Lists are trimmed as a whole and never upgraded.
    let lines = text.trim_matches('\n');
    if file.outline.upgrade().is_needed() || lines.starts_with(is_js_space) || lines.ends_with(is_js_space) {
        return;
    }
    let path = file.outline.leaf().map(|leaf| file.outline.path(leaf)).unwrap_or_default();
    let Ok(expected) = context::build(file.outline, &path, &Utc, &mut file.reader());
    assert_eq!(context, expected, "{text}");
}

/// A list shows exactly the files that open as sessions.
fn listed(outline: &Outline, scan: InfoScan) {
    let Some(info) = scan.finish() else { return assert!(!outline.is_session()) };
    assert!(outline.is_session());
    let messages = outline.entries().filter(|row| outline.kind(*row) == Kind::Message);
    assert_eq!(info.message_count, messages.count());
    assert!(!info.first_message.is_empty());
}
