// Where pi's package is installed, these types are pi's own, so that a session manager of ours goes wherever pi's is
// expected. Otherwise they are the ones below.

// @ts-ignore: without pi's package, everything in it is `any`.
import type * as Pi from "@earendil-works/pi-coding-agent";

/** Their type if it is known. An unknown one has every key. */
type Or<Theirs, Ours> = string extends keyof Theirs ? Ours : Theirs;

export declare const CURRENT_SESSION_VERSION = 3;

export interface OwnSessionHeader {
  type: "session";
  version?: number;
  id: string;
  timestamp: string;
  cwd: string;
  parentSession?: string;
}

/** An entry, if pi's types are not installed. */
export interface OwnSessionEntry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  [member: string]: any;
}

export interface OwnSessionTreeNode {
  entry: OwnSessionEntry;
  children: OwnSessionTreeNode[];
  label?: string;
  labelTimestamp?: string;
}

export interface OwnSessionContext {
  messages: any[];
  thinkingLevel: string;
  model: { provider: string; modelId: string } | null;
}

export interface OwnSessionProjection extends OwnSessionContext {
  entries: { sourceEntry: OwnSessionEntry; messages: any[] }[];
}

export interface OwnSessionInfo {
  path: string;
  id: string;
  cwd: string;
  name?: string;
  parentSessionPath?: string;
  created: Date;
  modified: Date;
  messageCount: number;
  firstMessage: string;
  allMessagesText: string;
}

export type SessionHeader = Or<Pi.SessionHeader, OwnSessionHeader>;
export type SessionEntry = Or<Pi.SessionEntry, OwnSessionEntry>;
export type FileEntry = SessionHeader | SessionEntry;
export type SessionTreeNode = Or<Pi.SessionTreeNode, OwnSessionTreeNode>;
export type SessionContext = Or<Pi.SessionContext, OwnSessionContext>;
export type SessionProjection = Or<Pi.SessionProjection, OwnSessionProjection>;
export type SessionInfo = Or<Pi.SessionInfo, OwnSessionInfo>;

/** How durable an entry is when an append returns: in the system's cache, or on disk (one sync for many, or each). */
export type Durability = "buffered" | "group" | "sync";

export interface OpenOptions {
  /** Overrides the durability of `configure`. */
  durability?: Durability;
}

export interface NewSessionOptions extends OpenOptions {
  id?: string;
  parentSession?: string;
}

/** Conditions of an append. */
export interface AppendOptions {
  /**
   * The leaf that the caller has seen; null before all entries. If the leaf is another one, or another program has
   * written since, the append fails with the code `LEAF_MOVED` and nothing is written.
   */
  expectedLeaf?: string | null;
}

export interface SearchHit {
  sessionPath: string;
  entryId?: string;
  role?: string;
  score: number;
  excerpt: string;
  /** The matches in the excerpt: start and end. */
  ranges: [number, number][];
  type?: string;
  timestamp?: string;
  offset: number;
}

export interface Finding {
  code: string;
  severity: string;
  line: number;
  offset: number;
  message: string;
  consequence: string;
  repair: string;
}

export interface Family {
  root: string;
  nodes: {
    sessionPath?: string;
    id?: string;
    parent?: string;
    depth: number;
    missing?: boolean;
    sharedEntries?: number;
  }[];
}

/** Figures of a session. docs/rpc.md has all of them. */
export interface SessionStatistics {
  sessionFile: string;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolErrors: number;
  toolResults: number;
  totalMessages: number;
  entries: number;
  compactionCount: number;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  cost: number;
  [figure: string]: unknown;
}

export type FollowEvent =
  | { type: "header"; header: SessionHeader }
  | { type: "entry"; entry: SessionEntry; line: number; offset: number }
  | { type: "skipped"; message: string; line: number }
  | { type: "restarted"; reason: "truncated" | "rewritten" | "replaced" }
  | { type: "gone" };

export interface FollowOptions {
  /** Where to start; after the current end by default. */
  from?: "beginning" | "now";
  /** Start after this entry. */
  after?: string;
  signal?: AbortSignal;
}

export interface Cancellable {
  signal?: AbortSignal;
}

export interface SearchOptions extends Cancellable {
  /** At most this many entries; 50 by default. */
  limit?: number;
}

/** What a session manager has beyond pi's. */
export interface Beyond {
  appendMessage(message: unknown, options: AppendOptions): string;
  appendThinkingLevelChange(thinkingLevel: string, options: AppendOptions): string;
  appendModelChange(provider: string, modelId: string, options: AppendOptions): string;
  appendCustomEntry(customType: string, data: unknown, options: AppendOptions): string;
  appendSessionInfo(name: string, options: AppendOptions): string;
  appendLabelChange(targetId: string, label: string | undefined, options: AppendOptions): string;
  /** Reads what other programs have appended. The leaf stays where it is. */
  refresh(): void;
  /** What the last append survives. */
  getLastDurability(): "memory" | "page-cache" | "disk" | "server" | undefined;
  /** Finds entries of this session by their text. */
  search(query: string, options?: SearchOptions): Promise<SearchHit[]>;
  /** Follows this session as other programs write it. */
  follow(options?: FollowOptions): AsyncIterableIterator<FollowEvent>;
  /** Finds everything that is wrong with the file of this session. */
  verify(): Promise<Finding[]>;
  /** The sessions that this one was forked from, and those that were forked from it. */
  family(options?: Cancellable): Promise<Family>;
  /** The usage and the shape of this session. */
  stats(options?: Cancellable): Promise<SessionStatistics>;
  /** Releases the file and its lock. Entries that were read stay readable; everything else fails. */
  close(): void;
}

