// Lets the genuine agents write sessions, imports them, exports a session of pi to them, and lets them go on. The
// provider is on loopback, so that each check can look at what the agent sends.
//
// node run.mjs [AGENT…]; SESSILE_PROGRAM is the program, SESSILE_AGENTS the folder of the packages, SESSILE_ORACLE_DIR the
// genuine pi, and SESSILE_AGENTS_KEEP keeps the folders of the run.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AGENTS, environment, run } from "./agents.mjs";
import { ASK_FOR_TOOL, startProvider } from "./provider.mjs";
import { NOT_SENT, SENT, piSession } from "./session.mjs";

const PROGRAM = process.env.SESSILE_PROGRAM;
const PACKAGES = process.env.SESSILE_AGENTS;
const ORACLE = process.env.SESSILE_ORACLE_DIR;
const names = process.argv.slice(2);

/** A failed check. */
class Failed extends Error {}

function check(condition, message) {
	if (!condition) throw new Failed(message);
}

/** All texts in a value; a text that is JSON counts with what is in it. */
function texts(value, found = []) {
	if (typeof value === "string") {
		found.push(value);
		if (value.startsWith("{")) {
			try {
				texts(JSON.parse(value), found);
			} catch {
				// A text like any other.
			}
		}
	} else if (value && typeof value === "object") {
		for (const inner of Object.values(value)) texts(inner, found);
	}
	return found;
}

/** Checks what the largest request contains. */
function checkSent(requests, sent, notSent = []) {
	const largest = requests.reduce((a, b) => (b.text.length > a.text.length ? b : a), { text: "", body: {} });
	const found = texts(largest.body);
	const has = (text) => found.some((it) => it.includes(text));
	const missing = sent.filter((text) => !has(text));
	check(missing.length === 0, `not in the request: ${missing.map((text) => JSON.stringify(text.slice(0, 40))).join(", ")}`);
	const extra = notSent.filter(has);
	check(extra.length === 0, `in the request: ${extra.join(", ")}`);
}

class World {
	constructor(name, provider) {
		this.name = name;
		this.base = mkdtempSync(join(tmpdir(), `sessile-agents-${name}-`));
		this.place = { home: join(this.base, "home"), temporary: join(this.base, "tmp"), cwd: join(this.base, "proj"), url: provider.url };
		for (const folder of [this.place.home, this.place.temporary, this.place.cwd]) mkdirSync(folder, { recursive: true });
		this.provider = provider;
		this.environments = { pi: environment("pi", this.place), [name]: environment(name, this.place) };
		// sessile finds the agent's store by the agent's own variables.
		this.env = { ...this.environments.pi, ...this.environments[name] };
	}

	/** Runs a turn of an agent, and returns the requests that it made. */
	async turn(name, text, id) {
		const { script, program } = AGENTS[name];
		const folder = name === "pi" ? ORACLE : join(PACKAGES, name, "node_modules");
		const args = AGENTS[name].turn(text, id);
		this.provider.tool = AGENTS[name].tool(`ran-by-${this.name}`);
		const before = this.provider.requests.length;
		const here = { cwd: this.place.cwd, env: this.environments[name] };
		const done = program
			? await run(join(folder, program), args, here)
			: await run(process.execPath, [join(folder, script), ...args], here);
		check(done.code === 0, `${name} exited with ${done.code}: ${(done.errors || done.output).slice(-400)}`);
		const requests = this.provider.requests.slice(before);
		check(requests.length > 0, `${name} made no request: ${(done.errors || done.output).slice(-400)}`);
		return requests;
	}

	async sessile(...args) {
		const done = await run(PROGRAM, args, { cwd: this.place.cwd, env: this.env });
		check(done.code === 0, `sessile ${args.slice(0, 3).join(" ")}: ${(done.errors || done.output).slice(-400)}`);
		return JSON.parse(done.output);
	}

	/** Imports a session of the agent: the latest, or the one with an id. */
	async import(id) {
		if (this.name !== "opencode") {
			const [imported] = await this.sessile("import", "--from", this.name, id ?? "@latest", "--json");
			return imported;
		}
		const program = join(PACKAGES, "opencode/node_modules", AGENTS.opencode.program);
		const here = { cwd: this.place.cwd, env: this.environments.opencode };
		const listed = await run(program, ["session", "list", "--format", "json"], here);
		const document = await run(program, ["export", id ?? JSON.parse(listed.output)[0].id], here);
		const file = join(this.base, "exported-by-opencode.json");
		writeFileSync(file, document.output);
		const [imported] = await this.sessile("import", "--from", "opencode", file, "--json");
		return imported;
	}

	/** Exports a session to the agent, and installs it. Returns its id. */
	async export(file, options = []) {
		const isOwnImport = this.name === "opencode";
		const args = ["export", file, "--to", this.name, "--cwd", this.place.cwd, "--json", ...options];
		const [exported] = await this.sessile(...args, ...(isOwnImport ? [] : ["--install"]));
		if (isOwnImport) {
			const program = join(PACKAGES, "opencode/node_modules", AGENTS.opencode.program);
			const done = await run(program, ["import", exported.path], { cwd: this.place.cwd, env: this.environments.opencode });
			check(done.code === 0, `opencode import exited with ${done.code}: ${done.errors.slice(-400)}`);
		}
		return exported.id;
	}

