#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sessile_fuzz::redact::check(data));
