//! The fields of a message, role by role.

use super::content::Content;
use super::parts::{AssistantDiagnostic, Deferred, NestedCalls, TokenUsage, Tool};
use super::view::views;
use crate::EntryId;
use crate::json::Raw;

views! {
    /// Instructions to the model, and the tools it has from this point on.
    SystemMessage<'a> {
        /// The instructions.
        content: Content<'a> = "content";
        /// Named parts of the instructions: an object from names to texts, with `null` to remove a part.
        sections: Option<Raw<'a>> = "sections";
        /// Tools the model may call from this point on.
        tools_added: Vec<Tool<'a>> = "toolsAdded";
        /// Tools it may no longer call, with names only.
        tools_removed: Vec<Tool<'a>> = "toolsRemoved";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// A message from the user.
    UserMessage<'a> {
        /// A text, or text and images.
        content: Content<'a> = "content";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// An answer from the model.
    AssistantMessage<'a> {
        /// Text, thinking and tool calls.
        content: Content<'a> = "content";
        /// The provider API that was used.
        api: Option<String> = "api";
        /// The provider of the model.
        provider: Option<String> = "provider";
        /// The requested model.
        model: Option<String> = "model";
        /// The tokens the answer used.
        usage: Option<TokenUsage<'a>> = "usage";
        /// Why the answer ended: `stop`, `length`, `toolUse`, `error`, `aborted`, `deferred` or `pending`.
        stop_reason: Option<String> = "stopReason";
        /// The error message.
        error_message: Option<String> = "errorMessage";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// The model that answered, according to the provider.
        response_model: Option<String> = "responseModel";
        /// The provider's id for the answer.
        response_id: Option<String> = "responseId";
        /// Events on the way to the answer.
        diagnostics: Vec<AssistantDiagnostic<'a>> = "diagnostics";
        /// The thinking level in the provider's words.
        provider_thinking_level: Option<String> = "providerThinkingLevel";
        /// The thinking level in pi's words.
        thinking_level: Option<String> = "thinkingLevel";
        /// Where to get a deferred answer.
        deferred: Option<Deferred<'a>> = "deferred";
        /// Why the answer ended, in the provider's words.
        raw_stop_reason: Option<String> = "rawStopReason";
        /// Whether the model considers its turn over.
        end_turn: Option<bool> = "endTurn";
        /// How long the answer took, in milliseconds.
        duration_ms: Option<f64> = "durationMs";
    }

    /// The result of a tool call.
    ToolResultMessage<'a> {
        /// The id of the call.
        tool_call_id: Option<String> = "toolCallId";
        /// The tool.
        tool_name: Option<String> = "toolName";
        /// The content shown to the model: text and images.
        content: Content<'a> = "content";
        /// Structured data from the tool, for programs. The tool defines its shape.
        details: Option<Raw<'a>> = "details";
        /// Whether the call failed.
        is_error: Option<bool> = "isError";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// The tokens used by models that the tool called.
        usage: Option<TokenUsage<'a>> = "usage";
        /// The calls that the tool itself made.
        nested_calls: Option<NestedCalls<'a>> = "nestedCalls";
        /// How long the tool ran, in milliseconds.
        duration_ms: Option<f64> = "durationMs";
    }

    /// A shell command that the user ran.
    BashExecutionMessage<'a> {
        /// The command.
        command: Option<String> = "command";
        /// The output of the command.
        output: Option<String> = "output";
        /// The exit code, if the command exited.
        exit_code: Option<f64> = "exitCode";
        /// Whether the user stopped it.
        cancelled: Option<bool> = "cancelled";
        /// Whether `output` is truncated.
        truncated: Option<bool> = "truncated";
        /// The file with the full output.
        full_output_path: Option<String> = "fullOutputPath";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
        /// Whether to hide it from the model.
        exclude_from_context: Option<bool> = "excludeFromContext";
    }

    /// A message from an extension.
    CustomMessage<'a> {
        /// The extension's name for this type of message.
        custom_type: Option<String> = "customType";
        /// A text, or text and images.
        content: Content<'a> = "content";
        /// Whether to show it to the user.
        display: Option<bool> = "display";
        /// Private data of the extension.
        details: Option<Raw<'a>> = "details";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// A summary of an abandoned branch. pi creates these for the model and does not store them.
    BranchSummaryMessage<'a> {
        /// The summary.
        summary: Option<String> = "summary";
        /// The entry at which the branch was left.
        from_id: Option<EntryId> = "fromId";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }

    /// A summary of the earlier conversation. pi creates these for the model and does not store them.
    CompactionSummaryMessage<'a> {
        /// The summary.
        summary: Option<String> = "summary";
        /// The number of tokens in the context before the summary.
        tokens_before: Option<f64> = "tokensBefore";
        /// Unix milliseconds.
        timestamp: Option<f64> = "timestamp";
    }
}
