"use strict";
// pi's functions over arrays of entries. They never copy an entry: what comes out is what went in.

const { randomUUID } = require("node:crypto");

const CURRENT_SESSION_VERSION = 3;

/** Throws unless this is an id that a session may have. */
function assertValidSessionId(id) {
  if (/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(id)) return;
  throw new Error(
    "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an alphanumeric character",
  );
}

/** A short id that is not taken. */
function freshId(isTaken) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const id = randomUUID().slice(0, 8);
    if (!isTaken(id)) return id;
  }
  return randomUUID();
}

const isEntry = (value) => typeof value === "object" && value !== null;

/** Version 1 to 2: a chain of ids, in place. */
function linkEntries(entries) {
  const taken = new Set();
  let parentId = null;
  for (const entry of entries) {
    if (!isEntry(entry)) continue;
    if (entry.type === "session") {
      entry.version = 2;
      continue;
    }
    entry.id = freshId((id) => taken.has(id));
    taken.add(entry.id);
    entry.parentId = parentId;
    parentId = entry.id;
    if (entry.type === "compaction" && typeof entry.firstKeptEntryIndex === "number") {
      const kept = entries[entry.firstKeptEntryIndex];
      if (kept && kept.type !== "session") entry.firstKeptEntryId = kept.id;
      delete entry.firstKeptEntryIndex;
    }
  }
}

/** Version 2 to 3: another name of a role, in place. */
function renameRoles(entries) {
  for (const entry of entries) {
    if (!isEntry(entry)) continue;
    if (entry.type === "session") entry.version = 3;
    else if (entry.type === "message" && entry.message?.role === "hookMessage") entry.message.role = "custom";
  }
}

/** Brings entries to the current version, in place. */
function migrateSessionEntries(entries) {
  const version = entries.find((entry) => entry?.type === "session")?.version ?? 1;
  if (version < 2) linkEntries(entries);
  if (version < 3) renameRoles(entries);
}

/** The values of a text of lines, without those that are not JSON. */
function parseSessionEntries(content) {
  const entries = [];
  for (const line of content.trim().split("\n")) {
    if (!line.trim()) continue;
    try {
      entries.push(JSON.parse(line));
    } catch {
      // As in pi, a line that is not JSON does not count.
    }
  }
  return entries;
}

/** The last compaction of an array; null if there is none. */
function getLatestCompactionEntry(entries) {
  return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

/** The messages that one entry contributes, before edits. */
function sessionEntryToContextMessages(entry) {
  switch (entry.type) {
    case "message": {
      const { message } = entry;
      return message === undefined || message === null ? [] : [withContent(message)];
    }
    case "custom_message": {
      const { customType, content, display, details } = entry;
      return [{ role: "custom", customType, content: content ?? [], display, details, timestamp: timeOf(entry) }];
    }
    case "branch_summary": {
      const { summary, fromId } = entry;
      return summary ? [{ role: "branchSummary", summary, fromId, timestamp: timeOf(entry) }] : [];
    }
    case "compaction": {
      const { summary, tokensBefore, systemMessage } = entry;
      const message = { role: "compactionSummary", summary, tokensBefore, timestamp: timeOf(entry) };
      return systemMessage ? [systemMessage, message] : [message];
    }
    default:
      return [];
  }
}

/** A message as it is in the context: one without content gets an empty one. */
function withContent(message) {
  if (message.content !== undefined && message.content !== null) return message;
  if (message.role === "system") return { ...message, content: "" };
  const { role } = message;
  return role === "user" || role === "assistant" || role === "toolResult" ? { ...message, content: [] } : message;
}

const timeOf = (entry) => new Date(entry.timestamp).getTime();

/** The messages of one entry with an edit applied. */
function projectContextEntry(entry, edit) {
  const messages = sessionEntryToContextMessages(entry);
  const replacement = edit?.replacement;
  if (replacement === undefined) return messages;
  if (replacement === null) return [];
  if (replacement.content === undefined) return messages;
  return messages.map((message) => {
    switch (message.role) {
      case "user":
      case "custom":
        return { ...message, content: replacement.content };
      case "assistant":
      case "toolResult":
        return { ...message, content: asBlocks(replacement.content) };
      default:
        return message;
    }
  });
}

const asBlocks = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : content);

