// Generated from the catalogue of commands by `cargo xtask docs`. Do not edit.

/** An entry of a session file. */
export type Entry = AnyEntry | MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry | CompactionEntry | BranchSummaryEntry | LabelEntry | SessionInfoEntry | CustomEntry | CustomMessageEntry | ContextEditEntry | UsageEntry;

/** An entry of any type, with any further members. */
export type AnyEntry = {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  [key: string]: unknown;
};

/** A message. */
export type MessageEntry = {
  type: "message";
  id: string;
  parentId: string | null;
  timestamp: string;
  message: Message;
};

/** The model has changed. */
export type ModelChangeEntry = {
  type: "model_change";
  id: string;
  parentId: string | null;
  timestamp: string;
  provider: string;
  modelId: string;
};

/** The thinking level has changed. */
export type ThinkingLevelChangeEntry = {
  type: "thinking_level_change";
  id: string;
  parentId: string | null;
  timestamp: string;
  thinkingLevel: string;
};

/** From here on, a summary replaces everything before the first kept entry. */
export type CompactionEntry = {
  type: "compaction";
  id: string;
  parentId: string | null;
  timestamp: string;
  summary: string;
  /** its own id if no earlier entry is kept */
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
};

/** A summary of an abandoned branch. */
export type BranchSummaryEntry = {
  type: "branch_summary";
  id: string;
  parentId: string | null;
  timestamp: string;
  /** the leaf before the move, or root */
  fromId: string;
  summary: string;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
};

/** An entry was labelled, or its label was removed. */
export type LabelEntry = {
  type: "label";
  id: string;
  parentId: string | null;
  timestamp: string;
  targetId: string;
  label?: string;
};

/** The session was named. */
export type SessionInfoEntry = {
  type: "session_info";
  id: string;
  parentId: string | null;
  timestamp: string;
  name: string;
};

/** A program's own data. */
export type CustomEntry = {
  type: "custom";
  id: string;
  parentId: string | null;
  timestamp: string;
  customType: string;
  data?: unknown;
};

/** A client program's message, which the model sees. */
export type CustomMessageEntry = {
  type: "custom_message";
  id: string;
  parentId: string | null;
  timestamp: string;
  customType: string;
  content: string | (TextBlock | ImageBlock)[];
  display: boolean;
  details?: unknown;
};

/** A change of what the model sees of an entry. */
export type ContextEditEntry = {
  type: "context_edit";
  id: string;
  parentId: string | null;
  timestamp: string;
  targetId: string;
  /** null removes the target from the context */
  replacement: null | { content: string | unknown[] };
};

/** A cost that belongs to no message. */
export type UsageEntry = {
  type: "usage";
  id: string;
  parentId: string | null;
  timestamp: string;
  kind: string;
  provider: string;
  model: string;
  usage: Usage;
  note?: string;
};

/** A message. */
export type Message = AnyMessage | UserMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage;

/** A message of any role, with any further members. */
export type AnyMessage = {
  role: string;
  [key: string]: unknown;
};

/** A message of the user. */
export type UserMessage = {
  role: "user";
  content: string | (TextBlock | ImageBlock)[];
  /** milliseconds since 1970 */
  timestamp: number;
};

/** A model's answer, with its tool calls. */
export type AssistantMessage = {
  role: "assistant";
  content: (TextBlock | ThinkingBlock | ToolCallBlock)[];
  /** the API of the model, e.g. anthropic-messages */
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  errorMessage?: string;
  /** milliseconds since 1970 */
  timestamp: number;
};

/** The result of a tool call. */
export type ToolResultMessage = {
  role: "toolResult";
  /** the id of the ToolCallBlock */
  toolCallId: string;
  toolName: string;
  content: (TextBlock | ImageBlock)[];
  details?: unknown;
  isError: boolean;
  /** milliseconds since 1970 */
  timestamp: number;
};

/** A command that the user ran. */
export type BashExecutionMessage = {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode?: number;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
  /** milliseconds since 1970 */
  timestamp: number;
  /** the model does not see it */
  excludeFromContext?: boolean;
};

/** Text in a message. */
export type TextBlock = {
  type: "text";
  text: string;
};

/** An image in a message. */
export type ImageBlock = {
  type: "image";
  /** Base64-encoded */
  data: string;
  mimeType: string;
};

/** The thinking of a model. */
export type ThinkingBlock = {
  type: "thinking";
  thinking: string;
};

/** A tool call of a model. */
export type ToolCallBlock = {
  type: "toolCall";
  id: string;
  name: string;
  arguments: { [key: string]: unknown };
};

/** The tokens of an answer, and their cost. */
export type Usage = {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  /** in dollars */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
};

/** The first line of a session file. */
export type Header = {
  type: "session";
  version?: number;
  id: string;
  timestamp?: string;
  cwd?: string;
  parentSession?: string;
  [key: string]: unknown;
};

/** An entry with all its descendants. */
export type TreeNode = {
  entry: Entry;
  children: TreeNode[];
  label?: string;
  labelTimestamp?: string;
};

