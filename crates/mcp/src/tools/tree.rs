//! `get_tree`

use sessile::SessionManager;
use sessile::branch::TreeNode;
use sessile::json::ObjectWriter;
use sessile::message::AssistantMessage;
use sessile::tree::{Filter, TreeQuery};

use super::{is_cut, put};
use crate::budget::{Answer, Row};
use crate::call::{Call, number};
use crate::cursor::item;
use crate::failure::Failure;
use crate::names::attribute;
use crate::outgoing::{Shown, Trust, framed};
use crate::render::{Detail, Renderer, trust_of};

/// The characters of a line.
const MAX_LINE: usize = 100;

/// The spaces before a line. Deeper indents would hide the text.
const MAX_INDENT: usize = 12;

const FILTERS: [(&str, Filter); 5] = [
    ("default", Filter::Default),
    ("no-tools", Filter::NoTools),
    ("user-only", Filter::UserOnly),
    ("labeled-only", Filter::LabeledOnly),
    ("all", Filter::All),
];

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Failure> {
    let info = call.session()?;
    let session = call.history.open(&info)?;
    let filter = call.arguments.word("filter", &FILTERS)?.unwrap_or(Filter::Default);
    let nodes = session.tree()?;
    let mut renderer = Renderer::new(&call.outgoing, Detail::Brief, true);
    let mut on_answer = |answer: AssistantMessage<'_>| renderer.note_answer(answer);
    let is_shown = session.shown_nodes(&nodes, Some(filter), &TreeQuery::default(), &mut on_answer)?;
    let shown: Vec<&TreeNode> =
        nodes.iter().zip(is_shown).filter(|(_, is_shown)| *is_shown).map(|(node, _)| node).collect();
    let start = call.start_among(shown.iter().map(|node| item_of(node)))?;
    let about = format!("{} entries; * is on the path to the leaf.", shown.len());
    let mut page = call.page("rows", &about)?;
    page.fact("session", sessile::json::Json::string(&attribute(info.id.as_str())));
    let mut has_more = false;
    for node in shown.iter().skip(start) {
        call.check()?;
        let made = Line::new(&session, node, &renderer)?;
        if !page.push(MAX_LINE, &mut |max| made.row(call, node, max)) {
            has_more = true;
            break;
        }
    }
    Ok(call.finish(page, shown.len(), has_more, false))
}

fn item_of(node: &TreeNode) -> u64 {
    item(&format!("row {} {}", node.row.index(), node.repeated))
}

/// A line of the tree, as the file has it.
struct Line {
    text: String,
    trust: Trust,
    role: &'static str,
    parent: String,
}

impl Line {
    fn new(session: &SessionManager, node: &TreeNode, renderer: &Renderer<'_>) -> Result<Self, Failure> {
        let outline = session.outline();
        let (kind, role) = (outline.kind(node.row), outline.role(node.row));
        let word = role.word().or(kind.word()).unwrap_or("entry");
        Ok(Self {
            text: renderer.line(&session.entry_at(node.row)?, word),
            trust: trust_of(kind, role),
            role: word,
            parent: Call::entry_id(outline.parent_id(node.row).as_ref()),
        })
    }

    fn row(&self, call: &Call<'_>, node: &TreeNode, max: usize) -> Row {
        let max = max.min(MAX_LINE);
        let line: Shown = call.outgoing.line(&self.text, max);
        let label = node.label.as_ref().map(|label| call.outgoing.line(&label.text(), max)).unwrap_or_default();
        let (id, label) = (Call::entry_id(node.id.as_ref()), attribute(label.as_str()));
        let mut json = ObjectWriter::new();
        put(&mut json, "id", &id);
        put(&mut json, "parentId", &self.parent);
        json.raw("depth", number(node.depth).raw()).string("role", self.role).string("line", line.as_str());
        put(&mut json, "label", &label);
        json.bool("onPath", node.on_path);
        let indent = " ".repeat(node.depth.min(MAX_INDENT));
        let mark = if node.on_path { "*" } else { "-" };
        let attributes = [("entry", id.as_str()), ("label", &label)];
        let text = format!("{indent}{mark} {}", framed(&attributes, self.trust, &line));
        let is_cut = is_cut(max, MAX_LINE, [self.text.as_str()]);
        Row { text, json: json.finish(), item: item_of(node), is_cut }
    }
}
