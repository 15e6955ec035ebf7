// Made from the catalogue of commands by `cargo xtask docs`. Changes here are lost.

/** An entry of a session file. */
export type Entry = AnyEntry | MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry | CompactionEntry | BranchSummaryEntry | LabelEntry | SessionInfoEntry | CustomEntry | CustomMessageEntry | ContextEditEntry | UsageEntry;

/** An entry of whatever type, with whatever else that has. */
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

/** Another model was chosen. */
export type ModelChangeEntry = {
  type: "model_change";
  id: string;
  parentId: string | null;
  timestamp: string;
  provider: string;
  modelId: string;
};

/** Another thinking level was chosen. */
export type ThinkingLevelChangeEntry = {
  type: "thinking_level_change";
  id: string;
  parentId: string | null;
  timestamp: string;
  thinkingLevel: string;
};

/** From here on a summary stands for what is before the first kept entry. */
export type CompactionEntry = {
  type: "compaction";
  id: string;
  parentId: string | null;
  timestamp: string;
  summary: string;
  /** itself if nothing before it is kept */
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
};

/** What happened on a branch that was left. */
export type BranchSummaryEntry = {
  type: "branch_summary";
  id: string;
  parentId: string | null;
  timestamp: string;
  /** the entry that was gone to, or root */
  fromId: string;
  summary: string;
  details?: unknown;
  usage?: Usage;
  fromHook?: boolean;
};

/** An entry was labelled, or lost its label. */
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

/** A program's own message to the model. */
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

/** What the model sees of an entry was changed. */
export type ContextEditEntry = {
  type: "context_edit";
  id: string;
  parentId: string | null;
  timestamp: string;
  targetId: string;
  /** null takes the target out of the context */
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

/** A message of whatever role, with whatever else that has. */
export type AnyMessage = {
  role: string;
  [key: string]: unknown;
};

/** What the user says. */
export type UserMessage = {
  role: "user";
  content: string | (TextBlock | ImageBlock)[];
  /** milliseconds since 1970 */
  timestamp: number;
};

/** What a model answers, and what it wants done. */
export type AssistantMessage = {
  role: "assistant";
  content: (TextBlock | ThinkingBlock | ToolCallBlock)[];
  /** how the model was asked, such as anthropic-messages */
  api: string;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  errorMessage?: string;
  /** milliseconds since 1970 */
  timestamp: number;
};

/** What came of a tool. */
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

/** A picture in a message. */
export type ImageBlock = {
  type: "image";
  /** in Base64 */
  data: string;
  mimeType: string;
};

/** What a model thinks. */
export type ThinkingBlock = {
  type: "thinking";
  thinking: string;
};

/** What a model wants done. */
export type ToolCallBlock = {
  type: "toolCall";
  id: string;
  name: string;
  arguments: { [key: string]: unknown };
};

/** The tokens that an answer took, and what they cost. */
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

/** An entry with all that is below it. */
export type TreeNode = {
  entry: Entry;
  children: TreeNode[];
  label?: string;
  labelTimestamp?: string;
};

/** What there is to know about a session at a glance. */
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

/** The model that a session says it uses. */
export type Model = {
  provider: string;
  id: string;
  contextWindow?: number;
};

/** What was written, where the session goes on, and what the entry survives. */
export type Written = {
  entryId: string;
  leafId: string | null;
  durable: "memory" | "page-cache" | "disk";
};

/** What a session took, all branches counted. */
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

/** What a compaction would summarise and keep. */
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

/** Where somebody goes in the tree, and what is left. */
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
  /** the file with the same session that this one is a copy of */
  copyOf?: string;
};

/** Which entries a search admits. */
export type SearchFilters = {
  /** such as user, assistant, tool; an error names all */
  role?: string | string[];
  tool?: string;
  model?: string;
  /** a date, or milliseconds */
  since?: string | number;
  /** a date, or milliseconds */
  until?: string | number;
  cwd?: string;
};

