//! The page around a session: what the export and the server have in common.

use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};
#[cfg(feature = "serve")]
use sessile::SessionError;
use sessile::list::SessionInfo;
use sessile::redact::Redaction;
use sessile::time::{Timestamp, local_time};
use sessile::verify::{Code, Finding};
use sessile::{Environment, SessionManager, Sessions};
use sessile_display::measure::{counted, number_words, size_words};
use sessile_display::text::start;
use sha2::{Digest, Sha256};

use crate::entry::{cost_text, tokens_text};
use crate::html::Text;
use crate::pack::base64;
use crate::tree::FILTERS;

/// The style of every page.
pub(crate) const STYLE: &str = include_str!("../assets/style.css");

/// Joins parts of a script into one function, so that they share names with each other and with no other script.
macro_rules! script {
    ($($part:literal),+ $(,)?) => {
        concat!(
            "\"use strict\";\n(() => {\n",
            $(include_str!(concat!("../assets/session/", $part, ".js")), "\n",)+
            "})();\n",
        )
    };
}

/// The script of a page that holds its session.
pub(crate) const SCRIPT: &str = script!(
    "tools", "search", "file", "model", "tree", "pane", "entry", "page", "find", "outline", "keys", "compare", "start"
);

/// The script of a page that gets its session from the server.
#[cfg(feature = "serve")]
pub(crate) const SERVED_SCRIPT: &str = script!(
    "tools", "http", "model", "tree", "pane", "entry", "page", "find", "outline", "keys", "compare", "status", "live",
    "change", "write", "secrets", "download", "start",
);

/// The longest title made from the first words of a session.
const MAX_TITLE: usize = 80;

/// The longest text about a redacted copy, which comes from its file.
const MAX_MARK: usize = 300;

/// The problems of a file that the card lists.
const MAX_PROBLEMS: usize = 5;

/// What the header card says about a session.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// The row of the session in a list.
    pub info: Option<SessionInfo>,
    /// The title, unless the row has it.
    pub title: Option<String>,
    /// The titles of the sessions that were forked from it.
    pub forks: Vec<String>,
    /// Its labels.
    pub labels: Vec<String>,
    /// When the page was made, if it is a copy.
    pub exported: Option<Timestamp>,
    /// What is wrong with the file, in a sentence each.
    pub problems: Vec<String>,
    /// The mark of a redacted copy.
    pub redaction: Option<Redaction>,
}

impl Card {
    /// Describes a session. Its relatives are searched in `others`. A part that cannot be read is left out.
    pub fn of(sessions: &Sessions, path: &Path, others: &[SessionInfo]) -> Self {
        let Ok(details) = sessions.details(path, others) else { return Self::default() };
        // Who may read the file on this machine does not matter to readers of the page.
        let problem = |finding: &Finding| {
            let is_shown = finding.counts() && finding.code != Code::Permissions;
            is_shown.then(|| format!("Line {}: {}", finding.line, finding.message))
        };
        let mut problems: Vec<String> = details.report.findings.iter().filter_map(problem).collect();
        let n_more = problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        if n_more > 0 {
            problems.push(format!("and {} more: run `sessile verify`", counted(n_more, "problem", "problems")));
        }
        Self {
            forks: details.children.iter().map(title_of).collect(),
            labels: details.labels.iter().map(|(_, label)| label.text()).filter(|label| !label.is_empty()).collect(),
            info: Some(details.info),
            title: None,
            exported: None,
            problems,
            redaction: details.redaction,
        }
    }

    /// Describes a redacted copy, which has no place and no relatives.
    pub fn of_copy(copy: &SessionManager) -> Result<Self, SessionError> {
        let title = copy.export_title()?.unwrap_or_else(|| UNTITLED.to_owned());
        let title = format!("{} {MARK}", title.trim_end_matches(MARK).trim_end());
        Ok(Self { title: Some(title), redaction: copy.header().redaction(), ..Self::default() })
    }

    /// Describes a session by its row in a list, without relatives and problems, whose search takes longer.
    #[cfg(feature = "serve")]
    pub(crate) fn short(info: SessionInfo, session: &SessionManager) -> Result<Self, SessionError> {
        let outline = session.outline();
        let labels = session.labels()?;
        let mut labels: Vec<_> = labels.iter().map(|(id, label)| (outline.find(id), label.text())).collect();
        labels.retain(|(row, text)| row.is_some() && !text.is_empty());
        labels.sort();
        Ok(Self {
            info: Some(info),
            labels: labels.into_iter().map(|(_, text)| text).collect(),
            redaction: session.header().redaction(),
            ..Self::default()
        })
    }

    /// The name of the session, or its first words.
    pub fn title(&self) -> String {
        let title = self.title.clone().or_else(|| self.info.as_ref().map(title_of));
        title.unwrap_or_else(|| UNTITLED.to_owned())
    }

