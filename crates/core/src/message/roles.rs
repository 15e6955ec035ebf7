//! The fields of a message, role by role.

use super::content::Content;
use super::parts::{AssistantDiagnostic, Deferred, NestedCalls, Tool, Usage};
use super::view::views;
use crate::EntryId;
use crate::json::Raw;

views! {
    /// Instructions to the model, and the tools it has from here on.
    SystemMessage<'a> {
        /// The instructions.
        content: Content<'a> = "content";
        /// Named parts of the instructions: an object from names to texts, with `null` to take a part back.
        sections: Option<Raw<'a>> = "sections";
        /// Tools the model may call from here on.
        tools_added: Vec<Tool<'a>> = "toolsAdded";
        /// Tools it may no longer call, by their names only.
        tools_removed: Vec<Tool<'a>> = "toolsRemoved";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// What the person said.
    UserMessage<'a> {
        /// A text, or text and images.
        content: Content<'a> = "content";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// What the model answered.
    AssistantMessage<'a> {
        /// Texts, thoughts and calls of tools.
        content: Content<'a> = "content";
        /// The interface through which the provider was asked.
        api: Option<String> = "api";
        /// Who runs the model.
        provider: Option<String> = "provider";
        /// The model that was asked.
        model: Option<String> = "model";
        /// What the answer took.
        usage: Option<Usage<'a>> = "usage";
        /// Why the answer ended: `stop`, `length`, `toolUse`, `error`, `aborted`, `deferred` or `pending`.
        stop_reason: Option<String> = "stopReason";
        /// What went wrong.
        error_message: Option<String> = "errorMessage";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// The model that the provider says answered.
        response_model: Option<String> = "responseModel";
        /// The provider's name for the answer.
        response_id: Option<String> = "responseId";
        /// What happened on the way to the answer.
        diagnostics: Vec<AssistantDiagnostic<'a>> = "diagnostics";
        /// The thinking level in the provider's words.
        provider_thinking_level: Option<String> = "providerThinkingLevel";
        /// The thinking level in pi's words.
        thinking_level: Option<String> = "thinkingLevel";
        /// Where to get the answer, if it is to come later.
        deferred: Option<Deferred<'a>> = "deferred";
        /// Why the answer ended, in the provider's words.
        raw_stop_reason: Option<String> = "rawStopReason";
        /// Whether the model considers its turn over.
        end_turn: Option<bool> = "endTurn";
        /// How long the answer took, in milliseconds.
        duration_ms: Option<f64> = "durationMs";
    }

    /// What came of a call of a tool.
    ToolResultMessage<'a> {
        /// The call this answers.
        tool_call_id: Option<String> = "toolCallId";
        /// The tool.
        tool_name: Option<String> = "toolName";
        /// What the model is shown: text and images.
        content: Content<'a> = "content";
        /// What the tool tells programs; its shape is the tool's affair.
        details: Option<Raw<'a>> = "details";
        /// Whether the call failed.
        is_error: Option<bool> = "isError";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// What models asked by the tool took.
        usage: Option<Usage<'a>> = "usage";
        /// The calls the tool made in turn.
        nested_calls: Option<NestedCalls<'a>> = "nestedCalls";
        /// How long the tool ran, in milliseconds.
        duration_ms: Option<f64> = "durationMs";
    }

    /// A shell command the person ran.
    BashExecutionMessage<'a> {
        /// The command.
        command: Option<String> = "command";
        /// What it printed.
        output: Option<String> = "output";
        /// The code it exited with, if it came to that.
        exit_code: Option<f64> = "exitCode";
        /// Whether the person stopped it.
        cancelled: Option<bool> = "cancelled";
        /// Whether `output` is only a part of what it printed.
        truncated: Option<bool> = "truncated";
        /// The file with all it printed.
        full_output_path: Option<String> = "fullOutputPath";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// Whether the model is not to see it.
        exclude_from_context: Option<bool> = "excludeFromContext";
    }

    /// What an extension said.
    CustomMessage<'a> {
        /// The extension's name for this type of message.
        custom_type: Option<String> = "customType";
        /// A text, or text and images.
        content: Content<'a> = "content";
        /// Whether to show it to the person.
        display: Option<bool> = "display";
        /// What the extension keeps for itself.
        details: Option<Raw<'a>> = "details";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// A summary of a branch that was left. pi makes these for the model and does not store them.
    BranchSummaryMessage<'a> {
        /// The summary.
        summary: Option<String> = "summary";
        /// The entry at which the branch was left.
        from_id: Option<EntryId> = "fromId";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// A summary of what was said before. pi makes these for the model and does not store them.
    CompactionSummaryMessage<'a> {
        /// The summary.
        summary: Option<String> = "summary";
        /// How many tokens the context had before it was made.
        tokens_before: Option<f64> = "tokensBefore";
        /// When, in Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }
}