/** An overview of a session. */
export type State = {
  model?: Model;
  thinkingLevel: string;
  isStreaming: boolean;
  isCompacting: boolean;
  steeringMode: string;
  followUpMode: string;
  sessionFile?: string;
  sessionId: string;
  sessionName?: string;
  autoCompactionEnabled: boolean;
  messageCount: number;
  pendingMessageCount: number;
};

/** The model of a session, with what pi's files say about it. */
export type Model = {
  id: string;
  /** the id if nothing else is known */
  name: string;
  /** the API of the model, e.g. anthropic-messages */
  api?: string;
  provider: string;
  baseUrl?: string;
  /** whether it can think */
  reasoning?: boolean;
  /** null for a thinking level that it does not have */
  thinkingLevelMap?: unknown;
  /** text, image */
  input?: string[];
  inputLimits?: unknown;
  /** in dollars per million tokens */
  cost?: { input: number; output: number; cacheRead: number; cacheWrite: number };
  promptCache?: unknown;
  /** in tokens */
  contextWindow?: number;
  /** of an answer */
  maxTokens?: number;
};

/** The written entry, the new leaf, and how durable the entry is. */
export type Written = {
  entryId: string;
  leafId: string | null;
  durable: "memory" | "page-cache" | "disk" | "server";
};

/** Message counts, tokens and cost of a session, over all branches. */
export type SessionStats = {
  sessionFile?: string;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  cost: number;
  contextUsage?: { tokens: number | null; contextWindow: number; percent: number | null };
};

/** A compaction that was written. */
export type CompactionResult = {
  summary: string;
  firstKeptEntryId?: string;
  tokensBefore: number;
  estimatedTokensAfter?: number;
  usage?: unknown;
  details?: unknown;
};

/** The entries that a compaction would summarise and keep. */
export type Preparation = {
  firstKeptEntryId: string;
  messagesToSummarize: Message[];
  turnPrefixMessages: Message[];
  isSplitTurn: boolean;
  tokensBefore: number;
  previousSummary?: string;
  fileOps: { read: string[]; written: string[]; edited: string[] };
  settings: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
};

/** A move in the tree: its target and the abandoned entries. */
export type TreePreparation = {
  targetId: string;
  oldLeafId: string | null;
  commonAncestorId: string | null;
  entriesToSummarize: Entry[];
  userWantsSummary: boolean;
  customInstructions?: string;
  replaceInstructions?: boolean;
  label?: string;
};

/** A session in a list. */
export type SessionRow = {
  path: string;
  id: string;
  cwd: string;
  name?: string;
  parentSessionPath?: string;
  created: string | null;
  modified: string;
  messageCount: number;
  firstMessage: string;
  /** true if it is archived, absent otherwise */
  archived?: boolean;
  /** the file of the same session that this file is a copy of */
  copyOf?: string;
  /** true if it is a redacted copy of a session, absent otherwise */
  redacted?: boolean;
  /** the agent that it was imported from */
  importedFrom?: string;
  /** the member of a team's store that owns it, absent for your own */
  member?: string;
  /** the project of a team's store that it is in */
  project?: string;
  /** host and path of its repository, if a team's store is in use */
  repository?: string;
};

/** Restricts the entries that a search returns. */
export type SearchFilters = {
  /** e.g. user, assistant, tool; the error for an unknown role lists all */
  role?: string | string[];
  tool?: string;
  model?: string;
  /** a date, or milliseconds since 1970 */
  since?: string | number;
  /** a date, or milliseconds since 1970 */
  until?: string | number;
  cwd?: string;
};

/** How far a search looked at the sessions of other members. */
export type TeamReach = {
  /** whether all sessions of other members were searched */
  complete: boolean;
  /** the number of sessions of which lines were fetched for the search */
  fetched: number;
  /** how far back those that are not on this machine were searched */
  until?: string;
};

/** A search result. */
export type SearchHit = {
  sessionPath: string;
  entryId?: string;
  role?: string;
  score: number;
  excerpt: string;
  /** the matches in the excerpt, in UTF-16 units */
  ranges: number[][];
  /** the type of the entry */
  type?: string;
  timestamp?: string;
  /** byte offset of its line in the file; absent if the session is not on this machine */
  offset?: number;
  /** the member of the team's store that has written it */
  author?: string;
  /** the device of that member */
  authorDevice?: string;
};

/** A session in a family of forks. */
export type FamilyNode = {
  sessionPath?: string;
  id?: string;
  /** the path of the session that it was forked from */
  parent?: string;
  depth: number;
  missing?: boolean;
  sharedEntries?: number;
};

/** A problem in a session file. */
export type Finding = {
  code: string;
  severity: string;
  line: number;
  offset: number;
  message: string;
  consequence: string;
  repair: string;
};

/** What a scan for secrets found. */
export type ScanReport = {
  /** the number of scanned files */
  sessions: number;
  findings: SecretFinding[];
  counts: { certain: number; likely: number; rules: { [key: string]: unknown } };
  bytes: number;
  seconds: number;
  rulesVersion: number;
};

/** A secret in a session, without its value. */
export type SecretFinding = {
  sessionPath: string;
  line: number;
  entryId?: string;
  type?: string;
  role?: string;
  /** JSON pointer of the string; after # the pointer in a signature */
  pointer: string;
  rule: string;
  /** 1: certain, 2: likely */
  tier: number;
  /** the encoding */
  via?: string;
  placeholder: string;
  /** public prefix and the length of the rest */
  masked: string;
  occurrences: number;
  /** in an id or a word of the format, so the session cannot be copied */
  kept?: boolean;
};

