//! A chat that stores its conversation in a session: it resumes, branches, forks, labels and compacts.
//!
//! ```text
//! cargo run -p sessile --example chat                                        # answered by an echo
//! CHAT_MODEL=ollama/llama3.2 cargo run -p sessile --example chat             # answered by a model
//! cargo run -p sessile --example chat -- ~/some/session.jsonl                # continues that session
//! ```
//!
//! Every line is a message, except `/tree`, `/goto ENTRY`, `/fork ENTRY`, `/label TEXT`, `/name TEXT`, `/compact` and
//! `/quit`. Everything is on disk before the next prompt, so you can kill the chat at any time and continue where it
//! was.

use std::error::Error;
use std::io::{self, BufRead, Write};

use sessile::branch::{ForkPosition, NavigateOptions};
use sessile::compaction::{CompactOptions, Compacted, CompactionSettings, Summarizer, Summary, serialize};
use sessile::json::Json;
use sessile::time::now;
use sessile::{Cancel, Environment, SessionManager, System, draft};
use sessile_summarize::{Extractive, Model, Prompt, Settings};

/// The context window of the model, as far as this chat knows.
const WINDOW: u64 = 128_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = match std::env::args_os().nth(1) {
        Some(path) => SessionManager::open_or_create(path)?,
        None => SessionManager::continue_recent(System.current_dir())?,
    };
    let named = System.variable("CHAT_MODEL");
    let variable = |name: &str| System.variable(name);
    let model = named.as_deref().map(|name| Model::new(&Settings::default(), name, &variable)).transpose()?;
    let mut chat =
        Chat { model_name: named.unwrap_or_else(|| "echo/echo".to_owned()), model, offline: Extractive::default() };
    show(&format!("{} messages so far; /quit ends", session.llm_messages()?.len()))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "" => {}
            "/quit" => break,
            // A failing command is reported, and the session is unchanged.
            _ => match chat.run_command(&mut session, word, rest.trim(), &line) {
                Ok(output) => show(&output)?,
                Err(error) => show(&format!("error: {error}"))?,
            },
        }
    }
    Ok(())
}

struct Chat {
    /// `None` for an echo.
    model: Option<Model>,
    model_name: String,
    offline: Extractive,
}

impl Chat {
    /// Executes a line, and returns the text to show.
    fn run_command(
        &mut self,
        session: &mut SessionManager,
        word: &str,
        rest: &str,
        line: &str,
    ) -> Result<String, Box<dyn Error>> {
        match word {
            "/tree" => Ok(tree(session)),
            "/name" => Ok(format!("named by {}", session.append_session_info(rest)?)),
            "/label" => {
                let leaf = session.leaf_id().ok_or("there is nothing to label yet")?;
                Ok(format!("labelled by {}", session.append_label_change(leaf, Some(rest))?))
            }
            "/goto" => {
                let target = session.find_entry(rest)?;
                // Summarise the abandoned branch there, so that the model knows what was tried.
                let options = NavigateOptions::default();
                let there = session.navigate(target, options, Some(self.summarizer()), &mut |_| {})?.done();
                let text = there.and_then(|there| there.editor_text);
                Ok(text.map_or_else(String::new, |text| format!("to say again: {text}")))
            }
            "/fork" => {
                let entry = session.find_entry(rest)?;
                session.fork(entry, ForkPosition::At)?;
                Ok(format!("now in {}", session.session_file().map_or_else(String::new, |it| it.display().to_string())))
            }
            "/compact" => self.compact(session),
            _ => self.send_message(session, line),
        }
    }

    /// Appends a message and its answer, and compacts if the window is nearly full.
    fn send_message(&mut self, session: &mut SessionManager, text: &str) -> Result<String, Box<dyn Error>> {
        session.append_user_message(text)?;
        let answer = self.answer(session, text)?;
        let (provider, model) = self.model_name.split_once('/').ok_or("a model is provider/model")?;
        let mut message = draft::AssistantMessage::new(provider, model, answer.text.as_str(), now());
        message.usage = answer.usage.unwrap_or_default();
        session.append_message(message)?;
        let used = session.context_usage(WINDOW)?.tokens.unwrap_or_default();
        if CompactionSettings::default().should_compact(used, WINDOW) {
            return Ok(format!("{}\n({})", answer.text, self.compact(session)?));
        }
        Ok(answer.text)
    }

    fn answer(&self, session: &SessionManager, text: &str) -> Result<Summary, Box<dyn Error>> {
        let Some(model) = &self.model else { return Ok(Summary::new(format!("You said: {text}"))) };
        let context = session.llm_messages()?;
        let conversation = serialize(context.iter().map(Json::raw)).finish();
        let prompt = Prompt {
            system: "You are a helpful programmer. Answer the last message of the conversation.".to_owned(),
            user: conversation.text().to_owned(),
            n_left_out: 0,
        };
        Ok(model.answer(&prompt, &mut |_| {}, &Cancel::default())?)
    }

    fn compact(&self, session: &mut SessionManager) -> Result<String, Box<dyn Error>> {
        match session.compact(CompactOptions::default(), self.summarizer(), &mut |_| {})? {
            Compacted::Nothing(_) => Ok("nothing to compact".to_owned()),
            Compacted::Done(report) => Ok(format!("compacted by {}", report.entry_id)),
        }
    }

    /// The model also makes summaries; without one, a rule does.
    fn summarizer(&self) -> &dyn Summarizer {
        match &self.model {
            Some(model) => model,
            None => &self.offline,
        }
    }
}

/// The entries in tree order, with the leaf marked.
fn tree(session: &SessionManager) -> String {
    let outline = session.outline();
    let leaf = session.leaf_id();
    let line = |row| {
        let id = outline.id(row)?;
        let mark = if Some(&id) == leaf.as_ref() { "*" } else { " " };
        let parent = outline.parent(row).and_then(|parent| outline.id(parent));
        Some(format!("{mark} {id} after {}\n", parent.map_or_else(|| "nothing".to_owned(), |id| id.to_string())))
    };
    outline.entries().filter_map(line).collect()
}

/// Prints untrusted text without characters that might act on a terminal.
fn show(text: &str) -> io::Result<()> {
    let harmless: String = text.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect();
    let mut out = io::stdout().lock();
    write!(out, "{}\n> ", harmless.trim_end())?;
    out.flush()
}
