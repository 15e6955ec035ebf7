//! The torture bench notices every planted bug. Alone in its process, because a bug is planted in the whole process.

use sessile_testkit::torture::simulated::planted::{every_bug_of_operations, every_bug_of_writing};

/// G20.
#[test]
fn every_planted_bug_is_caught() {
    // Planted bugs panic often, which is one way to be caught.
    std::panic::set_hook(Box::new(|_| {}));
    // One after the other, because a bug is planted in the whole process.
    let mut planted = every_bug_of_writing();
    planted.extend(every_bug_of_operations());
    drop(std::panic::take_hook());
    for bug in &planted {
        println!("{bug}");
    }
    let missed: Vec<_> = planted.iter().filter(|planted| planted.caught.is_none()).map(|planted| planted.bug).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