/** A copy of a session without secrets. */
export type RedactedCopy = {
  path?: string;
  sessionId: string;
  level: string;
  size: number;
  findings: number;
  /** the number of findings by rule */
  rules: { [key: string]: unknown };
  lines: number;
  changedLines: number;
  names: number;
  removedThoughts: number;
  removedSignatures: number;
  replacedPictures: number;
  /** files with whole outputs, not part of the copy */
  fullOutputs?: string[];
  warnings?: string[];
};

export interface Commands {
  /** Returns an overview of the session */
  get_state: { parameters: { sessionPath?: string }; data: State };
  /** Returns the messages that a model would see (the context) */
  get_messages: { parameters: { sessionPath?: string }; data: { messages: Message[] } };
  /** Returns the entries of all branches, in file order */
  get_entries: { parameters: { since?: string; sessionPath?: string }; data: { entries: Entry[]; leafId: string | null } };
  /** Returns the whole tree */
  get_tree: { parameters: { sessionPath?: string }; data: { tree: TreeNode[]; leafId: string | null } };
  /** Returns message counts, tokens and cost of the session */
  get_session_stats: { parameters: { sessionPath?: string }; data: SessionStats };
  /** Returns the user messages at which the session can be forked */
  get_fork_messages: { parameters: { sessionPath?: string }; data: { messages: { entryId: string; text: string }[] } };
  /** Returns the text of the last answer */
  get_last_assistant_text: { parameters: { sessionPath?: string }; data: { text?: string } };
  /** Names the session */
  set_session_name: { parameters: { name: string; sessionPath?: string; expectedLeaf?: string | null }; data: void };
  /** Creates a session and switches to it */
  new_session: { parameters: { parentSession?: string; cwd?: string }; data: { cancelled: boolean } };
  /** Switches to another session */
  switch_session: { parameters: { sessionPath: string }; data: { cancelled: boolean } };
  /** Copies the entries before a user message into a new session and switches to it */
  fork: { parameters: { entryId: string; sessionPath?: string }; data: { text?: string; cancelled: boolean; newSessionPath?: string } };
  /** Copies the path to the leaf into a new session and switches to it */
  clone: { parameters: { sessionPath?: string }; data: { cancelled: boolean; newSessionPath?: string } };
  /** Replaces older messages in the context by a summary */
  compact: { parameters: { customInstructions?: string; sessionPath?: string; expectedLeaf?: string | null }; data: CompactionResult };
  /** Turns automatic compaction on or off */
  set_auto_compaction: { parameters: { enabled: boolean }; data: void };
  /** Cancels running compactions and summaries, and waits until they have ended */
  abort: { parameters: { sessionPath?: string }; data: void };
  /** Records the model in use */
  set_model: { parameters: { provider: string; modelId: string; sessionPath?: string; expectedLeaf?: string | null }; data: Model };
  /** Returns the model of the session, else that of the latest one: Sessile has no list of models */
  get_available_models: { parameters: { sessionPath?: string }; data: { models: Model[] } };
  /** Returns null, as pi does if there is no other model */
  cycle_model: { parameters: { sessionPath?: string }; data: null };
  /** Records the thinking level */
  set_thinking_level: { parameters: { level: string; sessionPath?: string; expectedLeaf?: string | null }; data: void };
  /** Returns the thinking levels of the model; all levels if nothing is known about it */
  get_available_thinking_levels: { parameters: { sessionPath?: string }; data: { levels: string[] } };
  /** Records the next thinking level of the model; null if it is not known to think */
  cycle_thinking_level: { parameters: { sessionPath?: string; expectedLeaf?: string | null }; data: null | { level: string } };
  /** Sets the mode of the steering queue, which get_state returns */
  set_steering_mode: { parameters: { mode: "all" | "one-at-a-time" }; data: void };
  /** Sets the mode of the follow-up queue, which get_state returns */
  set_follow_up_mode: { parameters: { mode: "all" | "one-at-a-time" }; data: void };
  /** Empties the queues, which are always empty without an agent */
  clear_queue: { parameters: {}; data: { steering: string[]; followUp: string[] } };
  /** Accepted without effect: there is nothing to retry */
  set_auto_retry: { parameters: { enabled: boolean }; data: void };
  /** Accepted without effect: there is nothing to stop */
  abort_retry: { parameters: {}; data: void };
  /** Accepted without effect: there is nothing to stop */
  abort_bash: { parameters: {}; data: void };
  /** Returns the commands of extensions: always an empty list */
  get_commands: { parameters: {}; data: { commands: unknown[] } };
  /** Writes the session as a web page, or in another format */
  export_html: { parameters: { outputPath?: string | null; format?: "html" | "md" | "jsonl" | "json"; sessionPath?: string }; data: { path: string } };
  /** Appends a message of any role */
  append_message: { parameters: { message: Message; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Appends a change of the thinking level */
  append_thinking_level_change: { parameters: { thinkingLevel: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Appends a change of the model */
  append_model_change: { parameters: { provider: string; modelId: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Appends a cost that belongs to no message */
  append_usage: { parameters: { kind: string; provider: string; model: string; usage: unknown; note?: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Appends a compaction that the client has created */
  append_compaction: { parameters: { summary: string; firstKeptEntryId: string | null; tokensBefore: number; details?: unknown; fromHook?: boolean; usage?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Appends a program's own data, which the model never sees */
  append_custom_entry: { parameters: { customType: string; data?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Appends a client program's message, which the model sees */
  append_custom_message_entry: { parameters: { customType: string; content: string | unknown[]; display: boolean; details?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Names the session; an empty name removes the name */
  append_session_info: { parameters: { name: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Labels an entry; without a label, removes its label */
  append_label_change: { parameters: { targetId: string; label?: string | null; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Changes what the model sees of an entry */
  append_context_edit: { parameters: { targetId: string; replacement: null | { content: string | unknown[] }; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Moves to an entry and appends a summary of the abandoned branch */
  branch_with_summary: { parameters: { entryId: string | null; summary: string; details?: unknown; fromHook?: boolean; usage?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Labels an entry, like append_label_change */
  set_label: { parameters: { entryId: string; label?: string | null; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Names a session, like append_session_info */
  rename_session: { parameters: { sessionPath: string; name: string; expectedLeaf?: string | null }; data: Written };
  /** Archives or unarchives a session or one of its branches */
  archive_session: { parameters: { entryId?: string; archived?: boolean; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Moves to an entry: the next append becomes its child */
  branch: { parameters: { entryId: string; sessionPath?: string }; data: { leafId: string | null } };
  /** Moves to the position before the first entry */
  reset_leaf: { parameters: { sessionPath?: string }; data: { leafId: string | null } };
  /** Moves to the last entry of the file */
  follow_leaf: { parameters: { sessionPath?: string }; data: { leafId: string | null } };
  /** Moves to an entry, or before a user message, with or without a summary of the abandoned branch */
  navigate_tree: { parameters: { entryId: string; summarize?: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string; sessionPath?: string; expectedLeaf?: string | null }; data: { cancelled: boolean; editorText?: string; summaryEntry?: Entry; leafId: string | null } };
  /** Copies the path to an entry into a new session and switches to it */
  create_branched_session: { parameters: { entryId: string; sessionPath?: string }; data: { sessionPath?: string; sessionId: string; leafId: string | null } };
  /** Returns the entries from the root to an entry, or to the leaf */
  get_branch: { parameters: { entryId?: string; sessionPath?: string }; data: { entries: Entry[] } };
  /** Returns the children of an entry; null for the roots */
  get_children: { parameters: { parentId: string | null; sessionPath?: string }; data: { entries: Entry[] } };
  /** Returns one entry */
  get_entry: { parameters: { entryId: string; sessionPath?: string }; data: { entry?: Entry } };
  /** Returns the label of an entry */
  get_label: { parameters: { entryId: string; sessionPath?: string }; data: { label?: string } };
  /** Returns the header of the session */
  get_header: { parameters: { sessionPath?: string }; data: { header: Header } };
  /** Returns what a model would see at an entry, or at the leaf */
  build_session_context: { parameters: { leafId?: string | null; sessionPath?: string }; data: { messages: Message[]; thinkingLevel?: unknown; model: null | unknown } };
  /** Returns the entries that make up the context */
  build_context_entries: { parameters: { leafId?: string | null; sessionPath?: string }; data: { entries: Entry[] } };
  /** Returns which entries a compaction would summarise and keep, or nothing if the session is too short; writes nothing */
  prepare_compaction: { parameters: { keepRecentTokens?: number; sessionPath?: string }; data: { preparation?: Preparation } };
  /** Lists the sessions of a directory, a repository or all, newest first */
  list_sessions: { parameters: { scope?: "cwd" | "repo" | "all"; cwd?: string; limit?: number; named?: boolean; children?: boolean | "shown" | "hidden" | "only"; archived?: boolean | "shown" | "hidden" | "only"; member?: string; project?: string; repository?: string }; data: { sessions: SessionRow[] } };
  /** Searches messages, tool calls, names and labels */
  search: { parameters: { query: string; scope?: "session" | "cwd" | "repo" | "all"; limit?: number; filters?: SearchFilters; archived?: boolean | "shown" | "hidden" | "only"; cwd?: string; sessionPath?: string; member?: string; project?: string; repository?: string }; data: { hits: SearchHit[]; team?: TeamReach } };
  /** Returns the sessions that a session was forked from, and its own forks */
  family: { parameters: { sessionPath?: string }; data: { root: string; nodes: FamilyNode[] } };
  /** Moves a session to the trash */
  delete_session: { parameters: { sessionPath: string; force?: boolean }; data: { trashed: string | boolean } };
  /** Restores a session from the trash */
  restore_session: { parameters: { sessionPath: string }; data: { sessionPath: string } };
  /** Checks a session for damage */
  verify: { parameters: { sessionPath?: string }; data: { findings: Finding[] } };
  /** Finds secrets in a session or in many, and never returns a value */
  scan_secrets: { parameters: { scope?: "session" | "cwd" | "repo" | "all"; cwd?: string; certain?: boolean; sessionPath?: string }; data: ScanReport };
  /** Writes a copy of a session without secrets */
  export_redacted: { parameters: { level?: "secrets" | "paths" | "pii" | "outputs" | "skeleton"; outputPath: string; also?: string[]; stable?: boolean; sessionPath?: string }; data: RedactedCopy };
  /** Subscribes to events, from now on or since a cursor */
  subscribe: { parameters: { events?: ("session_start" | "session_before_switch" | "session_before_fork" | "session_fork" | "session_before_tree" | "session_tree" | "session_before_compact" | "session_compact" | "session_compact_failed" | "session_info_changed" | "session_shutdown" | "entry_appended" | "leaf_moved" | "divergence" | "recovered" | "session_deleted" | "file_changed" | "file_gone" | "written_unlocked" | "written_unguarded")[]; cursor?: string; scope?: "session" | "store"; sessionPath?: string }; data: { subscription: string; cursor: string } };
  /** Ends a subscription */
  unsubscribe: { parameters: { subscription: string }; data: { [key: string]: unknown } };
  /** Registers the client as a hook: the server asks it before these events */
  hook_register: { parameters: { events: ("session_before_switch" | "session_before_fork" | "session_before_tree" | "session_before_compact")[]; timeoutMs?: number }; data: { [key: string]: unknown } };
  /** Answers a hook_request */
  hook_response: { parameters: { requestId: string; result?: unknown; error?: string }; data: { [key: string]: unknown } };
}

export type Command = keyof Commands;

export type ErrorCode = "NOT_FOUND" | "INVALID_ARGUMENT" | "NOT_SUPPORTED" | "SESSION_BUSY" | "LEAF_MOVED" | "READ_ONLY" | "CANCELLED" | "IO";

export type Request = { [C in Command]: { id?: unknown; type: C } & Commands[C]["parameters"] }[Command];
export type Response =
  | { id?: unknown; type: "response"; command: Command; success: true; data?: unknown }
  | { id?: unknown; type: "response"; command?: unknown; success: false; error: string; code: ErrorCode; leafId?: string | null };

export type StreamEvent =
  /** The name of the session has changed or was removed. */
  | { type: "session_info_changed"; name?: string }
  /** The thinking level has changed. */
  | { type: "thinking_level_changed"; level: string }
  /** A compaction has started. */
  | { type: "compaction_start"; reason: "manual" | "threshold" | "overflow" }
  /** A compaction has ended. */
  | { type: "compaction_end"; reason: "manual" | "threshold" | "overflow"; result?: CompactionResult; aborted: boolean; willRetry: boolean; errorMessage?: string }
  /** A summary failed and will be retried after a delay. */
  | { type: "summarization_retry_scheduled"; attempt: number; maxAttempts: number; delayMs: number; errorMessage: string }
  /** A retry of a summary has started. */
  | { type: "summarization_retry_attempt_start"; source: "compaction" | "branchSummary"; reason?: "manual" | "threshold" | "overflow" }
  /** The retries have ended, with or without a summary. */
  | { type: "summarization_retry_finished" }
  /** The queues have changed. */
  | { type: "queue_update"; steering: string[]; followUp: string[] }
  /** A hook has failed and gave no answer. */
  | { type: "extension_error"; extensionPath: string; event: string; error: string };

export type SessionEvent =
  /** A client has started to work in the session. */
  | { type: "session_start"; reason: "startup" | "reload" | "new" | "resume" | "fork"; previousSessionFile?: string }
  /** A client is about to switch to another session. */
  | { type: "session_before_switch"; reason: "new" | "resume"; targetSessionFile?: string }
  /** A client is about to fork the session. */
  | { type: "session_before_fork"; entryId: string; position: "before" | "at" }
  /** The session was forked from another one. */
  | { type: "session_fork"; previousSessionFile?: string; sessionFile?: string; entryId: string; position: "before" | "at" }
  /** A client is about to move in the tree. */
  | { type: "session_before_tree"; preparation: TreePreparation }
  /** A client has moved in the tree. */
  | { type: "session_tree"; newLeafId: string | null; oldLeafId: string | null; summaryEntry?: Entry; fromExtension?: boolean }
  /** A compaction is about to start. */
  | { type: "session_before_compact"; preparation: Preparation; branchEntries: Entry[]; customInstructions?: string; reason: "manual" | "threshold" | "overflow"; willRetry: boolean }
  /** A compaction has succeeded. */
  | { type: "session_compact"; compactionEntry: Entry; fromExtension: boolean; reason: "manual" | "threshold" | "overflow"; willRetry: boolean }
  /** A compaction has failed. */
  | { type: "session_compact_failed"; reason: "manual" | "threshold" | "overflow"; errorMessage?: string; aborted: boolean; willRetry: boolean; fromExtension: boolean }
  /** The name of the session has changed or was removed. */
  | { type: "session_info_changed"; name?: string }
  /** A client has left the session. */
  | { type: "session_shutdown"; reason: "quit" | "reload" | "new" | "resume" | "fork"; targetSessionFile?: string }
  /** A program has appended an entry; own is true if this server wrote it. */
  | { type: "entry_appended"; sessionPath?: string; entry: Entry; own: boolean }
  /** The leaf has moved, other than by an append to it. */
  | { type: "leaf_moved"; leafId: string | null; previousLeafId: string | null; reason: string }
  /** An entry of this server is a sibling of another program's entry, not its child. */
  | { type: "divergence"; leafId: string; foreignLeafId: string; commonAncestorId: string | null }
  /** The server has restored entries that another program had destroyed. */
  | { type: "recovered"; entryIds: string[]; reason: string }
  /** A session was deleted. */
  | { type: "session_deleted"; sessionPath: string; trashed: boolean }
  /** Another program has truncated, rewritten or replaced the session's file. The server has read it again. */
  | { type: "file_changed"; change: "truncated" | "rewritten" | "replaced" }
  /** The session's file no longer exists. */
  | { type: "file_gone" }
  /** Another process did not release the lock in time, so the server wrote an entry without it. Names the lock holder. */
  | { type: "written_unlocked"; pid?: number; host?: string }
  /** An entry was written, but could not be guarded against rewrites by other programs. */
  | { type: "written_unguarded"; reason: string };

export type SubscriptionEvent = { type: "event"; subscription: string; cursor: string; lost?: number; event: SessionEvent };
export type HookRequest = { type: "hook_request"; requestId: string; sessionPath?: string; event: SessionEvent };
export type HookCancel = { type: "hook_cancel"; requestId: string };

export interface ClientOptions {
  /** The program to start; default: "sessile". */
  program?: string;
  /** Its arguments after "rpc": pi's flags that select a session. */
  args?: string[];
  /** Connect to this Unix socket instead of starting a program. */
  socket?: string;
  cwd?: string;
  env?: Record<string, string | undefined>;
}

/** A command that failed. */
export declare class RpcError extends Error {
  readonly code: ErrorCode;
  readonly command: Command;
  /** With LEAF_MOVED: the actual leaf, to be expected next time. */
  readonly leafId?: string | null;
}

/** The names of all commands. */
export declare const COMMANDS: readonly Command[];

export type HookReply = Record<string, unknown> | null | undefined;

/** A server that listens on a socket. */
export interface SessileServer {
  readonly socket: string;
  /** Resolves to its exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Stops the server and waits until it has ended. */
  stop(): Promise<number | null>;
}

export declare class SessileClient {
  static start(options?: ClientOptions): Promise<SessileClient>;
  /** Starts a server that listens on a socket. Resolves when it accepts clients. */
  static serve(options: ClientOptions & { socket: string }): Promise<SessileServer>;
  /** Resolves when either side has ended the connection: to the exit code of the program, if one was started. */
  readonly ended: Promise<number | null>;
  /** Sends a command and waits for its answer. */
  send<C extends Command>(command: C, parameters?: Commands[C]["parameters"]): Promise<Commands[C]["data"]>;
  /** Registers a listener for the events of pi's stream. Returns a function that removes it. */
  on(listener: (event: StreamEvent) => void): () => void;
  /** Subscribes to events, from now on or since a cursor. */
  listen(
    parameters: Commands["subscribe"]["parameters"],
    listener: (event: SessionEvent, cursor: string, lost: number) => void,
  ): Promise<{ subscription: string; cursor: string; stop(): Promise<void> }>;
  /** Registers a hook, which is asked before events. Resolves to a function that removes it. */
  hook(
    events: Commands["hook_register"]["parameters"]["events"],
    answer: (event: SessionEvent, sessionPath?: string) => HookReply | Promise<HookReply>,
    timeoutMs?: number,
  ): Promise<() => Promise<void>>;
  /** Closes the connection and waits until it has ended. Resolves to the exit code of the program, if one was started. */
  close(): Promise<number | null>;
  /** Returns an overview of the session */
  getState(parameters?: Commands["get_state"]["parameters"]): Promise<Commands["get_state"]["data"]>;
  /** Returns the messages that a model would see (the context) */
  getMessages(parameters?: Commands["get_messages"]["parameters"]): Promise<Commands["get_messages"]["data"]>;
  /** Returns the entries of all branches, in file order */
  getEntries(parameters?: Commands["get_entries"]["parameters"]): Promise<Commands["get_entries"]["data"]>;
  /** Returns the whole tree */
  getTree(parameters?: Commands["get_tree"]["parameters"]): Promise<Commands["get_tree"]["data"]>;
  /** Returns message counts, tokens and cost of the session */
  getSessionStats(parameters?: Commands["get_session_stats"]["parameters"]): Promise<Commands["get_session_stats"]["data"]>;
  /** Returns the user messages at which the session can be forked */
  getForkMessages(parameters?: Commands["get_fork_messages"]["parameters"]): Promise<Commands["get_fork_messages"]["data"]>;
  /** Returns the text of the last answer */
  getLastAssistantText(parameters?: Commands["get_last_assistant_text"]["parameters"]): Promise<Commands["get_last_assistant_text"]["data"]>;
  /** Names the session */
  setSessionName(parameters: Commands["set_session_name"]["parameters"]): Promise<Commands["set_session_name"]["data"]>;
  /** Creates a session and switches to it */
  newSession(parameters?: Commands["new_session"]["parameters"]): Promise<Commands["new_session"]["data"]>;
  /** Switches to another session */
  switchSession(parameters: Commands["switch_session"]["parameters"]): Promise<Commands["switch_session"]["data"]>;
  /** Copies the entries before a user message into a new session and switches to it */
  fork(parameters: Commands["fork"]["parameters"]): Promise<Commands["fork"]["data"]>;
  /** Copies the path to the leaf into a new session and switches to it */
  clone(parameters?: Commands["clone"]["parameters"]): Promise<Commands["clone"]["data"]>;
  /** Replaces older messages in the context by a summary */
  compact(parameters?: Commands["compact"]["parameters"]): Promise<Commands["compact"]["data"]>;
  /** Turns automatic compaction on or off */
  setAutoCompaction(parameters: Commands["set_auto_compaction"]["parameters"]): Promise<Commands["set_auto_compaction"]["data"]>;
  /** Cancels running compactions and summaries, and waits until they have ended */
  abort(parameters?: Commands["abort"]["parameters"]): Promise<Commands["abort"]["data"]>;
  /** Records the model in use */
  setModel(parameters: Commands["set_model"]["parameters"]): Promise<Commands["set_model"]["data"]>;
  /** Returns the model of the session, else that of the latest one: Sessile has no list of models */
  getAvailableModels(parameters?: Commands["get_available_models"]["parameters"]): Promise<Commands["get_available_models"]["data"]>;
  /** Returns null, as pi does if there is no other model */
  cycleModel(parameters?: Commands["cycle_model"]["parameters"]): Promise<Commands["cycle_model"]["data"]>;
  /** Records the thinking level */
  setThinkingLevel(parameters: Commands["set_thinking_level"]["parameters"]): Promise<Commands["set_thinking_level"]["data"]>;
  /** Returns the thinking levels of the model; all levels if nothing is known about it */
  getAvailableThinkingLevels(parameters?: Commands["get_available_thinking_levels"]["parameters"]): Promise<Commands["get_available_thinking_levels"]["data"]>;
  /** Records the next thinking level of the model; null if it is not known to think */
  cycleThinkingLevel(parameters?: Commands["cycle_thinking_level"]["parameters"]): Promise<Commands["cycle_thinking_level"]["data"]>;
  /** Sets the mode of the steering queue, which get_state returns */
  setSteeringMode(parameters: Commands["set_steering_mode"]["parameters"]): Promise<Commands["set_steering_mode"]["data"]>;
  /** Sets the mode of the follow-up queue, which get_state returns */
  setFollowUpMode(parameters: Commands["set_follow_up_mode"]["parameters"]): Promise<Commands["set_follow_up_mode"]["data"]>;
  /** Empties the queues, which are always empty without an agent */
  clearQueue(parameters?: Commands["clear_queue"]["parameters"]): Promise<Commands["clear_queue"]["data"]>;
  /** Accepted without effect: there is nothing to retry */
  setAutoRetry(parameters: Commands["set_auto_retry"]["parameters"]): Promise<Commands["set_auto_retry"]["data"]>;
  /** Accepted without effect: there is nothing to stop */
  abortRetry(parameters?: Commands["abort_retry"]["parameters"]): Promise<Commands["abort_retry"]["data"]>;
  /** Accepted without effect: there is nothing to stop */
  abortBash(parameters?: Commands["abort_bash"]["parameters"]): Promise<Commands["abort_bash"]["data"]>;
  /** Returns the commands of extensions: always an empty list */
  getCommands(parameters?: Commands["get_commands"]["parameters"]): Promise<Commands["get_commands"]["data"]>;
  /** Writes the session as a web page, or in another format */
  exportHtml(parameters?: Commands["export_html"]["parameters"]): Promise<Commands["export_html"]["data"]>;
  /** Appends a message of any role */
  appendMessage(parameters: Commands["append_message"]["parameters"]): Promise<Commands["append_message"]["data"]>;
  /** Appends a change of the thinking level */
  appendThinkingLevelChange(parameters: Commands["append_thinking_level_change"]["parameters"]): Promise<Commands["append_thinking_level_change"]["data"]>;
  /** Appends a change of the model */
  appendModelChange(parameters: Commands["append_model_change"]["parameters"]): Promise<Commands["append_model_change"]["data"]>;
  /** Appends a cost that belongs to no message */
  appendUsage(parameters: Commands["append_usage"]["parameters"]): Promise<Commands["append_usage"]["data"]>;
  /** Appends a compaction that the client has created */
  appendCompaction(parameters: Commands["append_compaction"]["parameters"]): Promise<Commands["append_compaction"]["data"]>;
  /** Appends a program's own data, which the model never sees */
  appendCustomEntry(parameters: Commands["append_custom_entry"]["parameters"]): Promise<Commands["append_custom_entry"]["data"]>;
  /** Appends a client program's message, which the model sees */
  appendCustomMessageEntry(parameters: Commands["append_custom_message_entry"]["parameters"]): Promise<Commands["append_custom_message_entry"]["data"]>;
  /** Names the session; an empty name removes the name */
  appendSessionInfo(parameters: Commands["append_session_info"]["parameters"]): Promise<Commands["append_session_info"]["data"]>;
  /** Labels an entry; without a label, removes its label */
  appendLabelChange(parameters: Commands["append_label_change"]["parameters"]): Promise<Commands["append_label_change"]["data"]>;
  /** Changes what the model sees of an entry */
  appendContextEdit(parameters: Commands["append_context_edit"]["parameters"]): Promise<Commands["append_context_edit"]["data"]>;
  /** Moves to an entry and appends a summary of the abandoned branch */
  branchWithSummary(parameters: Commands["branch_with_summary"]["parameters"]): Promise<Commands["branch_with_summary"]["data"]>;
  /** Labels an entry, like append_label_change */
  setLabel(parameters: Commands["set_label"]["parameters"]): Promise<Commands["set_label"]["data"]>;
  /** Names a session, like append_session_info */
  renameSession(parameters: Commands["rename_session"]["parameters"]): Promise<Commands["rename_session"]["data"]>;
  /** Archives or unarchives a session or one of its branches */
  archiveSession(parameters?: Commands["archive_session"]["parameters"]): Promise<Commands["archive_session"]["data"]>;
  /** Moves to an entry: the next append becomes its child */
  branch(parameters: Commands["branch"]["parameters"]): Promise<Commands["branch"]["data"]>;
  /** Moves to the position before the first entry */
  resetLeaf(parameters?: Commands["reset_leaf"]["parameters"]): Promise<Commands["reset_leaf"]["data"]>;
  /** Moves to the last entry of the file */
  followLeaf(parameters?: Commands["follow_leaf"]["parameters"]): Promise<Commands["follow_leaf"]["data"]>;
  /** Moves to an entry, or before a user message, with or without a summary of the abandoned branch */
  navigateTree(parameters: Commands["navigate_tree"]["parameters"]): Promise<Commands["navigate_tree"]["data"]>;
  /** Copies the path to an entry into a new session and switches to it */
  createBranchedSession(parameters: Commands["create_branched_session"]["parameters"]): Promise<Commands["create_branched_session"]["data"]>;
  /** Returns the entries from the root to an entry, or to the leaf */
  getBranch(parameters?: Commands["get_branch"]["parameters"]): Promise<Commands["get_branch"]["data"]>;
  /** Returns the children of an entry; null for the roots */
  getChildren(parameters: Commands["get_children"]["parameters"]): Promise<Commands["get_children"]["data"]>;
  /** Returns one entry */
  getEntry(parameters: Commands["get_entry"]["parameters"]): Promise<Commands["get_entry"]["data"]>;
  /** Returns the label of an entry */
  getLabel(parameters: Commands["get_label"]["parameters"]): Promise<Commands["get_label"]["data"]>;
  /** Returns the header of the session */
  getHeader(parameters?: Commands["get_header"]["parameters"]): Promise<Commands["get_header"]["data"]>;
  /** Returns what a model would see at an entry, or at the leaf */
  buildSessionContext(parameters?: Commands["build_session_context"]["parameters"]): Promise<Commands["build_session_context"]["data"]>;
  /** Returns the entries that make up the context */
  buildContextEntries(parameters?: Commands["build_context_entries"]["parameters"]): Promise<Commands["build_context_entries"]["data"]>;
  /** Returns which entries a compaction would summarise and keep, or nothing if the session is too short; writes nothing */
  prepareCompaction(parameters?: Commands["prepare_compaction"]["parameters"]): Promise<Commands["prepare_compaction"]["data"]>;
  /** Lists the sessions of a directory, a repository or all, newest first */
  listSessions(parameters?: Commands["list_sessions"]["parameters"]): Promise<Commands["list_sessions"]["data"]>;
  /** Searches messages, tool calls, names and labels */
  search(parameters: Commands["search"]["parameters"]): Promise<Commands["search"]["data"]>;
  /** Returns the sessions that a session was forked from, and its own forks */
  family(parameters?: Commands["family"]["parameters"]): Promise<Commands["family"]["data"]>;
  /** Moves a session to the trash */
  deleteSession(parameters: Commands["delete_session"]["parameters"]): Promise<Commands["delete_session"]["data"]>;
  /** Restores a session from the trash */
  restoreSession(parameters: Commands["restore_session"]["parameters"]): Promise<Commands["restore_session"]["data"]>;
  /** Checks a session for damage */
  verify(parameters?: Commands["verify"]["parameters"]): Promise<Commands["verify"]["data"]>;
  /** Finds secrets in a session or in many, and never returns a value */
  scanSecrets(parameters?: Commands["scan_secrets"]["parameters"]): Promise<Commands["scan_secrets"]["data"]>;
  /** Writes a copy of a session without secrets */
  exportRedacted(parameters: Commands["export_redacted"]["parameters"]): Promise<Commands["export_redacted"]["data"]>;
  /** Subscribes to events, from now on or since a cursor */
  subscribe(parameters?: Commands["subscribe"]["parameters"]): Promise<Commands["subscribe"]["data"]>;
  /** Ends a subscription */
  unsubscribe(parameters: Commands["unsubscribe"]["parameters"]): Promise<Commands["unsubscribe"]["data"]>;
  /** Registers the client as a hook: the server asks it before these events */
  hookRegister(parameters: Commands["hook_register"]["parameters"]): Promise<Commands["hook_register"]["data"]>;
  /** Answers a hook_request */
  hookResponse(parameters: Commands["hook_response"]["parameters"]): Promise<Commands["hook_response"]["data"]>;
}
