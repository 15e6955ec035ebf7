//! Ids as numbers.

use std::collections::HashMap;
use std::sync::Arc;

use sessile_core::json::{JsText, write_text};

/// Marks the absence of a name, a row or a node.
pub(crate) const NONE: u32 = u32::MAX;

/// An id. Those that pi makes have eight hexadecimal digits and take no memory of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Hex(u32),
    Text(Arc<[u8]>),
}

impl Name {
    fn of(wtf8: &[u8]) -> Self {
        let is_hex = wtf8.len() == 8 && wtf8.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let digits = std::str::from_utf8(wtf8).ok().filter(|_| is_hex);
        digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .map_or_else(|| Self::Text(wtf8.into()), Self::Hex)
    }
}

/// All ids of all copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Name, u32>,
    names: Vec<Name>,
}

impl Names {
    /// The number of an id, which is a new one if the id is new.
    pub(crate) fn intern(&mut self, wtf8: &[u8]) -> u32 {
        self.intern_name(Name::of(wtf8))
    }

    fn intern_name(&mut self, name: Name) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(NONE - 1);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// Takes ids that were numbered on their own. Returns their numbers here.
    pub(crate) fn intern_all(&mut self, others: Self) -> Vec<u32> {
        others.names.into_iter().map(|name| self.intern_name(name)).collect()
    }

    /// The number of an id, if it has one.
    pub(crate) fn find(&self, wtf8: &[u8]) -> Option<u32> {
        self.numbers.get(&Name::of(wtf8)).copied()
    }

    /// The number of ids.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The id as text.
    pub(crate) fn text(&self, number: u32) -> JsText<'static> {
        match &self.names[number as usize] {
            Name::Hex(value) => JsText::from_wtf8(format!("{value:08x}").into_bytes()),
            Name::Text(wtf8) => JsText::from_wtf8(wtf8.to_vec()),
        }
    }

    /// The id as a JSON string.
    pub(crate) fn token(&self, number: u32) -> Vec<u8> {
        token(&self.text(number))
    }

    /// Whether the id is the empty string, which is never a parent.
    pub(crate) fn is_empty_id(&self, number: u32) -> bool {
        matches!(&self.names[number as usize], Name::Text(wtf8) if wtf8.is_empty())
    }
}

/// The ids of all copies, and the new ones of a plan.
#[derive(Debug)]
pub(crate) struct PlanNames<'n> {
    below: &'n Names,
    new: Names,
}

impl<'n> PlanNames<'n> {
    pub(crate) fn over(below: &'n Names) -> Self {
        Self { below, new: Names::default() }
    }

    /// The number of an id, which is a new one if the id is new.
    pub(crate) fn intern(&mut self, wtf8: &[u8]) -> u32 {
        self.below.find(wtf8).unwrap_or_else(|| self.n_below() + self.new.intern(wtf8))
    }

    /// The number of an id, if it has one.
    pub(crate) fn find(&self, wtf8: &[u8]) -> Option<u32> {
        self.below.find(wtf8).or_else(|| Some(self.n_below() + self.new.find(wtf8)?))
    }

    /// The number of ids.
    pub(crate) fn len(&self) -> usize {
        self.below.len() + self.new.len()
    }

    /// The id as text.
    pub(crate) fn text(&self, number: u32) -> JsText<'static> {
        match number.checked_sub(self.n_below()) {
            Some(number) => self.new.text(number),
            None => self.below.text(number),
        }
    }

    /// The id as a JSON string.
    pub(crate) fn token(&self, number: u32) -> Vec<u8> {
        token(&self.text(number))
    }

    fn n_below(&self) -> u32 {
        u32::try_from(self.below.len()).unwrap_or(NONE)
    }
}

fn token(id: &JsText<'_>) -> Vec<u8> {
    let mut token = Vec::with_capacity(10);
    write_text(id, &mut token);
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_number() {
        let mut names = Names::default();
        let ids: [&[u8]; 6] = [b"0a1b2c3d", b"0A1B2C3D", b"", b"a", b"+a1b2c3d", b"\xed\xa0\x80"];
        let numbers: Vec<_> = ids.iter().map(|id| names.intern(id)).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        assert_eq!(ids.map(|id| names.intern(id)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(names.token(0), b"\"0a1b2c3d\"");
        assert_eq!(names.token(5), b"\"\\ud800\"");
        assert!(names.is_empty_id(2) && !names.is_empty_id(0));
    }
}
