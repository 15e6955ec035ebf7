//! Generates the JSON Schema.

use super::{PUSHED, quoted, type_name};
use crate::catalogue::{COMMANDS, Command, EventShape, Origin, STREAMED, SUBSCRIBED, named_shapes};
use crate::failure::Code;
use crate::shape::{Field, Shape};

/// Returns the JSON Schema of all records: `#/$defs/Request`, `#/$defs/Response` and `#/$defs/Event` are the records,
/// everything else is part of them.
pub fn json_schema() -> String {
    let mut members = vec![
        ("$schema".to_owned(), quoted("https://json-schema.org/draft/2020-12/schema")),
        ("title".to_owned(), quoted("Records of sessile rpc")),
        ("oneOf".to_owned(), refs(["Request", "Response", "Event"])),
    ];
    let mut defs: Vec<(String, String)> = Vec::new();
    for (name, shape, description) in named_shapes() {
        defs.push(((*name).to_owned(), described(&shape_schema(shape), description)));
    }
    let supported = COMMANDS.iter().filter(|command| command.origin != Origin::Agent);
    for command in supported.clone() {
        defs.push((type_name(command.name, "Request"), request_schema(command)));
        if let Some(data) = &command.data {
            defs.push((type_name(command.name, "Data"), shape_schema(data)));
        }
    }
    defs.push(("Request".to_owned(), refs_object(supported.clone().map(|command| type_name(command.name, "Request")))));
    defs.push(("Failure".to_owned(), failure_schema()));
    for command in supported.clone() {
        defs.push((type_name(command.name, "Response"), response_schema(command)));
    }
    let answers = supported.map(|command| type_name(command.name, "Response")).chain(["Failure".to_owned()]);
    defs.push(("Response".to_owned(), refs_object(answers)));
    for (events, suffix) in [(STREAMED, "StreamEvent"), (SUBSCRIBED, "SessionEvent")] {
        for event in events {
            defs.push((type_name(event.0, suffix), event_schema(event)));
        }
        defs.push((suffix.to_owned(), refs_object(events.iter().map(|event| type_name(event.0, suffix)))));
    }
    for (name, fields) in PUSHED {
        defs.push(((*name).to_owned(), object_schema(fields)));
    }
    let pushed = PUSHED.iter().map(|(name, _)| (*name).to_owned()).chain(["StreamEvent".to_owned()]);
    defs.push(("Event".to_owned(), refs_object(pushed)));
    members.push(("$defs".to_owned(), object(&defs)));
    pretty(&object(&members))
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", members.join(","))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

fn reference(name: &str) -> String {
    format!("{{\"$ref\":{}}}", quoted(&format!("#/$defs/{name}")))
}

fn refs<const N: usize>(names: [&str; N]) -> String {
    list(names.map(reference))
}

fn refs_object(names: impl Iterator<Item = String>) -> String {
    format!("{{\"oneOf\":{}}}", list(names.map(|name| reference(&name))))
}

fn described(schema: &str, description: &str) -> String {
    if description.is_empty() {
        return schema.to_owned();
    }
    let rest = schema.strip_prefix('{').unwrap_or(schema);
    let comma = if rest == "}" { "" } else { "," };
    format!("{{\"description\":{}{comma}{rest}", quoted(description))
}

fn shape_schema(shape: &Shape) -> String {
    match shape {
        Shape::Any => "{}".to_owned(),
        Shape::Null => r#"{"type":"null"}"#.to_owned(),
        Shape::Text => r#"{"type":"string"}"#.to_owned(),
        Shape::Number => r#"{"type":"number"}"#.to_owned(),
        Shape::Count => r#"{"type":"integer","minimum":0}"#.to_owned(),
        Shape::Flag => r#"{"type":"boolean"}"#.to_owned(),
        Shape::Words(words) => format!("{{\"enum\":{}}}", list(words.iter().map(|word| quoted(word)))),
        Shape::Word(word) => format!("{{\"const\":{}}}", quoted(word)),
        Shape::List(item) => format!("{{\"type\":\"array\",\"items\":{}}}", shape_schema(item)),
        Shape::Object(fields) => object_schema(fields),
        Shape::OneOf(shapes) => format!("{{\"anyOf\":{}}}", list(shapes.iter().map(shape_schema))),
        Shape::Named(name) => reference(name),
    }
}

fn object_schema(fields: &[Field]) -> String {
    fields_schema(&fields.iter().collect::<Vec<_>>())
}

fn fields_schema(fields: &[&Field]) -> String {
    let properties: Vec<(String, String)> = fields
        .iter()
        .map(|field| (field.name.to_owned(), described(&shape_schema(&field.shape), field.description)))
        .collect();
    let required = list(fields.iter().filter(|field| !field.is_optional).map(|field| quoted(field.name)));
    format!("{{\"type\":\"object\",\"properties\":{},\"required\":{required}}}", object(&properties))
}

const ID: Field = Field::optional("id", Shape::Any);

fn request_schema(command: &'static Command) -> String {
    let kind = Field::new("type", Shape::Word(command.name));
    let mut fields: Vec<&Field> = vec![&ID, &kind];
    for field in command.all_parameters() {
        fields.push(field);
    }
    described(&fields_schema(&fields), command.description)
}

fn response_schema(command: &'static Command) -> String {
    let data = type_name(command.name, "Data");
    let mut properties = vec![
        ("id".to_owned(), "{}".to_owned()),
        ("type".to_owned(), r#"{"const":"response"}"#.to_owned()),
        ("command".to_owned(), format!("{{\"const\":{}}}", quoted(command.name))),
        ("success".to_owned(), r#"{"const":true}"#.to_owned()),
    ];
    let mut required = vec!["type", "command", "success"];
    if command.data.is_some() {
        properties.push(("data".to_owned(), reference(&data)));
        required.push("data");
    }
    let required = list(required.into_iter().map(quoted));
    format!("{{\"type\":\"object\",\"properties\":{},\"required\":{required}}}", object(&properties))
}

fn failure_schema() -> String {
    let codes = list(Code::ALL.iter().map(|code| quoted(code.word())));
    format!(
        "{{\"type\":\"object\",\"properties\":{{\"id\":{{}},\"type\":{{\"const\":\"response\"}},\"command\":{{}},\"success\":{{\"const\":false}},\"error\":{{\"type\":\"string\"}},\"code\":{{\"enum\":{codes}}},\"leafId\":{{\"type\":[\"string\",\"null\"]}}}},\"required\":[\"type\",\"success\",\"error\",\"code\"]}}"
    )
}

fn event_schema((name, fields, description): &EventShape) -> String {
    let kind = Field::new("type", Shape::Word(name));
    let fields: Vec<&Field> = std::iter::once(&kind).chain(*fields).collect();
    described(&fields_schema(&fields), description)
}

/// Formats JSON text over several lines.
fn pretty(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    let mut characters = text.chars().peekable();
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            '{' | '[' => {
                out.push(character);
                if matches!(characters.peek(), Some('}' | ']')) {
                    out.extend(characters.next());
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                in_string = true;
                out.push('"');
            }
            other => out.push(other),
        }
    }
    out.push('\n');
    out
}
