// How each agent is started against a provider on loopback, in a home of its own.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How long an agent may take for one turn. */
const LIMIT_MS = 120_000;

/**
 * The agents: the packages' names are those of the folders below the packages folder. `tool` is the agent's own tool for
 * the shell. `turn` returns the arguments for a turn, in a new session or in the session `id`.
 */
export const AGENTS = {
	codex: {
		script: "@openai/codex/bin/codex.js",
		tool: (marker) => ({ name: "exec_command", arguments: { cmd: `echo ${marker}` } }),
		prepare({ home, url }) {
			const provider = `[model_providers.fake]\nname = "fake"\nbase_url = "${url}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n`;
			mkdirSync(join(home, ".codex"), { recursive: true });
			writeFileSync(join(home, ".codex/config.toml"), `model = "fake"\nmodel_provider = "fake"\n\n${provider}`);
			return { CODEX_HOME: join(home, ".codex"), FAKE_KEY: "x" };
		},
		turn: (text, id) => {
			const exec = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"];
			return id ? [...exec, "resume", id, text] : [...exec, text];
		},
	},
	gemini: {
		script: "@google/gemini-cli/bundle/gemini.js",
		tool: (marker) => ({ name: "run_shell_command", arguments: { command: `echo ${marker}` } }),
		prepare({ home, url }) {
			mkdirSync(join(home, ".gemini"), { recursive: true });
			const settings = { security: { auth: { selectedType: "gemini-api-key" } } };
			writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings));
			return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "x", GEMINI_CLI_NO_RELAUNCH: "true" };
		},
		turn: (text, id) => [...(id ? ["--resume", id] : []), "-m", "gemini-2.5-pro", "--skip-trust", "--yolo", "-p", text],
	},
	qwen: {
		script: "@qwen-code/qwen-code/cli.js",
		tool: (marker) => ({ name: "run_shell_command", arguments: { command: `echo ${marker}`, is_background: false } }),
		// The name of a model that takes images.
		prepare: ({ url }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "x", OPENAI_MODEL: "qwen3-vl-plus" }),
		turn: (text, id) => [...(id ? ["--resume", id] : []), "--auth-type", "openai", "--yolo", "-p", text],
	},
	opencode: {
		program: "opencode-linux-x64/bin/opencode",
		tool: (marker) => ({ name: "bash", arguments: { command: `echo ${marker}`, description: "Says it" } }),
		prepare({ home, url }) {
			const options = { baseURL: `${url}/v1`, apiKey: "x" };
			const fake = { name: "Fake", attachment: true, modalities: { input: ["text", "image"], output: ["text"] } };
			const provider = { npm: "@ai-sdk/openai-compatible", name: "Fake", options, models: { fake } };
			mkdirSync(join(home, ".config/opencode"), { recursive: true });
			const config = { provider: { fake: provider }, model: "fake/fake", small_model: "fake/fake", autoupdate: false, share: "disabled" };
			writeFileSync(join(home, ".config/opencode/opencode.json"), JSON.stringify(config));
			return { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1" };
		},
		turn: (text, id) => ["run", ...(id ? ["-s", id] : []), "-m", "fake/fake", text],
	},
	pi: {
		script: "pi/dist/bundle/cli.js",
		tool: (marker) => ({ name: "bash", arguments: { command: `echo ${marker}` } }),
		prepare({ home, url }) {
			const agent = join(home, ".pi/agent");
			mkdirSync(agent, { recursive: true });
			const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
			const model = { id: "fake", name: "Fake", reasoning: false, input: ["text", "image"], contextWindow: 200000, maxTokens: 8192, cost };
			const fake = { baseUrl: `${url}/v1`, apiKey: "x", api: "openai-completions", models: [model] };
			writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { fake } }));
			const settings = { enableInstallTelemetry: false, defaultProjectTrust: "always", defaultProvider: "fake", defaultModel: "fake" };
			writeFileSync(join(agent, "settings.json"), JSON.stringify(settings));
			return { PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" };
		},
		turn: (text, file) => [...(file ? ["--session", file] : []), "--print", text],
	},
	claude: {
		program: "@anthropic-ai/claude-code-linux-x64/claude",
		tool: (marker) => ({ name: "Bash", arguments: { command: `echo ${marker}` } }),
		prepare: ({ home, url }) => ({
			ANTHROPIC_BASE_URL: url,
			ANTHROPIC_API_KEY: "x",
			CLAUDE_CONFIG_DIR: join(home, ".claude"),
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
		}),
		turn: (text, id) => ["-p", ...(id ? ["--resume", id] : []), "--allowedTools", "Bash", "--", text],
	},
};

/** The environment of an agent: nothing of the user's but the search path. */
export function environment(agent, place) {
	const own = AGENTS[agent].prepare(place);
	return { PATH: process.env.PATH, HOME: place.home, TMPDIR: place.temporary, TERM: "dumb", CI: "1", NO_COLOR: "1", ...own };
}

/** Runs a program to its end. Returns its exit code and output. */
export function run(program, args, { cwd, env }) {
	return new Promise((resolve) => {
		const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
		let output = "";
		let errors = "";
		child.stdout.on("data", (chunk) => (output += chunk));
		child.stderr.on("data", (chunk) => (errors += chunk));
		const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
		child.on("error", (error) => resolve({ code: -1, output, errors: String(error) }));
		child.on("close", (code) => {
			clearTimeout(timer);
			resolve({ code, output, errors });
		});
	});
}