/** The entries from the root to a leaf: null means before all entries, and undefined the last one. */
function sessionPath(entries, leafId, byId) {
  if (leafId === null) return [];
  const last = entries[entries.length - 1];
  if (!byId && (!leafId || last?.id === leafId)) {
    const chain = chainTo(entries);
    if (chain) return chain;
  }
  const index = byId ?? new Map(entries.map((entry) => [entry.id, entry]));
  const path = [];
  let current = (leafId ? index.get(leafId) : undefined) ?? last;
  // A loop of parents ends here, and would never end in pi.
  while (current && path.length <= index.size) {
    path.push(current);
    current = current.parentId ? index.get(current.parentId) : undefined;
  }
  return path.reverse();
}

/** The entries themselves if each one follows its parent, as on a branch; else undefined. */
function chainTo(entries) {
  let parentId = null;
  for (const entry of entries) {
    if (entry?.parentId !== parentId || typeof entry.id !== "string") return undefined;
    parentId = entry.id;
  }
  return entries.slice();
}

/** The entries of a path that take part in the context. */
function selectContext(path) {
  const at = path.findLastIndex((entry) => entry.type === "compaction");
  if (at < 0) return path;
  const compaction = path[at];
  const first = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const keeps = (entry) => !(entry.type === "message" && entry.message?.role === "system");
  const kept = first >= 0 && first < at ? path.slice(first, at).filter(keeps) : [];
  return [compaction, ...kept, ...path.slice(at + 1)];
}

function buildContextEntries(entries, leafId, byId) {
  return selectContext(sessionPath(entries, leafId, byId));
}

/** The context's entries, each with its messages, and all messages. */
function projectEntries(contextEntries) {
  let edits;
  for (const entry of contextEntries) {
    if (entry.type === "context_edit") (edits ??= new Map()).set(entry.targetId, entry);
  }
  const messages = [];
  const entries = contextEntries.map((sourceEntry, index) => {
    // Only the newest compaction, which comes first, contributes.
    const isPast = index > 0 && sourceEntry.type === "compaction";
    const own = isPast ? [] : projectContextEntry(sourceEntry, edits?.get(sourceEntry.id));
    for (const message of own) messages.push(message);
    return { sourceEntry, messages: own };
  });
  return { entries, messages };
}

/** The thinking level and the model that two entries set. */
function settingsOf(levelEntry, modelEntry) {
  let model = null;
  if (modelEntry?.type === "model_change") model = { provider: modelEntry.provider, modelId: modelEntry.modelId };
  else if (modelEntry) model = { provider: modelEntry.message.provider, modelId: modelEntry.message.model };
  return { thinkingLevel: levelEntry ? levelEntry.thinkingLevel : "off", model };
}

const setsModel = (entry) =>
  entry.type === "model_change" || (entry.type === "message" && entry.message?.role === "assistant");

function buildSessionProjection(entries, leafId, byId) {
  const path = sessionPath(entries, leafId, byId);
  const level = path.findLast((entry) => entry.type === "thinking_level_change");
  const settings = settingsOf(level, path.findLast(setsModel));
  return { ...projectEntries(selectContext(path)), ...settings };
}

function buildSessionContext(entries, leafId, byId) {
  const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId, byId);
  return { messages, thinkingLevel, model };
}

/** The name in an entry that names the session. */
function nameIn(entry) {
  return typeof entry?.name === "string" ? entry.name.trim() || undefined : undefined;
}

/** The labels of a session and their times, by entry. */
class Labels {
  labels = new Map();
  times = new Map();

  constructor(entries) {
    for (const entry of entries) this.take(entry);
  }

  /** Adds a label entry. An entry without a label removes one. */
  take(entry) {
    if (entry.label) {
      this.labels.set(entry.targetId, entry.label);
      this.times.set(entry.targetId, entry.timestamp);
    } else {
      this.labels.delete(entry.targetId);
      this.times.delete(entry.targetId);
    }
  }
}

module.exports = {
  CURRENT_SESSION_VERSION,
  Labels,
  asBlocks,
  assertValidSessionId,
  buildContextEntries,
  buildSessionContext,
  buildSessionProjection,
  freshId,
  getLatestCompactionEntry,
  migrateSessionEntries,
  nameIn,
  parseSessionEntries,
  projectContextEntry,
  projectEntries,
  sessionEntryToContextMessages,
  sessionPath,
  setsModel,
  settingsOf,
  withContent,
};