/** pi's methods, if its types are not installed. */
export interface OwnSessionManager {
  setSessionFile(sessionFile: string): void;
  newSession(options?: NewSessionOptions): string | undefined;
  isPersisted(): boolean;
  getCwd(): string;
  getSessionDir(): string;
  usesDefaultSessionDir(): boolean;
  getSessionId(): string;
  getSessionFile(): string | undefined;
  appendMessage(message: unknown): string;
  appendThinkingLevelChange(thinkingLevel: string): string;
  appendModelChange(provider: string, modelId: string): string;
  appendUsage(kind: string, provider: string, model: string, usage: unknown, note?: string, options?: AppendOptions): OwnSessionEntry;
  appendCompaction(
    summary: string,
    firstKeptEntryId: string | null,
    tokensBefore: number,
    details?: unknown,
    fromHook?: boolean,
    usage?: unknown,
    options?: AppendOptions,
  ): string;
  appendCustomEntry(customType: string, data?: unknown): string;
  appendSessionInfo(name: string): string;
  getSessionName(): string | undefined;
  appendCustomMessageEntry(
    customType: string,
    content: unknown,
    display: boolean,
    details?: unknown,
    options?: AppendOptions,
  ): string;
  appendContextEdit(targetId: string, replacement: { content: unknown } | null, options?: AppendOptions): string;
  getLeafId(): string | null;
  getLeafEntry(): OwnSessionEntry | undefined;
  getEntry(id: string): OwnSessionEntry | undefined;
  getChildren(parentId: string): OwnSessionEntry[];
  getLabel(id: string): string | undefined;
  appendLabelChange(targetId: string, label: string | undefined): string;
  getBranch(fromId?: string): OwnSessionEntry[];
  buildContextEntries(): OwnSessionEntry[];
  buildSessionProjection(): OwnSessionProjection;
  buildSessionContext(): OwnSessionContext;
  getHeader(): OwnSessionHeader | null;
  getEntryCount(): number;
  getEntries(): OwnSessionEntry[];
  getTree(): OwnSessionTreeNode[];
  branch(branchFromId: string): void;
  resetLeaf(): void;
  branchWithSummary(
    branchFromId: string | null,
    summary: string,
    details?: unknown,
    fromHook?: boolean,
    usage?: unknown,
    options?: AppendOptions,
  ): string;
  createBranchedSession(leafId: string): string | undefined;
}

/** One session, open for reading and writing: pi's class on the engine of Sessile. */
export type SessionManager = Or<Pi.SessionManager, OwnSessionManager> & Beyond;

export type SessionListProgress = (loaded: number, total: number, partialSessions?: readonly SessionInfo[]) => void;

export interface SessionManagerConstructor {
  new (
    cwd: string,
    sessionDir: string,
    sessionFile: string | undefined,
    persist: boolean,
    options?: NewSessionOptions,
    entries?: FileEntry[],
  ): SessionManager;
  readonly prototype: SessionManager;
  create(cwd: string, sessionDir?: string, options?: NewSessionOptions): SessionManager;
  open(path: string, sessionDir?: string, cwdOverride?: string, options?: OpenOptions): SessionManager;
  continueRecent(cwd: string, sessionDir?: string, options?: OpenOptions): SessionManager;
  inMemory(cwd?: string, options?: NewSessionOptions, entries?: FileEntry[]): SessionManager;
  forkFrom(sourcePath: string, targetCwd: string, sessionDir?: string, options?: NewSessionOptions): SessionManager;
  findById(cwd: string, id: string, sessionDir?: string): string | undefined;
  list(cwd: string, sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]>;
  listAll(onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]>;
  listAll(sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]>;
  /** Finds entries by their text: in all sessions, or in those of a working directory. */
  search(query: string, options?: SearchOptions & { cwd?: string; sessionDir?: string; files?: string[] }): Promise<SearchHit[]>;
  /** Follows a session file as other programs write it. */
  follow(path: string, options?: FollowOptions): AsyncIterableIterator<FollowEvent>;
  /** Finds everything that is wrong with a session file. */
  verify(path: string): Promise<Finding[]>;
}

export declare const SessionManager: SessionManagerConstructor;

/** Sets options for all sessions that are opened from now on in this thread. */
export declare function configure(options: {
  /** How durable an entry is when an append returns; `buffered` by default, as in pi. */
  durability?: Durability;
  /** False to keep no caches in the user's cache directory. */
  caches?: boolean;
  /** How many bytes of lines a session keeps as objects; 64 MiB by default. */
  cacheBytes?: number;
}): void;

export declare function assertValidSessionId(id: string): void;
export declare function migrateSessionEntries(entries: FileEntry[]): void;
export declare function parseSessionEntries(content: string): FileEntry[];
export declare function getLatestCompactionEntry(entries: SessionEntry[]): SessionEntry | null;
export declare function sessionEntryToContextMessages(entry: SessionEntry): any[];
export declare function projectContextEntry(entry: SessionEntry, edit: SessionEntry | undefined): any[];
export declare function buildContextEntries(
  entries: SessionEntry[],
  leafId?: string | null,
  byId?: Map<string, SessionEntry>,
): SessionEntry[];
export declare function buildSessionProjection(
  entries: SessionEntry[],
  leafId?: string | null,
  byId?: Map<string, SessionEntry>,
): SessionProjection;
export declare function buildSessionContext(
  entries: SessionEntry[],
  leafId?: string | null,
  byId?: Map<string, SessionEntry>,
): SessionContext;
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string;
export declare function loadEntriesFromFile(filePath: string): FileEntry[];
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null;
