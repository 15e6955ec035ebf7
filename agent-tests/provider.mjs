// A provider on loopback that speaks the protocols of OpenAI (Responses and Chat), Gemini and Anthropic, and never
// thinks: it calls a tool if the last message of the user asks for one, and else answers with a fixed text. It keeps
// every request.

import { createServer } from "node:http";

/** The words in a message of the user that make the provider call a tool. */
export const ASK_FOR_TOOL = "Please use your shell tool.";

/** Starts the provider. Its `tool` is called if the user asks for it: `{name, arguments}`. */
export async function startProvider(tool) {
	const requests = [];
	const provider = { tool, requests };
	const server = createServer((request, response) => {
		const chunks = [];
		request.on("data", (chunk) => chunks.push(chunk));
		request.on("end", () => {
			const text = Buffer.concat(chunks).toString("utf8");
			let body;
			try {
				body = JSON.parse(text);
			} catch {
				body = {};
			}
			const url = new URL(request.url, "http://127.0.0.1");
			requests.push({ path: url.pathname, text, body });
			answer(url, body, response, provider.tool, requests.length);
		});
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	provider.url = `http://127.0.0.1:${server.address().port}`;
	provider.stop = () => {
		server.closeAllConnections();
		return new Promise((resolve) => server.close(resolve));
	};
	return provider;
}

function answer(url, body, response, tool, number) {
	const call = wantsTool(body) ? tool : undefined;
	if (url.pathname.endsWith("/responses")) return responses(response, call, number);
	if (url.pathname.endsWith("/chat/completions")) return chat(response, body, call, number);
	if (url.pathname.includes("streamGenerateContent")) return gemini(response, call, number, true);
	if (url.pathname.includes("generateContent")) return gemini(response, call, number, false);
	if (url.pathname.includes("countTokens")) return json(response, { totalTokens: 10 });
	if (url.pathname.endsWith("/messages")) return anthropic(response, body, call, number);
	if (url.pathname.endsWith("/count_tokens")) return json(response, { input_tokens: 10 });
	if (url.pathname.endsWith("/models")) return json(response, { object: "list", data: [], models: [] });
	response.writeHead(404, { "content-type": "application/json" });
	response.end('{"error":{"message":"no such path","type":"not_found_error"}}');
}

/** Whether the user has asked for a tool, the request offers tools, and the result is not there yet. */
function wantsTool(body) {
	const messages = [body.messages, body.input, body.contents].find(Array.isArray) ?? [];
	const asked = messages.findLastIndex((message) => JSON.stringify(message).includes(ASK_FOR_TOOL));
	const isResult = (message) => /function_call_output|"role":"tool"|functionResponse|tool_result/.test(JSON.stringify(message));
	const hasTools = Array.isArray(body.tools) && body.tools.length > 0;
	return asked >= 0 && hasTools && !messages.slice(asked + 1).some(isResult);
}

const said = (number) => `Answer number ${number}.`;

function json(response, value) {
	response.writeHead(200, { "content-type": "application/json" });
	response.end(JSON.stringify(value));
}

function begin(response) {
	response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
}

function send(response, value, event) {
	response.write(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(value)}\n\n`);
}

function responses(response, call, number) {
	begin(response);
	const id = `resp_${number}`;
	const item = call
		? { type: "function_call", id: `fc_${number}`, call_id: `call_${number}`, name: call.name, arguments: JSON.stringify(call.arguments) }
		: { type: "message", id: `msg_${number}`, role: "assistant", content: [{ type: "output_text", text: said(number) }] };
	const usage = {
		input_tokens: 100,
		input_tokens_details: { cached_tokens: 40 },
		output_tokens: 10,
		output_tokens_details: { reasoning_tokens: 0 },
		total_tokens: 110,
	};
	const events = [
		{ type: "response.created", response: { id } },
		{ type: "response.output_item.done", output_index: 0, item },
		{ type: "response.completed", response: { id, output: [item], usage } },
	];
	for (const event of events) send(response, event, event.type);
	response.end();
}

function chat(response, body, call, number) {
	const id = `chatcmpl-${number}`;
	const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, prompt_tokens_details: { cached_tokens: 40 } };
	const calls = call && [
		{ index: 0, id: `call_${number}`, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } },
	];
	const message = call ? { role: "assistant", content: null, tool_calls: calls } : { role: "assistant", content: said(number) };
	const reason = call ? "tool_calls" : "stop";
	const common = { id, created: 1, model: body.model ?? "fake" };
	if (!body.stream) {
		return json(response, { ...common, object: "chat.completion", choices: [{ index: 0, message, finish_reason: reason }], usage });
	}
	begin(response);
	const chunk = (delta, finish) => ({
		...common,
		object: "chat.completion.chunk",
		choices: [{ index: 0, delta, finish_reason: finish }],
	});
	send(response, chunk(message, null));
	send(response, chunk({}, reason));
	send(response, { ...common, object: "chat.completion.chunk", choices: [], usage });
	response.end("data: [DONE]\n\n");
}

function gemini(response, call, number, isStream) {
	const part = call ? { functionCall: { id: `call_${number}`, name: call.name, args: call.arguments } } : { text: said(number) };
	const value = {
		candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
		usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 10, totalTokenCount: 110 },
		modelVersion: "fake",
	};
	if (!isStream) return json(response, value);
	begin(response);
	send(response, value);
	response.end();
}

function anthropic(response, body, call, number) {
	const block = call
		? { type: "tool_use", id: `toolu_${number}`, name: call.name, input: {} }
		: { type: "text", text: "" };
	const delta = call
		? { type: "input_json_delta", partial_json: JSON.stringify(call.arguments) }
		: { type: "text_delta", text: said(number) };
	const reason = call ? "tool_use" : "end_turn";
	const message = { id: `msg_${number}`, type: "message", role: "assistant", model: body.model ?? "fake", stop_sequence: null };
	const usage = { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 40, cache_creation_input_tokens: 0 };
	if (!body.stream) {
		const whole = call ? { ...block, input: call.arguments } : { type: "text", text: said(number) };
		return json(response, { ...message, content: [whole], stop_reason: reason, usage });
	}
	begin(response);
	const events = [
		{ type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
		{ type: "content_block_start", index: 0, content_block: block },
		{ type: "content_block_delta", index: 0, delta },
		{ type: "content_block_stop", index: 0 },
		{ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 10 } },
		{ type: "message_stop" },
	];
	for (const event of events) send(response, event, event.type);
	response.end();
}
