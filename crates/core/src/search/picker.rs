//! pi picker
