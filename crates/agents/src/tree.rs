//! The order of entries in pi's tree: results after their calls, everything else after its parent.

use crate::foreign::{ForeignSession, NodeKind, index};

/// The maximum number of steps to find out whether compactions keep entries of their own branches.
const MAX_STEPS: usize = 50_000_000;

/// A node, or a result that the source lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A node.
    Node(u32),
    /// A call without a result, although the conversation went on. Models refuse such a conversation, so it gets a
    /// result that says so.
    NoResult(u32),
}

/// The slots of a session, with their parents and their order.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) slots: Vec<Slot>,
    pub(crate) parents: Vec<Option<u32>>,
    /// The slots, each after its parent, and otherwise in the order of the source.
    pub(crate) order: Vec<u32>,
    /// For each node, the slot that its children follow.
    pub(crate) tails: Vec<u32>,
}

impl Tree {
    pub(crate) fn of(session: &ForeignSession) -> Self {
        let n_nodes = session.nodes.len();
        let mut slots: Vec<Slot> = (0..index(n_nodes)).map(Slot::Node).collect();
        let mut parents: Vec<Option<u32>> = vec![None; n_nodes];
        let mut tails: Vec<u32> = (0..index(n_nodes)).collect();
        let goes_on = answers_that_go_on(session);
        for (answer, node) in (0..).zip(&session.nodes) {
            let NodeKind::Answer { first_call, n_calls } = node.kind else { continue };
            let mut tail = answer;
            let mut results = Vec::new();
            for call in first_call..first_call.saturating_add(n_calls) {
                let result = session.calls.get(call as usize).and_then(|call| call.result);
                let slot = match result {
                    Some(result) => result,
                    None if goes_on[answer as usize] => {
                        slots.push(Slot::NoResult(call));
                        parents.push(None);
                        index(slots.len() - 1)
                    }
                    None => continue,
                };
                results.extend(result);
                if let Some(parent) = parents.get_mut(slot as usize) {
                    *parent = Some(tail);
                }
                tail = slot;
            }
            for node in results.into_iter().chain([answer]) {
                if let Some(place) = tails.get_mut(node as usize) {
                    *place = tail;
                }
            }
        }
        for (nth, node) in session.nodes.iter().enumerate() {
            if !matches!(node.kind, NodeKind::Result { .. }) {
                parents[nth] = node.parent.and_then(|parent| tails.get(parent as usize).copied());
            }
        }
        let mut tree = Self { slots, parents, order: Vec::new(), tails };
        tree.cut_loops(session);
        tree.sort();
        tree
    }

    fn is_result(&self, session: &ForeignSession, slot: u32) -> bool {
        match self.slots.get(slot as usize) {
            Some(Slot::Node(node)) => {
                session.nodes.get(*node as usize).is_some_and(|node| matches!(node.kind, NodeKind::Result { .. }))
            }
            _ => true,
        }
    }

    /// Makes the first member of each loop a root. Results stay with their calls.
    fn cut_loops(&mut self, session: &ForeignSession) {
        // 0: not seen, otherwise the number of the walk that has seen it.
        let mut seen = vec![0_u32; self.slots.len()];
        for start in 0..self.slots.len() {
            let walk = index(start) + 1;
            let mut at = Some(index(start));
            while let Some(slot) = at {
                let mark = &mut seen[slot as usize];
                if *mark == walk {
                    self.cut_loop_at(session, slot);
                    break;
                }
                if *mark != 0 {
                    break;
                }
                *mark = walk;
                at = self.parents[slot as usize];
            }
        }
    }

    fn cut_loop_at(&mut self, session: &ForeignSession, start: u32) {
        let mut first = u32::MAX;
        let mut at = start;
        loop {
            if !self.is_result(session, at) {
                first = first.min(at);
            }
            let Some(next) = self.parents[at as usize] else { break };
            at = next;
            if at == start {
                break;
            }
        }
        let cut = if first == u32::MAX { start } else { first };
        self.parents[cut as usize] = None;
    }

    fn sort(&mut self) {
        let mut is_done = vec![false; self.slots.len()];
        let mut waiting = Vec::new();
        for start in 0..self.slots.len() {
            let mut at = Some(index(start));
            while let Some(slot) = at.filter(|slot| !is_done[*slot as usize]) {
                is_done[slot as usize] = true;
                waiting.push(slot);
                at = self.parents[slot as usize];
            }
            self.order.extend(waiting.drain(..).rev());
        }
    }

    /// For each slot of a compaction, the slot of the first entry that it keeps, if that is on its branch.
    pub(crate) fn first_kept(&self, session: &ForeignSession) -> Vec<(u32, u32)> {
        let mut n_left = MAX_STEPS;
        let mut found = Vec::new();
        for (slot, node) in (0..).zip(&session.nodes) {
            let NodeKind::Compaction { first_kept: Some(kept) } = node.kind else { continue };
            let mut at = self.parents[slot as usize];
            while let Some(ancestor) = at.filter(|_| n_left > 0) {
                n_left -= 1;
                if ancestor == kept {
                    found.push((slot, kept));
                    break;
                }
                at = self.parents[ancestor as usize];
            }
        }
        found
    }
}

/// Whether the conversation goes on after each node, if that is an answer or the result of one.
fn answers_that_go_on(session: &ForeignSession) -> Vec<bool> {
    let nodes = &session.nodes;
    let mut goes_on = vec![false; nodes.len()];
    let mut is_passed = vec![false; nodes.len()];
    for node in nodes.iter().filter(|node| node.kind.is_conversation()) {
        let mut at = node.parent;
        while let Some(parent) = at.and_then(|at| nodes.get(at as usize).map(|parent| (at as usize, parent))) {
            let (place, parent) = parent;
            match parent.kind {
                NodeKind::Answer { .. } => goes_on[place] = true,
                NodeKind::Result { call } => {
                    let answer = session.calls.get(call as usize).map(|call| call.answer as usize);
                    if let Some(flag) = answer.and_then(|answer| goes_on.get_mut(answer)) {
                        *flag = true;
                    }
                }
                NodeKind::Harness if !is_passed[place] => {
                    is_passed[place] = true;
                    at = parent.parent;
                    continue;
                }
                _ => {}
            }
            break;
        }
    }
    goes_on
}
