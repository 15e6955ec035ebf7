// Pi's own functions for compaction and branch summaries, for the driver. Pi's bundle does not export most of them, so
// they are loaded from the modules beside it. Those modules import packages that are not installed here; the functions
// they need are in the bundle's chunks, under the same names.

import { readdirSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const dist = join(process.env.SESSILE_ORACLE_DIR, "pi/dist");

/** Maps each exported name to the chunk of the bundle that exports it. */
async function bundledNames() {
  const found = new Map();
  const chunks = join(dist, "bundle/chunks");
  for (const file of readdirSync(chunks).filter((name) => name.startsWith("chunk-"))) {
    const url = pathToFileURL(join(chunks, file)).href;
    for (const name of Object.keys(await import(url))) if (!found.has(name)) found.set(name, url);
  }
  return found;
}

/** Returns the names that a module imports from a package. */
function namesFrom(module, specifier) {
  const names = [];
  const imports = /import\s*(?:[\w$]+\s*,?\s*)?(?:\{([^}]*)\})?\s*from\s*["']([^"']+)["']/g;
  for (const [, list, from] of readFileSync(module, "utf8").matchAll(imports)) {
    if (from === specifier) names.push(...(list ?? "").split(",").map((name) => name.trim().split(/\s+as\s+/)[0]));
  }
  return names.filter(Boolean);
}

const bundled = await bundledNames();
registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!context.parentURL?.startsWith("file:") || /^[./]/.test(specifier)) throw error;
      const give = (name) =>
        bundled.has(name)
          ? `export { ${name} } from ${JSON.stringify(bundled.get(name))};`
          : `export const ${name} = () => { throw new Error("${name} is not installed"); };`;
      const names = namesFrom(fileURLToPath(context.parentURL), specifier);
      const source = `${names.map(give).join("\n")}\nexport default {};`;
      return { url: `data:text/javascript,${encodeURIComponent(source)}`, shortCircuit: true };
    }
  },
});
const own = await import(pathToFileURL(join(dist, "core/compaction/index.js")).href);
const pi = await import(pathToFileURL(join(dist, "bundle/index.js")).href);

// ---------------------------------------------------------------------------------------------------------- queries

const sorted = (set) => [...set].sort();
const files = ({ read, written, edited }) => [sorted(read), sorted(written), sorted(edited)];
const said = (messages) => own.serializeConversation(pi.convertToLlm(messages));

function fileFields(fileOps) {
  const { readFiles, modifiedFiles } = own.computeFileLists(fileOps);
  return { files: files(fileOps), readFiles, modifiedFiles, section: own.formatFileOperations(readFiles, modifiedFiles) };
}

function prepared(path, keepRecentTokens) {
  const found = own.prepareCompaction(path, { enabled: true, reserveTokens: 16384, keepRecentTokens });
  if (!found) return null;
  return {
    firstKeptEntryId: found.firstKeptEntryId,
    isSplitTurn: found.isSplitTurn,
    tokensBefore: found.tokensBefore,
    previousSummary: found.previousSummary,
    history: found.messagesToSummarize,
    turnPrefix: found.turnPrefixMessages,
    historyText: said(found.messagesToSummarize),
    turnPrefixText: said(found.turnPrefixMessages),
    ...fileFields(found.fileOps),
  };
}

function preparedBranch(entries, budget) {
  const found = own.prepareBranchEntries(entries, budget);
  return { messages: found.messages, text: said(found.messages), tokens: found.totalTokens, ...fileFields(found.fileOps) };
}

/** Runs all queries on a list of entries. Returns each result as JSON text, or the error that was thrown. */
export function answers({ entries, leaf, target, keeps, budgets, window }) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const pathOf = (id) => {
    const path = [];
    for (let entry = byId.get(id); entry; entry = byId.get(entry.parentId)) path.unshift(entry);
    return path;
  };
  const path = pathOf(leaf);
  const tree = { getBranch: (id) => pathOf(id ?? leaf), getEntry: (id) => byId.get(id) };
  const projection = pi.buildSessionProjection(entries, leaf);
  const messages = projection.entries.flatMap((entry) => entry.messages);
  const asked = {
    tokens: () => messages.map((message) => own.estimateTokens(message)),
    context: () => own.estimateContextTokens(messages),
    projected: () => own.estimateProjectedContextTokens(projection, path),
    should: () => own.shouldCompact(own.estimateContextTokens(messages).tokens, window, own.DEFAULT_COMPACTION_SETTINGS),
    left: () => {
      const { entries: left, commonAncestorId } = own.collectEntriesForBranchSummary(tree, leaf, target);
      return [left.map((entry) => entry.id), commonAncestorId];
    },
  };
  for (const keep of keeps) {
    asked[`cut ${keep}`] = () => own.findCutPoint(path, 0, path.length, keep);
    asked[`prepare ${keep}`] = () => prepared(path, keep);
  }
  for (const budget of budgets) {
    asked[`branch ${budget}`] = () =>
      preparedBranch(own.collectEntriesForBranchSummary(tree, leaf, target).entries, budget);
  }
  const told = {};
  for (const [name, ask] of Object.entries(asked)) {
    try {
      told[name] = JSON.stringify(ask());
    } catch (error) {
      told[name] = { throws: String(error) };
    }
  }
  return told;
}