    fn facts(&self, environment: &dyn Environment) -> Vec<(&'static str, String)> {
        let Some(info) = &self.info else { return Vec::new() };
        let models: Vec<String> = info.facts.models.iter().map(|model| model.model.to_str().into_owned()).collect();
        let tokens = info.facts.tokens;
        let counts = [(tokens.input, "in"), (tokens.output, "out"), (tokens.cache_read, "cached")];
        let counts = counts.iter().filter(|(n, _)| *n > 0.0).map(|(n, what)| format!("{} {what}", tokens_text(*n)));
        let time = |time: Timestamp| local_text(environment, time);
        let facts = [
            ("Directory", Some(info.cwd.clone())),
            ("Started", info.created.map(time)),
            ("Last active", Some(time(info.modified))),
            ("Models", Some(models.join(", "))),
            ("Cost", Some(info.facts.cost).filter(|cost| *cost > 0.0).map(cost_text)),
            ("Tokens", Some(counts.collect::<Vec<_>>().join(" · "))),
            ("Entries", Some(format!("{}, {}", number_words(info.facts.entries), size_words(info.size)))),
            ("Forked from", info.parent_session_path.clone()),
            ("Forks", Some(self.forks.join(", "))),
            ("Labels", Some(self.labels.join(", "))),
            ("Session", Some(info.id.to_string())),
            ("Exported", self.exported.map(time)),
        ];
        let present = |(name, value): (&'static str, Option<String>)| Some((name, value?));
        facts.into_iter().filter_map(present).filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// The title of a session that says nothing about itself.
const UNTITLED: &str = "Session";

/// What the title of a redacted copy ends with.
const MARK: &str = "(redacted)";

/// The name of a session, or its first words.
pub(crate) fn title_of(info: &SessionInfo) -> String {
    let name = info.name.as_ref().map(|name| name.to_str().trim().to_owned()).filter(|name| !name.is_empty());
    let words = || start(info.first_message.to_str().trim().lines().next().unwrap_or_default(), MAX_TITLE);
    let title = name.unwrap_or_else(words);
    if title.is_empty() { UNTITLED.to_owned() } else { title }
}

/// A time in the user's zone, to the minute.
pub(crate) fn local_text(environment: &dyn Environment, time: Timestamp) -> String {
    let iso = local_time(environment, time).to_string();
    match (iso.get(..10), iso.get(11..16)) {
        (Some(date), Some(time)) => format!("{date} {time}"),
        _ => iso,
    }
}

/// The top of the page: the title and the facts about the session.
pub(crate) fn card(card: &Card, environment: &dyn Environment) -> Markup {
    html! {
        header.card {
            h1 { (Text(&card.title())) }
            dl { @for (name, value) in card.facts(environment) { div { dt { (name) } dd { (Text(&value)) } } } }
            @if let Some(redaction) = &card.redaction { p.redacted { (Text(&sentence(&start(&redaction.words(), MAX_MARK)))) } }
            @for problem in &card.problems { p.problem { (Text(problem)) } }
        }
    }
}

/// A text with a capital at the start and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str())
}

/// Where a page is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PageKind<'p> {
    /// In a file, with this content security policy.
    File { policy: &'p str },
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only a server makes such pages"))]
    /// On a server, which sends a policy and has the style at this address.
    Served {
        style: &'p str,
        /// The address of the page of its family, if it has relatives.
        family: Option<&'p str>,
    },
}

/// Everything before the entries of a page that shows a session.
pub(crate) fn start_of_page(
    facts: &Card,
    environment: &dyn Environment,
    kind: PageKind<'_>,
    n_entries: usize,
) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                @if let PageKind::File { policy } = kind { meta http-equiv="Content-Security-Policy" content=(policy); }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="dark light";
                meta name="generator" content="sessile";
                title { (Text(&facts.title())) }
                @match kind {
                    PageKind::File { .. } => style { (PreEscaped(STYLE)) },
                    PageKind::Served { style, .. } => {
                        link rel="stylesheet" href=(style);
                        link rel="icon" href="data:,";
                    },
                }
            }
            body {
                a.skip href="#pane" { "Skip to the conversation" }
                header.bar {
                    @if let PageKind::Served { .. } = kind { a href="/" { "Sessions" } }
                    button #menu type="button" aria-label="Tree" aria-expanded="true" aria-controls="side" { "☰" }
                    span.name { (Text(&facts.title())) }
                    @if let PageKind::Served { family: Some(family), .. } = kind { a href=(family) { "Family" } }
                    span #status role="status" {}
                    button #theme type="button" aria-label="Switch between dark and light" { "◐" }
                    button #download type="button" { "Download" }
                    button #help type="button" aria-label="Keyboard shortcuts" { "?" }
                }
                div.columns {
                    nav #side aria-label="Entries of the session" {
                        div.find {
                            input #search type="search" placeholder="Search (/)" aria-label="Search in this session" autocomplete="off" spellcheck="false";
                            select #filter aria-label="Show" {
                                @for (name, _) in FILTERS { option value=(name) { (name) } }
                            }
                        }
                        div #found role="status" {}
                        div #tree role="tree" aria-label="Tree" tabindex="0" { div.spacer {} }
                    }
                    main #pane tabindex="-1" {
                        (card(facts, environment))
                        @if n_entries == 0 { p.empty { "This session has no entries." } }
                        div #entries {}
                    }
                }
            }
        }
    };
    let page = markup.into_string();
    // The entries follow here, so the elements around them stay open.
    match page.rfind("</div></main>") {
        Some(end) => page.get(..end).unwrap_or_default().to_owned(),
        None => page,
    }
}

/// Closes what [`start_of_page`] left open around the entries.
pub(crate) const END_OF_ENTRIES: &str = "</div></main></div>";

/// The policy of a page that is a file: it runs only this style and this script, and sends no request.
pub(crate) fn file_policy(script_sources: &str) -> String {
    let hash = |text: &str| base64(&Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'{script_sources}; style-src 'sha256-{}'; img-src data:; \
         worker-src blob:; \
         base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE),
    )
}
