//! Generates the tables of docs/rpc.md.

use std::fmt::Write;

use super::typescript::ts_type;
use crate::catalogue::{COMMANDS, Command, Origin, STREAMED, SUBSCRIBED, named_shapes};
use crate::shape::{Field, Shape};

/// Returns all commands, shapes and events as tables for docs/rpc.md.
pub fn reference_tables() -> String {
    let mut text = String::new();
    let groups = [
        (Origin::Pi, "### Commands of pi\n\nSessile answers these commands as pi 1.5.0 does."),
        (Origin::Sessile, "### Commands of Sessile"),
        (Origin::Agent, "### Commands that need an agent\n\nThey fail with `NOT_SUPPORTED`."),
    ];
    for (origin, heading) in groups {
        let commands: Vec<&Command> = COMMANDS.iter().filter(|command| command.origin == origin).collect();
        let _ = write!(text, "{heading}\n\n");
        if origin == Origin::Agent {
            let names: Vec<String> = commands.iter().map(|command| format!("`{}`", command.name)).collect();
            let _ = write!(text, "{}.\n\n", names.join(", "));
            continue;
        }
        text.push_str("| command | parameters | data | |\n|---|---|---|---|\n");
        for command in commands {
            let parameters: Vec<String> = command.parameters.iter().map(md_field).collect();
            let data = command.data.as_ref().map_or_else(|| "–".to_owned(), |data| format!("`{}`", md_shape(data)));
            let _ = writeln!(text, "| `{}` | {} | {data} | {} |", command.name, dash(&parameters), command.description);
        }
        text.push('\n');
    }
    text.push_str("### Shapes\n\n| name | members |\n|---|---|\n");
    for (name, shape, description) in named_shapes() {
        let members = match shape {
            Shape::Object(fields) => dash(&fields.iter().map(md_field).collect::<Vec<_>>()),
            other => format!("`{}`", md_shape(other)),
        };
        let _ = writeln!(text, "| `{name}` | {members} {description} |");
    }
    for (events, heading) in [(STREAMED, "### Events of pi's stream"), (SUBSCRIBED, "### Events to subscribe to")] {
        let _ = write!(text, "\n{heading}\n\n| event | members | |\n|---|---|---|\n");
        for (name, fields, description) in events {
            let fields: Vec<String> = fields.iter().map(md_field).collect();
            let _ = writeln!(text, "| `{name}` | {} | {description} |", dash(&fields));
        }
    }
    text
}

fn dash(fields: &[String]) -> String {
    if fields.is_empty() { "–".to_owned() } else { fields.join(", ") }
}

fn md_field(field: &Field) -> String {
    let mark = if field.is_optional { "?" } else { "" };
    let remark = if field.description.is_empty() { String::new() } else { format!(" ({})", field.description) };
    format!("`{}{mark}: {}`{remark}", field.name, md_shape(&field.shape))
}

fn md_shape(shape: &Shape) -> String {
    // A bar would end the cell.
    ts_type(shape).replace('|', "\\|")
}