/** An entry that a search found. */
export type SearchHit = {
  sessionPath: string;
  entryId?: string;
  role?: string;
  score: number;
  excerpt: string;
  /** what was found in the excerpt, in UTF-16 units */
  ranges: number[][];
  /** the type of the entry */
  type?: string;
  timestamp?: string;
  /** where its line begins in the file */
  offset: number;
};

/** A session among those that descend from one another. */
export type FamilyNode = {
  sessionPath?: string;
  id?: string;
  /** the path of the session it was forked from */
  parent?: string;
  depth: number;
  missing?: boolean;
  sharedEntries?: number;
};

/** Something that is wrong with a session file. */
export type Finding = {
  code: string;
  severity: string;
  line: number;
  offset: number;
  message: string;
  consequence: string;
  repair: string;
};

export interface Commands {
  /** What there is to know about the session at a glance */
  get_state: { parameters: { sessionPath?: string }; data: State };
  /** The messages of the context: what a model would see */
  get_messages: { parameters: { sessionPath?: string }; data: { messages: Message[] } };
  /** The entries of all branches in file order */
  get_entries: { parameters: { since?: string; sessionPath?: string }; data: { entries: Entry[]; leafId: string | null } };
  /** The whole tree */
  get_tree: { parameters: { sessionPath?: string }; data: { tree: TreeNode[]; leafId: string | null } };
  /** What the session took */
  get_session_stats: { parameters: { sessionPath?: string }; data: SessionStats };
  /** The messages of the user at which one can fork */
  get_fork_messages: { parameters: { sessionPath?: string }; data: { messages: { entryId: string; text: string }[] } };
  /** What the last answer says */
  get_last_assistant_text: { parameters: { sessionPath?: string }; data: { text?: string } };
  /** Name the session */
  set_session_name: { parameters: { name: string; sessionPath?: string; expectedLeaf?: string | null }; data: void };
  /** Leave the session for a new one */
  new_session: { parameters: { parentSession?: string; cwd?: string }; data: { cancelled: boolean } };
  /** Leave the session for another one */
  switch_session: { parameters: { sessionPath: string }; data: { cancelled: boolean } };
  /** Leave the session for a copy that ends before a message of the user */
  fork: { parameters: { entryId: string; sessionPath?: string }; data: { text?: string; cancelled: boolean; newSessionPath?: string } };
  /** Leave the session for a copy of the path to its leaf */
  clone: { parameters: { sessionPath?: string }; data: { cancelled: boolean; newSessionPath?: string } };
  /** Put a summary in the place of what is old */
  compact: { parameters: { customInstructions?: string; sessionPath?: string; expectedLeaf?: string | null }; data: CompactionResult };
  /** Whether the session should be compacted by itself */
  set_auto_compaction: { parameters: { enabled: boolean }; data: void };
  /** Stop compactions and summaries, and wait until they have stopped */
  abort: { parameters: { sessionPath?: string }; data: void };
  /** Note which model is used */
  set_model: { parameters: { provider: string; modelId: string; sessionPath?: string; expectedLeaf?: string | null }; data: { provider: string; id: string } };
  /** Note how much the model thinks */
  set_thinking_level: { parameters: { level: string; sessionPath?: string; expectedLeaf?: string | null }; data: void };
  /** How messages that steer are taken; shown by get_state */
  set_steering_mode: { parameters: { mode: "all" | "one-at-a-time" }; data: void };
  /** How messages that follow are taken; shown by get_state */
  set_follow_up_mode: { parameters: { mode: "all" | "one-at-a-time" }; data: void };
  /** Empty the queues, which are always empty here */
  clear_queue: { parameters: {}; data: { steering: string[]; followUp: string[] } };
  /** Accepted; there is nothing to try again */
  set_auto_retry: { parameters: { enabled: boolean }; data: void };
  /** Accepted; there is nothing to stop */
  abort_retry: { parameters: {}; data: void };
  /** Accepted; there is nothing to stop */
  abort_bash: { parameters: {}; data: void };
  /** The commands of extensions, of which there are none */
  get_commands: { parameters: {}; data: { commands: unknown[] } };
  /** Add a message of any role */
  append_message: { parameters: { message: Message; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Note that the thinking level changed */
  append_thinking_level_change: { parameters: { thinkingLevel: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Note that the model changed */
  append_model_change: { parameters: { provider: string; modelId: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Note a cost that belongs to no message */
  append_usage: { parameters: { kind: string; provider: string; model: string; usage: unknown; note?: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Add a compaction that the client has made */
  append_compaction: { parameters: { summary: string; firstKeptEntryId: string | null; tokensBefore: number; details?: unknown; fromHook?: boolean; usage?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Keep a program's own data; the model never sees it */
  append_custom_entry: { parameters: { customType: string; data?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Add a program's own message to the context */
  append_custom_message_entry: { parameters: { customType: string; content: string | unknown[]; display: boolean; details?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Name the session; an empty name takes it away */
  append_session_info: { parameters: { name: string; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Label an entry; without a label it loses its own */
  append_label_change: { parameters: { targetId: string; label?: string | null; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Change what the model sees of an entry */
  append_context_edit: { parameters: { targetId: string; replacement: null | { content: string | unknown[] }; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Go to an entry and note there what happened on the branch left */
  branch_with_summary: { parameters: { entryId: string | null; summary: string; details?: unknown; fromHook?: boolean; usage?: unknown; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Label an entry: the same as append_label_change */
  set_label: { parameters: { entryId: string; label?: string | null; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Name a session: the same as append_session_info */
  rename_session: { parameters: { sessionPath: string; name: string; expectedLeaf?: string | null }; data: Written };
  /** Archive a session, or a branch of it; or take that back */
  archive_session: { parameters: { entryId?: string; archived?: boolean; sessionPath?: string; expectedLeaf?: string | null }; data: Written };
  /** Go to an entry: what is added next becomes its child */
  branch: { parameters: { entryId: string; sessionPath?: string }; data: { leafId: string | null } };
  /** Go to before all entries */
  reset_leaf: { parameters: { sessionPath?: string }; data: { leafId: string | null } };
  /** Go to the last entry of the file */
  follow_leaf: { parameters: { sessionPath?: string }; data: { leafId: string | null } };
  /** Go to an entry, or to before a message of the user, with or without a summary of what is left */
  navigate_tree: { parameters: { entryId: string; summarize?: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string; sessionPath?: string; expectedLeaf?: string | null }; data: { cancelled: boolean; editorText?: string; summaryEntry?: Entry; leafId: string | null } };
  /** Leave the session for a copy of the path to an entry */
  create_branched_session: { parameters: { entryId: string; sessionPath?: string }; data: { sessionPath?: string; sessionId: string; leafId: string | null } };
  /** The entries from the root to an entry, or to the leaf */
  get_branch: { parameters: { entryId?: string; sessionPath?: string }; data: { entries: Entry[] } };
  /** The entries below an entry; null for the roots */
  get_children: { parameters: { parentId: string | null; sessionPath?: string }; data: { entries: Entry[] } };
  /** One entry */
  get_entry: { parameters: { entryId: string; sessionPath?: string }; data: { entry?: Entry } };
  /** The label of an entry */
  get_label: { parameters: { entryId: string; sessionPath?: string }; data: { label?: string } };
  /** The header of the session */
  get_header: { parameters: { sessionPath?: string }; data: { header: Header } };
  /** What a model would see at an entry, or at the leaf */
  build_session_context: { parameters: { leafId?: string | null; sessionPath?: string }; data: { messages: Message[]; thinkingLevel?: unknown; model: null | unknown } };
  /** The entries that the context is made of */
  build_context_entries: { parameters: { leafId?: string | null; sessionPath?: string }; data: { entries: Entry[] } };
  /** What compacting would summarise and keep, or nothing if it is too short; nothing is written */
  prepare_compaction: { parameters: { keepRecentTokens?: number; sessionPath?: string }; data: { preparation?: Preparation } };
  /** The sessions of a directory, a repository or all, the newest first */
  list_sessions: { parameters: { scope?: "cwd" | "repo" | "all"; cwd?: string; limit?: number; named?: boolean; children?: boolean | "shown" | "hidden" | "only"; archived?: boolean | "shown" | "hidden" | "only" }; data: { sessions: SessionRow[] } };
  /** Find what was said, done or named */
  search: { parameters: { query: string; scope?: "session" | "cwd" | "repo" | "all"; limit?: number; filters?: SearchFilters; archived?: boolean | "shown" | "hidden" | "only"; cwd?: string; sessionPath?: string }; data: { hits: SearchHit[] } };
  /** Whom a session was forked from, and what was forked from it */
  family: { parameters: { sessionPath?: string }; data: { root: string; nodes: FamilyNode[] } };
  /** Move a session to the trash */
  delete_session: { parameters: { sessionPath: string; force?: boolean }; data: { trashed: string | boolean } };
  /** Bring a session back from the trash */
  restore_session: { parameters: { sessionPath: string }; data: { sessionPath: string } };
  /** Look for damage in a session */
  verify: { parameters: { sessionPath?: string }; data: { findings: Finding[] } };
  /** Be told what happens from now on, or since a cursor */
  subscribe: { parameters: { events?: ("session_start" | "session_before_switch" | "session_before_fork" | "session_fork" | "session_before_tree" | "session_tree" | "session_before_compact" | "session_compact" | "session_compact_failed" | "session_info_changed" | "session_shutdown" | "entry_appended" | "leaf_moved" | "divergence" | "recovered" | "session_deleted")[]; cursor?: string; scope?: "session" | "store"; sessionPath?: string }; data: { subscription: string; cursor: string } };
  /** End a subscription */
  unsubscribe: { parameters: { subscription: string }; data: { [key: string]: unknown } };
  /** Be asked before things happen */
  hook_register: { parameters: { events: ("session_before_switch" | "session_before_fork" | "session_before_tree" | "session_before_compact")[]; timeoutMs?: number }; data: { [key: string]: unknown } };
  /** Answer a hook_request */
  hook_response: { parameters: { requestId: string; result?: unknown; error?: string }; data: { [key: string]: unknown } };
}

export type Command = keyof Commands;

export type ErrorCode = "NOT_FOUND" | "INVALID_ARGUMENT" | "NOT_SUPPORTED" | "SESSION_BUSY" | "LEAF_MOVED" | "READ_ONLY" | "CANCELLED" | "IO";

export type Request = { [C in Command]: { id?: unknown; type: C } & Commands[C]["parameters"] }[Command];
export type Response =
  | { id?: unknown; type: "response"; command: Command; success: true; data?: unknown }
  | { id?: unknown; type: "response"; command?: unknown; success: false; error: string; code: ErrorCode; leafId?: string | null };

export type StreamEvent =
  /** The session has another name, or none. */
  | { type: "session_info_changed"; name?: string }
  /** Another thinking level was set. */
  | { type: "thinking_level_changed"; level: string }
  /** A compaction begins. */
  | { type: "compaction_start"; reason: "manual" | "threshold" | "overflow" }
  /** A compaction has ended. */
  | { type: "compaction_end"; reason: "manual" | "threshold" | "overflow"; result?: CompactionResult; aborted: boolean; willRetry: boolean; errorMessage?: string }
  /** No summary could be had, and it is tried again after a while. */
  | { type: "summarization_retry_scheduled"; attempt: number; maxAttempts: number; delayMs: number; errorMessage: string }
  /** It is tried again now. */
  | { type: "summarization_retry_attempt_start"; source: "compaction" | "branchSummary"; reason?: "manual" | "threshold" | "overflow" }
  /** Trying again has ended, one way or the other. */
  | { type: "summarization_retry_finished" }
  /** The queues changed. */
  | { type: "queue_update"; steering: string[]; followUp: string[] }
  /** A hook has failed, and so has given no answer. */
  | { type: "extension_error"; extensionPath: string; event: string; error: string };

export type SessionEvent =
  /** Somebody has begun to work in the session. */
  | { type: "session_start"; reason: "startup" | "reload" | "new" | "resume" | "fork"; previousSessionFile?: string }
  /** Somebody is about to leave the session for another one. */
  | { type: "session_before_switch"; reason: "new" | "resume"; targetSessionFile?: string }
  /** Somebody is about to fork the session. */
  | { type: "session_before_fork"; entryId: string; position: "before" | "at" }
  /** The session was made of a part of another one. */
  | { type: "session_fork"; previousSessionFile?: string; sessionFile?: string; entryId: string; position: "before" | "at" }
  /** Somebody is about to go elsewhere in the tree. */
  | { type: "session_before_tree"; preparation: TreePreparation }
  /** Somebody went elsewhere in the tree. */
  | { type: "session_tree"; newLeafId: string | null; oldLeafId: string | null; summaryEntry?: Entry; fromExtension?: boolean }
  /** A summary is about to take the place of what is old. */
  | { type: "session_before_compact"; preparation: Preparation; branchEntries: Entry[]; customInstructions?: string; reason: "manual" | "threshold" | "overflow"; willRetry: boolean }
  /** A summary took the place of what is old. */
  | { type: "session_compact"; compactionEntry: Entry; fromExtension: boolean; reason: "manual" | "threshold" | "overflow"; willRetry: boolean }
  /** It did not. */
  | { type: "session_compact_failed"; reason: "manual" | "threshold" | "overflow"; errorMessage?: string; aborted: boolean; willRetry: boolean; fromExtension: boolean }
  /** The session has another name, or none. */
  | { type: "session_info_changed"; name?: string }
  /** Somebody has left the session. */
  | { type: "session_shutdown"; reason: "quit" | "reload" | "new" | "resume" | "fork"; targetSessionFile?: string }
  /** An entry was added, by whomever; own if through this server. */
  | { type: "entry_appended"; sessionPath?: string; entry: Entry; own: boolean }
  /** The leaf is elsewhere, and not because something was added to it. */
  | { type: "leaf_moved"; leafId: string | null; previousLeafId: string | null; reason: string }
  /** Our entry is beside that of another program, not behind it. */
  | { type: "divergence"; leafId: string; foreignLeafId: string; commonAncestorId: string | null }
  /** Entries that another program had destroyed were put back. */
  | { type: "recovered"; entryIds: string[]; reason: string }
  /** A session was deleted. */
  | { type: "session_deleted"; sessionPath: string; trashed: boolean };

export type SubscriptionEvent = { type: "event"; subscription: string; cursor: string; lost?: number; event: SessionEvent };
export type HookRequest = { type: "hook_request"; requestId: string; sessionPath?: string; event: SessionEvent };
export type HookCancel = { type: "hook_cancel"; requestId: string };

export interface ClientOptions {
  /** The program to start; "sessile" if absent. */
  program?: string;
  /** Its arguments behind "rpc": pi's flags that choose a session. */
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
  /** With LEAF_MOVED: the entry that is to be expected now. */
  readonly leafId?: string | null;
}

/** Every command's name. */
export declare const COMMANDS: readonly Command[];

export type HookReply = Record<string, unknown> | null | undefined;

/** A server that listens at a socket. */
export interface SessileServer {
  readonly socket: string;
  /** Resolves to its exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Ends it, and waits until it has ended. */
  stop(): Promise<number | null>;
}

export declare class SessileClient {
  static start(options?: ClientOptions): Promise<SessileClient>;
  /** Starts a server that listens at a socket, and resolves when it takes clients. */
  static serve(options: ClientOptions & { socket: string }): Promise<SessileServer>;
  /** Resolves when the connection has ended, by whomever: to the exit code of the program, if one was started. */
  readonly ended: Promise<number | null>;
  /** Sends a command and waits for its answer. */
  send<C extends Command>(command: C, parameters?: Commands[C]["parameters"]): Promise<Commands[C]["data"]>;
  /** Hears what pi's stream tells. */
  on(listener: (event: StreamEvent) => void): () => void;
  /** Hears what happens, from now on or from a cursor on. */
  listen(
    parameters: Commands["subscribe"]["parameters"],
    listener: (event: SessionEvent, cursor: string, lost: number) => void,
  ): Promise<{ subscription: string; cursor: string; stop(): Promise<void> }>;
  /** Is asked before things happen. Resolves to a function that ends it. */
  hook(
    events: Commands["hook_register"]["parameters"]["events"],
    answer: (event: SessionEvent, sessionPath?: string) => HookReply | Promise<HookReply>,
    timeoutMs?: number,
  ): Promise<() => Promise<void>>;
  /** Ends the connection and waits for the end. Resolves to the exit code of the program, if one was started. */
  close(): Promise<number | null>;
  /** What there is to know about the session at a glance */
  getState(parameters?: Commands["get_state"]["parameters"]): Promise<Commands["get_state"]["data"]>;
  /** The messages of the context: what a model would see */
  getMessages(parameters?: Commands["get_messages"]["parameters"]): Promise<Commands["get_messages"]["data"]>;
  /** The entries of all branches in file order */
  getEntries(parameters?: Commands["get_entries"]["parameters"]): Promise<Commands["get_entries"]["data"]>;
  /** The whole tree */
  getTree(parameters?: Commands["get_tree"]["parameters"]): Promise<Commands["get_tree"]["data"]>;
  /** What the session took */
  getSessionStats(parameters?: Commands["get_session_stats"]["parameters"]): Promise<Commands["get_session_stats"]["data"]>;
  /** The messages of the user at which one can fork */
  getForkMessages(parameters?: Commands["get_fork_messages"]["parameters"]): Promise<Commands["get_fork_messages"]["data"]>;
  /** What the last answer says */
  getLastAssistantText(parameters?: Commands["get_last_assistant_text"]["parameters"]): Promise<Commands["get_last_assistant_text"]["data"]>;
  /** Name the session */
  setSessionName(parameters: Commands["set_session_name"]["parameters"]): Promise<Commands["set_session_name"]["data"]>;
  /** Leave the session for a new one */
  newSession(parameters?: Commands["new_session"]["parameters"]): Promise<Commands["new_session"]["data"]>;
  /** Leave the session for another one */
  switchSession(parameters: Commands["switch_session"]["parameters"]): Promise<Commands["switch_session"]["data"]>;
  /** Leave the session for a copy that ends before a message of the user */
  fork(parameters: Commands["fork"]["parameters"]): Promise<Commands["fork"]["data"]>;
  /** Leave the session for a copy of the path to its leaf */
  clone(parameters?: Commands["clone"]["parameters"]): Promise<Commands["clone"]["data"]>;
  /** Put a summary in the place of what is old */
  compact(parameters?: Commands["compact"]["parameters"]): Promise<Commands["compact"]["data"]>;
  /** Whether the session should be compacted by itself */
  setAutoCompaction(parameters: Commands["set_auto_compaction"]["parameters"]): Promise<Commands["set_auto_compaction"]["data"]>;
  /** Stop compactions and summaries, and wait until they have stopped */
  abort(parameters?: Commands["abort"]["parameters"]): Promise<Commands["abort"]["data"]>;
  /** Note which model is used */
  setModel(parameters: Commands["set_model"]["parameters"]): Promise<Commands["set_model"]["data"]>;
  /** Note how much the model thinks */
  setThinkingLevel(parameters: Commands["set_thinking_level"]["parameters"]): Promise<Commands["set_thinking_level"]["data"]>;
  /** How messages that steer are taken; shown by get_state */
  setSteeringMode(parameters: Commands["set_steering_mode"]["parameters"]): Promise<Commands["set_steering_mode"]["data"]>;
  /** How messages that follow are taken; shown by get_state */
  setFollowUpMode(parameters: Commands["set_follow_up_mode"]["parameters"]): Promise<Commands["set_follow_up_mode"]["data"]>;
  /** Empty the queues, which are always empty here */
  clearQueue(parameters?: Commands["clear_queue"]["parameters"]): Promise<Commands["clear_queue"]["data"]>;
  /** Accepted; there is nothing to try again */
  setAutoRetry(parameters: Commands["set_auto_retry"]["parameters"]): Promise<Commands["set_auto_retry"]["data"]>;
  /** Accepted; there is nothing to stop */
  abortRetry(parameters?: Commands["abort_retry"]["parameters"]): Promise<Commands["abort_retry"]["data"]>;
  /** Accepted; there is nothing to stop */
  abortBash(parameters?: Commands["abort_bash"]["parameters"]): Promise<Commands["abort_bash"]["data"]>;
  /** The commands of extensions, of which there are none */
  getCommands(parameters?: Commands["get_commands"]["parameters"]): Promise<Commands["get_commands"]["data"]>;
  /** Add a message of any role */
  appendMessage(parameters: Commands["append_message"]["parameters"]): Promise<Commands["append_message"]["data"]>;
  /** Note that the thinking level changed */
  appendThinkingLevelChange(parameters: Commands["append_thinking_level_change"]["parameters"]): Promise<Commands["append_thinking_level_change"]["data"]>;
  /** Note that the model changed */
  appendModelChange(parameters: Commands["append_model_change"]["parameters"]): Promise<Commands["append_model_change"]["data"]>;
  /** Note a cost that belongs to no message */
  appendUsage(parameters: Commands["append_usage"]["parameters"]): Promise<Commands["append_usage"]["data"]>;
  /** Add a compaction that the client has made */
  appendCompaction(parameters: Commands["append_compaction"]["parameters"]): Promise<Commands["append_compaction"]["data"]>;
  /** Keep a program's own data; the model never sees it */
  appendCustomEntry(parameters: Commands["append_custom_entry"]["parameters"]): Promise<Commands["append_custom_entry"]["data"]>;
  /** Add a program's own message to the context */
  appendCustomMessageEntry(parameters: Commands["append_custom_message_entry"]["parameters"]): Promise<Commands["append_custom_message_entry"]["data"]>;
  /** Name the session; an empty name takes it away */
  appendSessionInfo(parameters: Commands["append_session_info"]["parameters"]): Promise<Commands["append_session_info"]["data"]>;
  /** Label an entry; without a label it loses its own */
  appendLabelChange(parameters: Commands["append_label_change"]["parameters"]): Promise<Commands["append_label_change"]["data"]>;
  /** Change what the model sees of an entry */
  appendContextEdit(parameters: Commands["append_context_edit"]["parameters"]): Promise<Commands["append_context_edit"]["data"]>;
  /** Go to an entry and note there what happened on the branch left */
  branchWithSummary(parameters: Commands["branch_with_summary"]["parameters"]): Promise<Commands["branch_with_summary"]["data"]>;
  /** Label an entry: the same as append_label_change */
  setLabel(parameters: Commands["set_label"]["parameters"]): Promise<Commands["set_label"]["data"]>;
  /** Name a session: the same as append_session_info */
  renameSession(parameters: Commands["rename_session"]["parameters"]): Promise<Commands["rename_session"]["data"]>;
  /** Archive a session, or a branch of it; or take that back */
  archiveSession(parameters?: Commands["archive_session"]["parameters"]): Promise<Commands["archive_session"]["data"]>;
  /** Go to an entry: what is added next becomes its child */
  branch(parameters: Commands["branch"]["parameters"]): Promise<Commands["branch"]["data"]>;
  /** Go to before all entries */
  resetLeaf(parameters?: Commands["reset_leaf"]["parameters"]): Promise<Commands["reset_leaf"]["data"]>;
  /** Go to the last entry of the file */
  followLeaf(parameters?: Commands["follow_leaf"]["parameters"]): Promise<Commands["follow_leaf"]["data"]>;
  /** Go to an entry, or to before a message of the user, with or without a summary of what is left */
  navigateTree(parameters: Commands["navigate_tree"]["parameters"]): Promise<Commands["navigate_tree"]["data"]>;
  /** Leave the session for a copy of the path to an entry */
  createBranchedSession(parameters: Commands["create_branched_session"]["parameters"]): Promise<Commands["create_branched_session"]["data"]>;
  /** The entries from the root to an entry, or to the leaf */
  getBranch(parameters?: Commands["get_branch"]["parameters"]): Promise<Commands["get_branch"]["data"]>;
  /** The entries below an entry; null for the roots */
  getChildren(parameters: Commands["get_children"]["parameters"]): Promise<Commands["get_children"]["data"]>;
  /** One entry */
  getEntry(parameters: Commands["get_entry"]["parameters"]): Promise<Commands["get_entry"]["data"]>;
  /** The label of an entry */
  getLabel(parameters: Commands["get_label"]["parameters"]): Promise<Commands["get_label"]["data"]>;
  /** The header of the session */
  getHeader(parameters?: Commands["get_header"]["parameters"]): Promise<Commands["get_header"]["data"]>;
  /** What a model would see at an entry, or at the leaf */
  buildSessionContext(parameters?: Commands["build_session_context"]["parameters"]): Promise<Commands["build_session_context"]["data"]>;
  /** The entries that the context is made of */
  buildContextEntries(parameters?: Commands["build_context_entries"]["parameters"]): Promise<Commands["build_context_entries"]["data"]>;
  /** What compacting would summarise and keep, or nothing if it is too short; nothing is written */
  prepareCompaction(parameters?: Commands["prepare_compaction"]["parameters"]): Promise<Commands["prepare_compaction"]["data"]>;
  /** The sessions of a directory, a repository or all, the newest first */
  listSessions(parameters?: Commands["list_sessions"]["parameters"]): Promise<Commands["list_sessions"]["data"]>;
  /** Find what was said, done or named */
  search(parameters: Commands["search"]["parameters"]): Promise<Commands["search"]["data"]>;
  /** Whom a session was forked from, and what was forked from it */
  family(parameters?: Commands["family"]["parameters"]): Promise<Commands["family"]["data"]>;
  /** Move a session to the trash */
  deleteSession(parameters: Commands["delete_session"]["parameters"]): Promise<Commands["delete_session"]["data"]>;
  /** Bring a session back from the trash */
  restoreSession(parameters: Commands["restore_session"]["parameters"]): Promise<Commands["restore_session"]["data"]>;
  /** Look for damage in a session */
  verify(parameters?: Commands["verify"]["parameters"]): Promise<Commands["verify"]["data"]>;
  /** Be told what happens from now on, or since a cursor */
  subscribe(parameters?: Commands["subscribe"]["parameters"]): Promise<Commands["subscribe"]["data"]>;
  /** End a subscription */
  unsubscribe(parameters: Commands["unsubscribe"]["parameters"]): Promise<Commands["unsubscribe"]["data"]>;
  /** Be asked before things happen */
  hookRegister(parameters: Commands["hook_register"]["parameters"]): Promise<Commands["hook_register"]["data"]>;
  /** Answer a hook_request */
  hookResponse(parameters: Commands["hook_response"]["parameters"]): Promise<Commands["hook_response"]["data"]>;
}
