//! The native module of the Python package `sessile`.
//!
//! It is a thin layer over the crate `sessile`: it converts arguments and results, and it never parses the JSON of a
//! session itself. Classes that refer to open files are here (`Store`, `Session`, `Entry`, `Follower`). Plain results are
//! dataclasses of the Python package, which `records` fills.
//!
//! Every call that reads or writes files releases the interpreter's lock. Calls that may take long run on a thread, and a
//! signal such as Ctrl-C ends the wait for them (`interrupt`).

#![expect(clippy::needless_pass_by_value, reason = "arguments of Python are extracted into owned values")]

mod append;
mod choices;
mod columns;
mod entry;
mod examine;
mod failure;
mod follow;
mod given;
mod interrupt;
mod open_session;
mod records;
mod session;
mod shape;
mod store;
mod value;

use pyo3::pymodule;

/// The native part of the package `sessile`. Import from `sessile` instead.
#[pymodule]
mod _sessile {
    #[pymodule_export]
    use crate::entry::{EntryIterator, PyEntry};
    #[pymodule_export]
    use crate::follow::Follower;
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::value::Message;
}
