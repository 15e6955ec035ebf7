//! A screen without a terminal: takes keys, returns rows, and runs jobs synchronously.

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use sessile::Cancel;
use sessile::date::Timestamp;

use crate::content::Drawable;
use crate::key::Key;
use crate::paint::{Canvas, rows_of};
use crate::screen::{Effect, Effects, Event, Job, Screen};
use crate::theme::Theme;

/// The time of all tests: 2026-03-09, 10:00.
pub(crate) const NOW: Timestamp = Timestamp::from_ms(1_773_050_400_000);

/// A screen that its caller drives.
pub(crate) struct Driver<S: Screen> {
    pub(crate) screen: S,
    pub(crate) backend: Arc<<S::Job as Job>::Backend>,
    size: (u16, u16),
    pub(crate) outcome: Option<S::Outcome>,
    pub(crate) copied: Vec<String>,
    pub(crate) shown: Vec<Drawable>,
    /// Selects the jobs to skip because they never end.
    skips: fn(&S::Job) -> bool,
}

impl<S: Screen> Driver<S> {
    pub(crate) fn new(screen: S, backend: <S::Job as Job>::Backend, skips: fn(&S::Job) -> bool) -> Self {
        let backend = Arc::new(backend);
        let mut driver =
            Self { screen, backend, size: (100, 24), outcome: None, copied: Vec::new(), shown: Vec::new(), skips };
        driver.screen.update(Event::Clock(NOW));
        driver.screen.update(Event::Size(100, 24));
        let effects = driver.screen.start();
        driver.perform(effects);
        driver
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.size = (width, height);
        self.send(Event::Size(width, height))
    }

    /// Presses keys by name; a word that is not a key name is pasted.
    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        for name in keys.split(' ') {
            match Key::named(name) {
                Some(key) => drop(self.send(Event::Key(key))),
                None => drop(self.send(Event::Paste(name.replace('_', " ")))),
            }
        }
        self
    }

    pub(crate) fn send(&mut self, event: Event<<S::Job as Job>::Event>) -> &mut Self {
        let effects = self.screen.update(event);
        self.perform(effects);
        self
    }

    pub(crate) fn perform(&mut self, effects: Effects<S>) {
        let mut waiting: VecDeque<_> = effects.into();
        while let Some(effect) = waiting.pop_front() {
            match effect {
                Effect::Run(job) if (self.skips)(&job) => {}
                Effect::Run(job) => {
                    let mut events = Vec::new();
                    job.run(&self.backend, &Cancel::default(), &mut |event| events.push(event));
                    for event in events {
                        waiting.extend(self.screen.update(Event::Job(event)));
                    }
                }
                Effect::Copy(text) | Effect::Edit(text) => self.copied.push(text),
                Effect::ShowPictures(pictures) => self.shown.extend(pictures),
                Effect::Leave(outcome) => self.outcome = Some(outcome),
                Effect::Stop(_) | Effect::Suspend => {}
            }
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        self.screen.render(&mut Canvas::new(&mut buffer, Theme::Dark));
        rows_of(&buffer)
    }
}
