//! Calls every accessor of every typed view once.

use std::hint::black_box;

use sessile_core::entry::{Entry, Payload};
use sessile_core::message::{
    AssistantDiagnostic, AssistantMessage, Block, BranchSummaryMessage, CompactionSummaryMessage, Content, Deferred,
    Message, NestedCalls, SystemMessage, TokenUsage, ToolResultMessage,
};

macro_rules! ask {
    ($view:expr => $($field:ident)*) => {{ $(black_box($view.$field());)* }};
}

/// Reads every field of the entry with its type, and every field of every role of its message.
pub(crate) fn read_all_fields(entry: &Entry) {
    ask!(entry => id parent_id timestamp json);
    match entry.payload() {
        Payload::Message(it) => it.message().into_iter().for_each(message),
        Payload::ThinkingLevelChange(it) => ask!(it => thinking_level),
        Payload::ModelChange(it) => ask!(it => provider model_id),
        Payload::Usage(it) => {
            ask!(it => kind provider model note);
            it.usage().into_iter().for_each(usage);
        }
        Payload::Compaction(it) => {
            ask!(it => summary first_kept_entry_id tokens_before details from_hook);
            it.usage().into_iter().for_each(usage);
            it.system_message().into_iter().for_each(system);
        }
        Payload::BranchSummary(it) => {
            ask!(it => from_id summary details from_hook);
            it.usage().into_iter().for_each(usage);
        }
        Payload::Custom(it) => ask!(it => custom_type data),
        Payload::CustomMessage(it) => {
            ask!(it => custom_type display details);
            content(&it.content());
        }
        Payload::ContextEdit(it) => ask!(it => target_id replacement),
        Payload::Label(it) => ask!(it => target_id label),
        Payload::SessionInfo(it) => ask!(it => name),
        Payload::Unknown(_) => message(Message::new(entry.raw())),
    }
}

fn message(it: Message<'_>) {
    assert_eq!(it.raw(), Message::new(it.raw()).raw());
    ask!(it => role timestamp);
    assert_eq!(it.text(), it.content().text());
    content(&it.content());
    match it {
        Message::System(it) => system(it),
        Message::User(it) => ask!(it => timestamp content),
        Message::Assistant(it) => assistant(it),
        Message::ToolResult(it) => tool_result(it),
        Message::BashExecution(it) => ask!(it =>
            command output exit_code cancelled truncated full_output_path timestamp exclude_from_context),
        Message::Custom(it) => ask!(it => custom_type content display details timestamp),
        Message::BranchSummary(it) => ask!(it => summary from_id timestamp),
        Message::CompactionSummary(it) => ask!(it => summary tokens_before timestamp),
        // An unknown message is read as a message of every role.
        _ => {
            system(SystemMessage::new(it.raw()));
            assistant(AssistantMessage::new(it.raw()));
            tool_result(ToolResultMessage::new(it.raw()));
            ask!(BranchSummaryMessage::new(it.raw()) => summary from_id);
            ask!(CompactionSummaryMessage::new(it.raw()) => summary tokens_before);
        }
    }
}

fn system(it: SystemMessage<'_>) {
    ask!(it => content sections timestamp);
    for tool in it.tools_added().into_iter().chain(it.tools_removed()) {
        ask!(tool => name description parameters constrained_sampling);
    }
}

fn assistant(it: AssistantMessage<'_>) {
    ask!(it =>
        api provider model stop_reason error_message timestamp response_model response_id provider_thinking_level
        thinking_level raw_stop_reason end_turn duration_ms);
    it.usage().into_iter().for_each(usage);
    it.diagnostics().into_iter().for_each(diagnostic);
    it.deferred().into_iter().for_each(deferred);
}

fn tool_result(it: ToolResultMessage<'_>) {
    ask!(it => tool_call_id tool_name details is_error timestamp duration_ms);
    it.usage().into_iter().for_each(usage);
    it.nested_calls().into_iter().for_each(nested_calls);
}

fn usage(it: TokenUsage<'_>) {
    ask!(it => input output cache_read cache_write cache_write_1h reasoning total_tokens);
    if let Some(cost) = it.cost() {
        ask!(cost => input output cache_read cache_write total total_from_provider);
    }
}

fn diagnostic(it: AssistantDiagnostic<'_>) {
    ask!(it => kind timestamp details);
    if let Some(error) = it.error() {
        ask!(error => name message stack code);
    }
}

fn deferred(it: Deferred<'_>) {
    ask!(it => provider model_id api id expires_at poll_after_ms data);
}

fn nested_calls(it: NestedCalls<'_>) {
    ask!(it => complete);
    for call in it.calls() {
        ask!(call => id name arguments arguments_bytes status duration_ms error);
    }
}

fn content(it: &Content<'_>) {
    ask!(it => text);
    for block in it.blocks() {
        black_box(block.raw());
        match block {
            Block::Text(it) => ask!(it => text text_signature),
            Block::Image(it) => ask!(it => data mime_type),
            Block::Thinking(it) => ask!(it => thinking thinking_signature redacted),
            Block::ToolCall(it) => ask!(it => id name arguments thought_signature namespace arguments_error),
            _ => {}
        }
    }
}
