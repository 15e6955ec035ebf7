//! The results of a merge: everything, and what a copy lacks.

use crate::ids;
use crate::merger::Merger;
use crate::names::{NONE, PlanNames};
use crate::plan::Plan;
use crate::rows::IS_HOLDER;
use crate::source::Source;

impl<'s, S: Source> Merger<'s, S> {
    /// The union in canonical order, after the least header.
    ///
    /// The lines after the header depend only on the set of entries.
    pub fn canonical(&self) -> Plan<'_, 's, S> {
        let mut names = PlanNames::over(&self.names);
        let ids = ids::assign(&self.union, &self.rows, &mut names, &[], &[]);
        let header = self.copies.iter().map(|copy| copy.header.as_slice()).min();
        Plan { merger: self, header, odd: (0..self.odd.len()).collect(), nodes: self.order(), ids, names }
    }

    /// The lines to append to a copy, so that it has everything. Lines that are there stay as they are.
    ///
    /// An entry of the copy that a later one with the same id hides is appended with a new id if it can be seen in
    /// another copy.
    pub fn absorb(&self, copy: usize) -> Plan<'_, 's, S> {
        let (rows, union) = (&self.rows, &self.union);
        let own = rows.copies[copy].clone();
        let mut fixed = vec![NONE; union.rows.len()];
        let mut is_hidden = vec![false; union.rows.len()];
        for row in own.clone() {
            let node = union.of_rows[row as usize] as usize;
            if rows.is(row, IS_HOLDER) {
                fixed[node] = rows.ids[row as usize];
            } else {
                is_hidden[node] = true;
            }
        }
        let mut is_seen = vec![false; union.rows.len()];
        for row in rows.all().filter(|row| rows.is(*row, IS_HOLDER)) {
            is_seen[union.of_rows[row as usize] as usize] = true;
        }
        let taken: Vec<u32> = own.map(|row| rows.ids[row as usize]).collect();
        let mut names = PlanNames::over(&self.names);
        let ids = ids::assign(union, rows, &mut names, &fixed, &taken);
        let is_missing = |node: &u32| {
            let node = *node as usize;
            fixed[node] == NONE && (!is_hidden[node] || is_seen[node])
        };
        let nodes = self.order().into_iter().filter(is_missing).collect();
        let has_odd = |number: &usize| self.odd_copies[*number].contains(&copy);
        let odd = (0..self.odd.len()).filter(|number| !has_odd(number)).collect();
        Plan { merger: self, header: None, odd, nodes, ids, names }
    }
}
