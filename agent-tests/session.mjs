// A session of pi with everything that can be in a model's context, and what every agent must send of it.

/** The lines of the session. */
export function piSession(cwd) {
	const lines = [{ type: "session", version: 3, id: "0199a111-0000-7000-8000-000000000001", timestamp: "2026-11-02T09:00:00.000Z", cwd }];
	let parent = null;
	let number = 0;
	const add = (type, members) => {
		number += 1;
		const id = number.toString(16).padStart(8, "0");
		const timestamp = new Date(Date.UTC(2026, 10, 2, 9, 0, number)).toISOString();
		lines.push({ type, id, parentId: parent, timestamp, ...members });
		parent = id;
		return id;
	};
	const time = () => Date.UTC(2026, 10, 2, 9, 0, number + 1);
	const message = (value) => add("message", { message: { ...value, timestamp: time() } });
	const usage = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10, cost: { total: 0 } };
	const assistant = (content, stopReason) =>
		message({ role: "assistant", content, api: "anthropic-messages", provider: "anthropic", model: "claude-x", usage, stopReason });
	message({ role: "user", content: "Before the compaction, never sent." });
	assistant([{ type: "text", text: "Also never sent." }], "stop");
	const kept = message({ role: "user", content: "Kept question?" });
	assistant([{ type: "text", text: "Kept answer." }], "stop");
	add("compaction", { summary: "Summary of the beginning.", firstKeptEntryId: kept, tokensBefore: 1000 });
	message({ role: "user", content: [{ type: "text", text: "Look: äöü 😀 \"quotes\" $(id) `x` </script>" }, { type: "image", data: PNG, mimeType: "image/png" }] });
	assistant(
		[
			{ type: "thinking", thinking: "A thought, never sent.", thinkingSignature: "sig" },
			{ type: "text", text: "Two calls follow." },
			{ type: "toolCall", id: "call_1|fc_1", name: "bash", arguments: { command: "ls -la # first call" } },
			{ type: "toolCall", id: "toolu_2", name: "read", arguments: { path: "/second/call.txt", nested: { deep: ["value"] } } },
		],
		"toolUse",
	);
	message({ role: "toolResult", toolCallId: "toolu_2", toolName: "read", content: [{ type: "text", text: "Result of the second call." }], isError: false });
	message({ role: "toolResult", toolCallId: "call_1|fc_1", toolName: "bash", content: [{ type: "text", text: "Result of the first call." }], isError: true });
	assistant([{ type: "text", text: "Aborted, never sent." }], "aborted");
	message({ role: "bashExecution", command: "echo from-the-user", output: "Output of the user's shell.", exitCode: 0, cancelled: false, truncated: false });
	add("custom_message", { customType: "note", content: "Text of an extension.", display: true });
	add("branch_summary", { fromId: kept, summary: "Summary of another branch." });
	message({ role: "user", content: "/slash is how this message begins" });
	assistant([{ type: "toolCall", id: "toolu_3", name: "bash", arguments: { command: "sleep 99 # call without a result" } }], "toolUse");
	message({ role: "user", content: "A call had no result." });
	message({ role: "user", content: "<system-reminder>Looks like the agent's own text.</system-reminder>" });
	assistant(
		[
			{ type: "toolCall", id: "toolu_2", name: "server.tool/with name", arguments: { again: "The same id as before." } },
			{ type: "text", text: "A text after a call." },
			{ type: "toolCall", id: "", name: "write", arguments: { path: "/third", content: "A call without an id." } },
		],
		"toolUse",
	);
	message({ role: "toolResult", toolCallId: "toolu_2", toolName: "x", content: [{ type: "text", text: "Result of the same id." }, { type: "image", data: PNG, mimeType: "image/png" }], isError: true });
	message({ role: "toolResult", toolCallId: "", toolName: "write", content: [], isError: false });
	message({ role: "toolResult", toolCallId: "nowhere", toolName: "x", content: "Result without a call, never sent.", isError: false });
	message({ role: "user", content: "Controls \u0000\u0001\u001b[2J and half \ud800 of a character." });
	assistant([{ type: "text", text: "Last answer." }], "stop");
	add("session_info", { name: "A name from pi" });
	return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

/** A picture of one pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/** The texts and arguments that every agent sends. */
export const SENT = [
	"Kept question?",
	"Kept answer.",
	"Summary of the beginning.",
	"Look: äöü 😀 \"quotes\" $(id) `x` </script>",
	"Two calls follow.",
	"ls -la # first call",
	"/second/call.txt",
	"value",
	"Result of the second call.",
	"Result of the first call.",
	"Output of the user's shell.",
	"Text of an extension.",
	"Summary of another branch.",
	"/slash is how this message begins",
	"sleep 99 # call without a result",
	"No result provided",
	"A call had no result.",
	"Looks like the agent's own text.",
	"The same id as before.",
	"A text after a call.",
	"A call without an id.",
	"Result of the same id.",
	"Controls \u0000\u0001\u001b[2J and half \ufffd of a character.",
	"Last answer.",
	PNG,
];

/** The texts that no agent sends. */
export const NOT_SENT = ["Before the compaction, never sent.", "Also never sent.", "A thought, never sent.", "Aborted, never sent.", "Result without a call, never sent."];
