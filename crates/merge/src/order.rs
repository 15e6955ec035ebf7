//! The canonical order: parents first, then by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::names::NONE;
use crate::rows::Rows;
use crate::union::Union;

/// All nodes in canonical order.
///
/// Entries of loops and below come first, so that a reader that continues at the last entry does not walk into a loop.
pub(crate) fn canonical(union: &Union, rows: &Rows) -> Vec<u32> {
    let n = union.rows.len();
    // The children of each node as a list.
    let mut first_children = vec![NONE; n];
    let mut next_siblings = vec![NONE; n];
    let mut ready: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    for node in 0..union.len() {
        let parent = union.parents[node as usize];
        if parent == NONE || union.is_in_loop(rows, node) {
            ready.push(Reverse((union.times[node as usize], node)));
        } else {
            next_siblings[node as usize] = first_children[parent as usize];
            first_children[parent as usize] = node;
        }
    }
    let mut order = Vec::with_capacity(n);
    while let Some(Reverse((_, node))) = ready.pop() {
        order.push(node);
        let mut child = first_children[node as usize];
        while child != NONE {
            ready.push(Reverse((union.times[child as usize], child)));
            child = next_siblings[child as usize];
        }
    }
    order
}
