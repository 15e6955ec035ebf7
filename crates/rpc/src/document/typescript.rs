//! Generates the TypeScript declarations.

use super::{PUSHED, quoted, type_name};
use crate::catalogue::{COMMANDS, Command, Origin, STREAMED, SUBSCRIBED, named_shapes};
use crate::failure::Code;
use crate::shape::{Field, Shape};

/// Indented text.
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

    /// Writes indented lines between two others.
    fn block(&mut self, opening: &str, closing: &str, inside: impl FnOnce(&mut Self)) {
        self.line(opening);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(closing);
    }
}

/// Turns `get_state` into `getState`.
fn method_name(name: &str) -> String {
    let upper = type_name(name, "");
    let mut letters = upper.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// Returns the TypeScript declarations of all records and of the JavaScript client.
pub fn typescript() -> String {
    let mut page = Page::default();
    page.line("// Generated from the catalogue of commands by `cargo xtask docs`. Do not edit.");
    page.line("");
    for (name, shape, description) in named_shapes() {
        page.line(&format!("/** {description} */"));
        interface(&mut page, name, shape);
    }
    let supported: Vec<&Command> = COMMANDS.iter().filter(|command| command.origin != Origin::Agent).collect();
    page.block("export interface Commands {", "}", |page| {
        for command in &supported {
            page.line(&format!("/** {} */", command.description));
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
        "  | { id?: unknown; type: \"response\"; command?: unknown; success: false; error: string; code: ErrorCode; leafId?: string | null };",
    );
    page.line("");
    for (events, name) in [(STREAMED, "StreamEvent"), (SUBSCRIBED, "SessionEvent")] {
        page.line(&format!("export type {name} ="));
        for (index, (event, fields, description)) in events.iter().enumerate() {
            let kind = Field::new("type", Shape::Word(event));
            let fields: Vec<&Field> = std::iter::once(&kind).chain(*fields).collect();
            let end = if index + 1 == events.len() { ";" } else { "" };
            page.line(&format!("  /** {description} */"));
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

/// Writes the declarations of the JavaScript client.
fn client(page: &mut Page, supported: &[&Command]) {
    page.block("export interface ClientOptions {", "}", |page| {
        page.line("/** The program to start; default: \"sessile\". */");
        page.line("program?: string;");
        page.line("/** Its arguments after \"rpc\": pi's flags that select a session. */");
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
    page.line("  /** With LEAF_MOVED: the actual leaf, to be expected next time. */");
    page.line("  readonly leafId?: string | null;");
    page.line("}");
    page.line("");
    page.line("/** The names of all commands. */");
    page.line("export declare const COMMANDS: readonly Command[];");
    page.line("");
    page.line("export type HookReply = Record<string, unknown> | null | undefined;");
    page.line("");
    page.line("/** A server that listens on a socket. */");
    page.line("export interface SessileServer {");
    page.line("  readonly socket: string;");
    page.line("  /** Resolves to its exit code; null if a signal ended it. */");
    page.line("  readonly ended: Promise<number | null>;");
    page.line("  /** Stops the server and waits until it has ended. */");
    page.line("  stop(): Promise<number | null>;");
    page.line("}");
    page.line("");
    page.block("export declare class SessileClient {", "}", |page| {
        page.line("static start(options?: ClientOptions): Promise<SessileClient>;");
        page.line("/** Starts a server that listens on a socket. Resolves when it accepts clients. */");
        page.line("static serve(options: ClientOptions & { socket: string }): Promise<SessileServer>;");
        page.line("/** Resolves when either side has ended the connection: to the exit code of the program, if one was started. */");
        page.line("readonly ended: Promise<number | null>;");
        page.line("/** Sends a command and waits for its answer. */");
        page.line("send<C extends Command>(command: C, parameters?: Commands[C][\"parameters\"]): Promise<Commands[C][\"data\"]>;");
        page.line("/** Registers a listener for the events of pi's stream. Returns a function that removes it. */");
        page.line("on(listener: (event: StreamEvent) => void): () => void;");
        page.line("/** Subscribes to events, from now on or since a cursor. */");
        page.line("listen(");
        page.line("  parameters: Commands[\"subscribe\"][\"parameters\"],");
        page.line("  listener: (event: SessionEvent, cursor: string, lost: number) => void,");
        page.line("): Promise<{ subscription: string; cursor: string; stop(): Promise<void> }>;");
        page.line("/** Registers a hook, which is asked before events. Resolves to a function that removes it. */");
        page.line("hook(");
        page.line("  events: Commands[\"hook_register\"][\"parameters\"][\"events\"],");
        page.line("  answer: (event: SessionEvent, sessionPath?: string) => HookReply | Promise<HookReply>,");
        page.line("  timeoutMs?: number,");
        page.line("): Promise<() => Promise<void>>;");
        page.line("/** Closes the connection and waits until it has ended. Resolves to the exit code of the program, if one was started. */");
        page.line("close(): Promise<number | null>;");
        for command in supported {
            let parameters: Vec<&Field> = command.all_parameters().collect();
            let is_optional = parameters.iter().all(|field| field.is_optional);
            let mark = if is_optional { "?" } else { "" };
            let name = command.name;
            page.line(&format!("/** {} */", command.description));
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
    // An alias, because an interface is not assignable to a type with arbitrary members.
    page.block(&format!("export type {name} = {{"), "};", |page| {
        for field in *fields {
            if !field.description.is_empty() {
                page.line(&format!("/** {} */", field.description));
            }
            page.line(&format!("{};", ts_field(field)));
        }
        // Entries and messages have further members, depending on their type.
        if matches!(name, "AnyEntry" | "AnyMessage" | "Header") {
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

pub(super) fn ts_type(shape: &Shape) -> String {
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
        Shape::Object([]) => "{ [key: string]: unknown }".to_owned(),
        Shape::Object(fields) => ts_object(&fields.iter().collect::<Vec<_>>()),
        Shape::OneOf(shapes) => shapes.iter().map(ts_type).collect::<Vec<_>>().join(" | "),
        Shape::Named(name) => (*name).to_owned(),
    }
}