	/** The messages of a session of pi on its branch. */
	messages(file) {
		return this.sessile("llm", file, "--json");
	}

	end() {
		if (!process.env.SESSILE_AGENTS_KEEP) rmSync(this.base, { recursive: true, force: true });
	}
}

/** What a conversation says, in order: texts of the user, texts and calls of the model, results. */
function said(messages) {
	const list = [];
	for (const { role, content } of messages) {
		if (role === "system") continue;
		const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
		for (const block of blocks) {
			if (block.type === "text" && block.text.trim()) list.push(`${role}: ${block.text}`);
			if (block.type === "toolCall") list.push(`call ${block.name} ${JSON.stringify(block.arguments)}`);
			if (block.type === "image") list.push(`${role}: image`);
		}
	}
	return list;
}

/** The steps, each with a name for the table. They share what they find out. */
const STEPS = {
	async "writes, imported"(world) {
		const marker = `ran-by-${world.name}`;
		await world.turn(world.name, `Hello ${world.name}. ${ASK_FOR_TOOL}`);
		const imported = await world.import();
		check(imported.state === "created", `the state is ${imported.state}`);
		world.imported = imported.path;
		const list = said(await world.messages(imported.path));
		const position = (pattern) => list.findIndex((item) => pattern.test(item));
		const order = [/^user: .*Hello/s, new RegExp(`^call .*echo ${marker}`), new RegExp(`^toolResult: .*${marker}`, "s"), /^assistant: Answer number/];
		const found = order.map(position);
		check(found.every((at, nth) => at >= 0 && (nth === 0 || at > found[nth - 1])), `found ${found} in ${JSON.stringify(list).slice(0, 600)}`);
		const again = await world.import();
		check(again.state === "unchanged", `a second import: ${again.state}`);
	},
	async "pi goes on"(world) {
		check(world.imported, "there is no import");
		const requests = await world.turn("pi", "Go on in pi.", world.imported);
		checkSent(requests, [`Hello ${world.name}.`, `echo ran-by-${world.name}`, "Answer number", "Go on in pi."]);
	},
	async "pi's session resumed"(world) {
		const file = join(world.base, "session-of-pi.jsonl");
		writeFileSync(file, piSession(world.place.cwd));
		for (const options of [[], ["--map-tools"]]) {
			const id = await world.export(file, options);
			const requests = await world.turn(world.name, "Go on now.", id);
			checkSent(requests, [...SENT, "Go on now."], NOT_SENT);
		}
	},
	async "pi, there and back"(world) {
		await world.turn("pi", `Started in pi. ${ASK_FOR_TOOL}`);
		const folder = join(world.place.home, ".pi/agent/sessions");
		const sessions = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
		const before = [];
		let file;
		for (const candidate of sessions) {
			const list = said(await world.messages(candidate));
			if (list.some((item) => item.includes("Started in pi."))) {
				file = candidate;
				before.push(...list);
			}
		}
		check(file, "pi wrote no session");
		check(before.length >= 4, `pi said only ${JSON.stringify(before)}`);
		const id = await world.export(file);
		await world.turn(world.name, "Go on over there.", id);
		const imported = await world.import(id);
		const after = said(await world.messages(imported.path));
		const expected = JSON.stringify(before);
		check(JSON.stringify(after.slice(0, before.length)) === expected, `${JSON.stringify(after).slice(0, 600)} does not begin with ${expected.slice(0, 600)}`);
		const rest = after.slice(before.length);
		check(rest.some((item) => item.includes("Go on over there.")), `the new turn is missing: ${JSON.stringify(rest).slice(0, 400)}`);
		const requests = await world.turn("pi", "And back in pi.", imported.path);
		checkSent(requests, ["Started in pi.", "Go on over there.", "And back in pi."]);
	},
};

const rows = [];
let hasFailed = false;
for (const name of names.length > 0 ? names : ["codex", "gemini", "qwen", "opencode"]) {
	const provider = await startProvider();
	const world = new World(name, provider);
	const row = [name];
	for (const [step, action] of Object.entries(STEPS)) {
		try {
			await action(world);
			row.push("yes");
		} catch (error) {
			if (!(error instanceof Failed) && !(error instanceof SyntaxError)) throw error;
			hasFailed = true;
			row.push("no");
			console.error(`${name}, ${step}: ${error.message}\n`);
		}
	}
	rows.push(row);
	world.end();
	await provider.stop();
}
console.log(`| agent | ${Object.keys(STEPS).join(" | ")} |`);
console.log(`|---|${"---|".repeat(Object.keys(STEPS).length)}`);
for (const row of rows) console.log(`| ${row.join(" | ")} |`);
process.exit(hasFailed ? 1 : 0);
