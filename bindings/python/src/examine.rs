//! Reports about one session's file, for a store and for an open session.

use std::path::PathBuf;

use pyo3::prelude::*;
use sessile::verify::Report;
use sessile::{Cancel, Sessions};

use crate::failure::Failure;
use crate::interrupt::interruptible;
use crate::records;

pub(crate) fn session_stats<'py>(py: Python<'py>, sessions: &Sessions, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let sessions = sessions.clone();
    let stats = interruptible(py, &Cancel::default(), move || {
        let others = sessions.list_all()?;
        Ok(sessions.session_stats(&path, &others)?)
    })?;
    records::session_stats(py, &stats)
}

pub(crate) fn verify<'py>(py: Python<'py>, sessions: &Sessions, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let sessions = sessions.clone();
    let report = interruptible(py, &Cancel::default(), move || Ok(sessions.verify(&path)?))?;
    records::report(py, &report)
}

/// Verifies all sessions of the store. A file that cannot be read does not affect the others.
pub(crate) fn verify_all<'py>(py: Python<'py>, sessions: &Sessions) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let (sessions, cancel) = (sessions.clone(), Cancel::default());
    let theirs = cancel.clone();
    let reports = interruptible(py, &cancel, move || {
        let mut reports: Vec<Result<Report, (PathBuf, String)>> = Vec::new();
        sessions.verify_all(&theirs, &mut |verified| {
            let failed = |error: sessile::SessionError| (verified.path.to_path_buf(), error.to_string());
            reports.push(verified.report.map_err(failed));
        })?;
        Ok(reports)
    })?;
    let record = |report: &Result<Report, (PathBuf, String)>| match report {
        Ok(report) => records::report(py, report),
        Err((path, error)) => records::unreadable(py, path, error),
    };
    reports.iter().map(record).collect()
}

pub(crate) fn family<'py>(py: Python<'py>, sessions: &Sessions, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let sessions = sessions.clone();
    let (tree, listed) = interruptible(py, &Cancel::default(), move || {
        let listed = sessions.list_all()?;
        if let Some(tree) = sessions.family_of(&listed, &path) {
            return Ok((tree, listed));
        }
        // A file elsewhere has the sessions of its own directory as relatives.
        let beside = sessions.clone().with_session_dir(path.parent().unwrap_or(&path));
        let listed = beside.list_all()?;
        match beside.family_of(&listed, &path) {
            Some(tree) => Ok((tree, listed)),
            None => Err(Failure::NotInStore(path)),
        }
    })?;
    records::family(py, &tree, &listed)
}
