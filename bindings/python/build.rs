//! Lets the linker of macOS accept the symbols that the interpreter provides, also without maturin.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
