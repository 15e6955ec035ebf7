//! The catalogue in forms for others: JSON Schema, TypeScript, and the table of docs/rpc.md.

use std::fmt::Write;

use sessile::json::Json;

use crate::catalogue::{COMMANDS, Command, EventShape, NAMED, Origin, STREAMED, SUBSCRIBED};
use crate::failure::Code;
use crate::shape::{Field, Shape};

/// Text with indentation.
#[derive(Default)]
struct Page {
    text: String,
    depth: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("  ", self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Lines that are indented between two others.
    fn block(&mut self, opening: &str, closing: &str, inside: impl FnOnce(&mut Self)) {
        self.line(opening);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(closing);
    }
}

fn quoted(text: &str) -> String {
    Json::string(text).to_text().into_owned()
}

// ------------------------------------------------------------------------------------------------------ JSON Schema

/// Everything that goes over the line, as JSON Schema: `#/$defs/Request`, `#/$defs/Response` and `#/$defs/Event` are
/// the records, all else is what they are made of.
pub fn json_schema() -> String {
    let mut members = vec![
        ("$schema".to_owned(), quoted("https://json-schema.org/draft/2020-12/schema")),
        ("title".to_owned(), quoted("Records of sessile rpc")),
        ("oneOf".to_owned(), refs(["Request", "Response", "Event"])),
    ];
    let mut defs: Vec<(String, String)> = Vec::new();
    for (name, shape, what) in NAMED {
        defs.push(((*name).to_owned(), described(&shape_schema(shape), what)));
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

/// The records that are sent without being asked for, besides pi's events.
const PUSHED: &[(&str, &[Field])] = &[
    (
        "SubscriptionEvent",
        &[
            Field::new("type", Shape::Word("event")),
            Field::new("subscription", Shape::Text),
            Field::new("cursor", Shape::Text),
            Field::new("event", Shape::Named("SessionEvent")),
        ],
    ),
    (
        "HookRequest",
        &[
            Field::new("type", Shape::Word("hook_request")),
            Field::new("requestId", Shape::Text),
            Field::optional("sessionPath", Shape::Text),
            Field::new("event", Shape::Named("SessionEvent")),
        ],
    ),
    ("HookCancel", &[Field::new("type", Shape::Word("hook_cancel")), Field::new("requestId", Shape::Text)]),
];

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

fn described(schema: &str, what: &str) -> String {
    if what.is_empty() {
        return schema.to_owned();
    }
    let rest = schema.strip_prefix('{').unwrap_or(schema);
    let comma = if rest == "}" { "" } else { "," };
    format!("{{\"description\":{}{comma}{rest}", quoted(what))
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
        .map(|field| (field.name.to_owned(), described(&shape_schema(&field.shape), field.what)))
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
    described(&fields_schema(&fields), command.what)
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
        "{{\"type\":\"object\",\"properties\":{{\"id\":{{}},\"type\":{{\"const\":\"response\"}},\"command\":{{}},\"success\":{{\"const\":false}},\"error\":{{\"type\":\"string\"}},\"code\":{{\"enum\":{codes}}}}},\"required\":[\"type\",\"success\",\"error\",\"code\"]}}"
    )
}

fn event_schema((name, fields, what): &EventShape) -> String {
    let kind = Field::new("type", Shape::Word(name));
    let fields: Vec<&Field> = std::iter::once(&kind).chain(*fields).collect();
    described(&fields_schema(&fields), what)
}

/// JSON text over several lines.
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

// ------------------------------------------------------------------------------------------------------- TypeScript

/// `get_state` and `Request` as `GetStateRequest`.
fn type_name(name: &str, suffix: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    words.collect::<String>() + suffix
}

/// `get_state` as `getState`.
fn method_name(name: &str) -> String {
    let upper = type_name(name, "");
    let mut letters = upper.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// Everything that goes over the line, and the JavaScript client, as TypeScript declarations.
pub fn typescript() -> String {
    let mut page = Page::default();
    page.line("// Made from the catalogue of commands by `cargo xtask docs`. Changes here are lost.");
    page.line("");
    for (name, shape, what) in NAMED {
        page.line(&format!("/** {what} */"));
        interface(&mut page, name, shape);
    }
    let supported: Vec<&Command> = COMMANDS.iter().filter(|command| command.origin != Origin::Agent).collect();
    page.block("export interface Commands {", "}", |page| {
        for command in &supported {
            page.line(&format!("/** {} */", command.what));
            let parameters: Vec<&Field> = command.all_parameters().collect();
            let data = command.data.as_ref().map_or_else(|| "void".to_owned(), ts_type);
            page.line(&format!("{}: {{ parameters: {}; data: {data} }};", command.name, ts_object(&parameters)));
        }
    });
    page.line("");
    page.line("export type Command = keyof Commands;");
    page.line("");
    page.line(&format!("export type ErrorCode = {};", Code::ALL.map(|code| quoted(code.word())).join(" | ")));
    page.line("");
    page.line(
        "export type Request = { [C in Command]: { id?: unknown; type: C } & Commands[C][\"parameters\"] }[Command];",
    );
    page.line("export type Response =");
    page.line("  | { id?: unknown; type: \"response\"; command: Command; success: true; data?: unknown }");
    page.line(
        "  | { id?: unknown; type: \"response\"; command?: unknown; success: false; error: string; code: ErrorCode };",
    );
    page.line("");
    for (events, name) in [(STREAMED, "StreamEvent"), (SUBSCRIBED, "SessionEvent")] {
        page.line(&format!("export type {name} ="));
        for (place, (event, fields, what)) in events.iter().enumerate() {
            let kind = Field::new("type", Shape::Word(event));
            let fields: Vec<&Field> = std::iter::once(&kind).chain(*fields).collect();
            let end = if place + 1 == events.len() { ";" } else { "" };
            page.line(&format!("  /** {what} */"));
            page.line(&format!("  | {}{end}", ts_object(&fields)));
        }
        page.line("");
    }
    for (name, fields) in PUSHED {
        page.line(&format!("export type {name} = {};", ts_object(&fields.iter().collect::<Vec<_>>())));
    }
    page.line("");
    client(&mut page, &supported);
    page.text
}

/// The JavaScript client.
fn client(page: &mut Page, supported: &[&Command]) {
    page.block("export interface ClientOptions {", "}", |page| {
        page.line("/** The program to start; \"sessile\" if absent. */");
        page.line("program?: string;");
        page.line("/** Its arguments behind \"rpc\": pi's flags that choose a session. */");
        page.line("args?: string[];");
        page.line("/** Connect to this Unix socket instead of starting a program. */");
        page.line("socket?: string;");
        page.line("cwd?: string;");
        page.line("env?: Record<string, string | undefined>;");
    });
    page.line("");
    page.line("/** A command that failed. */");
    page.line("export declare class RpcError extends Error {");
    page.line("  readonly code: ErrorCode;");
    page.line("  readonly command: Command;");
    page.line("}");
    page.line("");
    page.line("export type HookReply = Record<string, unknown> | null | undefined;");
    page.line("");
    page.block("export declare class SessileClient {", "}", |page| {
        page.line("static start(options?: ClientOptions): Promise<SessileClient>;");
        page.line("/** Sends a command and waits for its answer. */");
        page.line("send<C extends Command>(command: C, parameters?: Commands[C][\"parameters\"]): Promise<Commands[C][\"data\"]>;");
        page.line("/** Hears what pi's stream tells. */");
        page.line("on(listener: (event: StreamEvent) => void): () => void;");
        page.line("/** Hears what happens, from now on or from a cursor on. */");
        page.line("listen(");
        page.line("  parameters: Commands[\"subscribe\"][\"parameters\"],");
        page.line("  listener: (event: SessionEvent, cursor: string) => void,");
        page.line("): Promise<{ subscription: string; cursor: string; stop(): Promise<void> }>;");
        page.line("/** Is asked before things happen. */");
        page.line("hook(");
        page.line("  events: Commands[\"hook_register\"][\"parameters\"][\"events\"],");
        page.line("  answer: (event: SessionEvent) => HookReply | Promise<HookReply>,");
        page.line("  timeoutMs?: number,");
        page.line("): Promise<void>;");
        page.line("/** Ends the connection and waits for the end. Resolves to the exit code of the program, if one was started. */");
        page.line("close(): Promise<number | null>;");
        for command in supported {
            let parameters: Vec<&Field> = command.all_parameters().collect();
            let is_optional = parameters.iter().all(|field| field.is_optional);
            let mark = if is_optional { "?" } else { "" };
            let name = command.name;
            page.line(&format!("/** {} */", command.what));
            page.line(&format!(
                "{}(parameters{mark}: Commands[{}][\"parameters\"]): Promise<Commands[{}][\"data\"]>;",
                method_name(name),
                quoted(name),
                quoted(name)
            ));
        }
    });
}

fn interface(page: &mut Page, name: &str, shape: &Shape) {
    let Shape::Object(fields) = shape else {
        page.line(&format!("export type {name} = {};", ts_type(shape)));
        page.line("");
        return;
    };
    page.block(&format!("export interface {name} {{"), "}", |page| {
        for field in *fields {
            if !field.what.is_empty() {
                page.line(&format!("/** {} */", field.what));
            }
            page.line(&format!("{};", ts_field(field)));
        }
        // Entries and messages have whatever their kind has.
        if matches!(name, "Entry" | "Message" | "Header") {
            page.line("[key: string]: unknown;");
        }
    });
    page.line("");
}

fn ts_field(field: &Field) -> String {
    let mark = if field.is_optional { "?" } else { "" };
    format!("{}{mark}: {}", field.name, ts_type(&field.shape))
}

fn ts_object(fields: &[&Field]) -> String {
    if fields.is_empty() {
        return "{}".to_owned();
    }
    let fields: Vec<String> = fields.iter().map(|field| ts_field(field)).collect();
    format!("{{ {} }}", fields.join("; "))
}

fn ts_type(shape: &Shape) -> String {
    match shape {
        Shape::Any => "unknown".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Number | Shape::Count => "number".to_owned(),
        Shape::Flag => "boolean".to_owned(),
        Shape::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" | "),
        Shape::Word(word) => quoted(word),
        Shape::List(item) => match item {
            Shape::Words(_) | Shape::OneOf(_) => format!("({})[]", ts_type(item)),
            _ => format!("{}[]", ts_type(item)),
        },
        Shape::Object(fields) => ts_object(&fields.iter().collect::<Vec<_>>()),
        Shape::OneOf(shapes) => shapes.iter().map(ts_type).collect::<Vec<_>>().join(" | "),
        Shape::Named(name) => (*name).to_owned(),
    }
}

// --------------------------------------------------------------------------------------------------------- Markdown

/// All commands, and what is told, as tables for docs/rpc.md.
pub fn reference_tables() -> String {
    let mut text = String::new();
    let groups = [
        (Origin::Pi, "### Commands of pi\n\nThey answer as pi 1.5.0 does."),
        (Origin::Sessile, "### Commands of Sessile"),
        (Origin::Agent, "### Commands that need an agent\n\nThey answer `NOT_SUPPORTED`."),
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
            let data = match (&command.data, command.writes) {
                (_, true) => "write".to_owned(),
                (None, false) => "–".to_owned(),
                (Some(data), false) => format!("`{}`", md_shape(data)),
            };
            let _ = writeln!(text, "| `{}` | {} | {data} | {} |", command.name, dash(&parameters), command.what);
        }
        text.push('\n');
    }
    text.push_str("### Shapes\n\n| name | members |\n|---|---|\n");
    for (name, shape, what) in NAMED {
        let members = match shape {
            Shape::Object(fields) => dash(&fields.iter().map(md_field).collect::<Vec<_>>()),
            other => format!("`{}`", md_shape(other)),
        };
        let _ = writeln!(text, "| `{name}` | {members} {what} |");
    }
    for (events, heading) in [(STREAMED, "### Events of pi's stream"), (SUBSCRIBED, "### Events to subscribe to")] {
        let _ = write!(text, "\n{heading}\n\n| event | members | |\n|---|---|---|\n");
        for (name, fields, what) in events {
            let fields: Vec<String> = fields.iter().map(md_field).collect();
            let _ = writeln!(text, "| `{name}` | {} | {what} |", dash(&fields));
        }
    }
    text
}

fn dash(fields: &[String]) -> String {
    if fields.is_empty() { "–".to_owned() } else { fields.join(", ") }
}

fn md_field(field: &Field) -> String {
    let mark = if field.is_optional { "?" } else { "" };
    let remark = if field.what.is_empty() { String::new() } else { format!(" ({})", field.what) };
    format!("`{}{mark}: {}`{remark}", field.name, md_shape(&field.shape))
}

fn md_shape(shape: &Shape) -> String {
    // A bar would end the cell.
    ts_type(shape).replace('|', "\\|")
}
