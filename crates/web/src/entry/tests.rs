use sessile::json::Json;

use super::*;

fn rendered(line: &str) -> EntryHtml {
    let context = EntryContext { has_call: true, ..EntryContext::default() };
    render_entry(&Entry::new(Json::parse(line).unwrap()), &context)
}

fn html_of(line: &str) -> String {
    rendered(line).html
}
