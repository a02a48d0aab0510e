/**
 * One MCP server during a conversation: connects beside everything else, tries again with growing pauses, and
 * compares the server's tools with the pinned ones. No call runs twice, because a tool may have side effects:
 * only one that the server refused, since it no longer knew the session, is sent once more in a new session.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { messageOf } from '#base/message-of.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import { type McpAnswer, type McpConnection, openMcpConnection } from '#protocol/mcp-connection.ts';
import { McpFailure } from '#protocol/mcp-failure.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** A changed list is read after this time, which grows for a server that changes its list all the time. */
const FIRST_RELIST_MS = 1_000;
const LONGEST_RELIST_MS = 30_000;
/** Lists read with the same pause. */
const RELISTS_A_STEP = 4;

/** A tool as the plan has it. */
export type PinnedTool = PlannedToolServer['tools'][number];

/** Options of a link. */
export interface ServerLinkOptions {
  readonly server: PlannedToolServer;
  /** The server's headers with placeholders filled. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly egress: Pick<EgressGuard, 'fetch'>;
  readonly tokens: McpTokens;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'> | null;
}

/** Resolves when the signal aborts. */
function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** The link to one server. */
export class ServerLink {
  readonly #options: ServerLinkOptions;
  readonly #closing = new AbortController();
  #connection: McpConnection | null = null;
  /** In progress; never rejects. */
  #attempt: Promise<void> | null = null;
  #failures = 0;
  /** Pinned tools that the server has unchanged; null until it has said so once. */
  #unchanged: ReadonlySet<string> | null = null;
  #retry: Timer | null = null;
  #relist: Timer | null = null;
  #relists = 0;

  constructor(options: ServerLinkOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.server.name;
  }

  /** True after a failed attempt, until the next one succeeds. */
  get isDown(): boolean {
    return this.#connection === null && this.#failures > 0;
  }

  /** Whether a pinned tool may be offered: until the server has answered once, it counts as unchanged. */
  isOffered(tool: PinnedTool): boolean {
    return !this.isDown && (this.#unchanged?.has(tool.name) ?? true);
  }

  /** Connects, unless that has begun. */
  start(): void {
    if (this.#connection || this.#attempt || this.#retry || this.#closing.signal.aborted) return;
    this.#attempt = this.#connect().finally(() => {
      this.#attempt = null;
    });
  }

  /**
   * Calls a tool, after the attempt to connect that is in progress. Throws `McpFailure`, an error after
   * `timeout_seconds` without an answer or progress, and the signal's reason.
   */
  async call(tool: PinnedTool, input: Record<string, unknown>, signal: AbortSignal): Promise<McpAnswer> {
    const connection = await this.#connectionFor(tool, signal);
    try {
      return await this.#callOver(connection, tool, { input, signal });
    } catch (error) {
      if (!(error instanceof McpFailure && error.isSessionGone)) throw error;
      return this.#callOver(await this.#connectionFor(tool, signal), tool, { input, signal });
    }
  }

  /** Ends the connection; the server is told. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error('the conversation has ended'));
    this.#retry?.cancel();
    this.#relist?.cancel();
    void this.#connection?.close();
    this.#connection = null;
  }

  /** An open connection, after the attempt to connect that is in progress. */
  async #connectionFor(tool: PinnedTool, signal: AbortSignal): Promise<McpConnection> {
    this.start();
    const attempt = this.#attempt;
    if (attempt !== null) await Promise.race([attempt, abortOf(signal)]);
    signal.throwIfAborted();
    const connection = this.#connection;
    if (!connection)
      throw new McpFailure('the tool server cannot be reached at the moment', { isLost: true });
    if (!this.isOffered(tool))
      throw new McpFailure('the tool has changed at its server since it was published', { isLost: false });
    return connection;
  }

  async #callOver(
    connection: McpConnection,
    tool: PinnedTool,
    { input, signal }: { readonly input: Record<string, unknown>; readonly signal: AbortSignal },
  ): Promise<McpAnswer> {
    const { clock, server } = this.#options;
    const silence = new AbortController();
    const wait = () =>
      clock.after(server.timeout_seconds * 1_000, () =>
        silence.abort(new Error(`timed out after ${server.timeout_seconds} s`)),
      );
    let timer = wait();
    try {
      return await connection.callTool(tool, input, {
        signal: AbortSignal.any([signal, silence.signal]),
        onProgress: () => {
          timer.cancel();
          timer = wait();
        },
      });
    } catch (error) {
      // A session may have died unnoticed: after a silence, too, the next call gets another one.
      if (silence.signal.aborted || (error instanceof McpFailure && error.isLost)) this.#lose(connection);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  async #connect(): Promise<void> {
    const { server, headers, egress, tokens, clock, logger } = this.#options;
    const deadline = this.#deadline();
    try {
      const connection = await openMcpConnection({
        server,
        headers,
        egress,
        tokens,
        clock,
        signal: deadline.signal,
        onListChanged: () => this.#onListChanged(),
      });
      try {
        await this.#compare(connection, deadline.signal);
        // The conversation may have ended since the list came.
        deadline.signal.throwIfAborted();
      } catch (error) {
        void connection.close();
        throw error;
      }
      this.#failures = 0;
      this.#connection = connection;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failures += 1;
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), LONGEST_RETRY_MS);
      logger?.warn(
        { toolServerId: server.tool_server_id, reason: messageOf(error), retryMs: waitMs },
        'a tool server cannot be reached',
      );
      this.#retry = clock.after(waitMs, () => {
        this.#retry = null;
        this.start();
      });
    } finally {
      deadline.cancel();
    }
  }

  async #compare(connection: McpConnection, signal: AbortSignal): Promise<void> {
    const { server, logger } = this.#options;
    const { tools } = await connection.listTools(signal);
    signal.throwIfAborted();
    const hashes = new Map(tools.map(({ name, hash }) => [name, hash]));
    const unchanged = server.tools.filter(({ name, hash }) => hashes.get(name) === hash);
    this.#unchanged = new Set(unchanged.map(({ name }) => name));
    if (unchanged.length < server.tools.length)
      logger?.warn(
        { toolServerId: server.tool_server_id, pinned: server.tools.length, unchanged: unchanged.length },
        'tools of a server have changed since they were published; they are not offered',
      );
  }

  #onListChanged(): void {
    if (this.#relist || this.#closing.signal.aborted) return;
    const pauseMs = FIRST_RELIST_MS * 2 ** Math.floor(this.#relists / RELISTS_A_STEP);
    this.#relists += 1;
    this.#relist = this.#options.clock.after(Math.min(pauseMs, LONGEST_RELIST_MS), () => {
      this.#relist = null;
      const connection = this.#connection;
      if (!connection) return;
      const deadline = this.#deadline();
      void this.#compare(connection, deadline.signal)
        .catch(() => this.#lose(connection))
        .finally(() => deadline.cancel());
    });
  }

  /** Connects anew, unless another call has noticed before. */
  #lose(connection: McpConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    void connection.close();
    this.start();
  }

  #deadline(): { readonly signal: AbortSignal; cancel(): void } {
    const { clock } = this.#options;
    const seconds = LIMITS.serverConnectMs / 1_000;
    const late = new AbortController();
    const timer = clock.after(LIMITS.serverConnectMs, () =>
      late.abort(new Error(`no answer within ${seconds} s`)),
    );
    return { signal: AbortSignal.any([late.signal, this.#closing.signal]), cancel: () => timer.cancel() };
  }
}
