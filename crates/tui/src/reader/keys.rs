//! Key handling of the reader.

use super::job::{FOLLOW, ReaderJob};
use super::{Reader, ReaderOutcome};
use crate::help::Help;
use crate::key::Key;
use crate::keymap::{Action, KeyContext};
use crate::line_editor::LineEditor;
use crate::screen::{Effect, Effects};
use crate::status::{NO_PICTURES, Status};

impl Reader {
    pub(super) fn press(&mut self, key: Key) -> Effects<Self> {
        if let Some(help) = &mut self.help {
            if !help.press(key, &self.keymap, self.size) {
                self.help = None;
            }
            return Vec::new();
        }
        if let Some(input) = &mut self.search {
            match self.keymap.line_answer(key) {
                Some(true) => {
                    let query = input.text().trim().to_owned();
                    self.search = None;
                    return self.search_for(query);
                }
                Some(false) => self.search = None,
                None => drop(input.press(key, &self.keymap)),
            }
            return Vec::new();
        }
        match self.keymap.action(KeyContext::Reader, key) {
            Some(action) => self.act(action),
            None => Vec::new(),
        }
    }

    fn act(&mut self, action: Action) -> Effects<Self> {
        let page = self.room().saturating_sub(2).max(1);
        match action {
            Action::ReaderUp => self.move_by(1, false),
            Action::ReaderDown => self.move_by(1, true),
            Action::ReaderPageUp => self.move_by(page, false),
            Action::ReaderPageDown => self.move_by(page, true),
            Action::ReaderTop => self.move_to((0, 0)),
            Action::ReaderEnd => self.move_to((usize::MAX, 0)),
            Action::NextPrompt => match self.prompts.iter().find(|item| **item > self.top.0) {
                Some(item) => self.move_to((*item, 0)),
                None => self.move_to((usize::MAX, 0)),
            },
            Action::PreviousPrompt => {
                let before = self.prompts.iter().rev().find(|item| (**item, 0) < self.top);
                self.move_to((before.copied().unwrap_or_default(), 0))
            }
            Action::ToggleTools => {
                self.detail.tools = !self.detail.tools;
                self.render_again(false)
            }
            Action::ToggleThinking => {
                self.detail.thinking = !self.detail.thinking;
                self.render_again(false)
            }
            Action::Search => {
                self.search = Some(LineEditor::default());
                Vec::new()
            }
            Action::NextHit => self.find(true),
            Action::PreviousHit => self.find(false),
            Action::Copy => {
                self.rows.get(self.top.0).map(|row| Effect::Run(ReaderJob::CopyText(*row))).into_iter().collect()
            }
            Action::Pictures if !self.draws_pictures => {
                self.status.show(NO_PICTURES, self.now, 6);
                Vec::new()
            }
            Action::Pictures => {
                // The top entry may have no picture while another visible entry has one.
                let rows = self.rows.iter().skip(self.top.0).take(self.n_visible()).copied().collect();
                vec![Effect::Run(ReaderJob::Pictures(rows))]
            }
            Action::NextSecret => self.find_secret(true),
            Action::PreviousSecret => self.find_secret(false),
            Action::Edit => vec![Effect::Run(ReaderJob::Document)],
            Action::Follow => {
                self.follows = !self.follows;
                if !self.follows {
                    return vec![Effect::Stop(FOLLOW)];
                }
                let mut effects = vec![Effect::Run(ReaderJob::Follow)];
                effects.extend(self.move_to((usize::MAX, 0)));
                effects
            }
            Action::Help => {
                self.help = Some(Help::new(KeyContext::Reader));
                Vec::new()
            }
            Action::Suspend => vec![Effect::Suspend],
            Action::Cancel if self.secrets.is_scanning() => self.stop_scan(),
            Action::Cancel if !self.query.is_empty() => {
                self.status = Status::default();
                self.query.clear();
                self.request_count(0)
            }
            Action::Leave | Action::Cancel => vec![Effect::Leave(ReaderOutcome::default())],
            _ => Vec::new(),
        }
    }
}
