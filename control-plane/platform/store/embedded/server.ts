/**
 * Server of the embedded database: MongoDB's wire protocol on a local socket. Commands run one at a time in
 * order of arrival; long reads and cursors go to the reader thread.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '#base/clock.ts';
import type { Document } from './bson-values.ts';
import { CATALOGUE_COMMANDS, changesCatalogue } from './catalogue-commands.ts';
import { commandName } from './command-fields.ts';
import { singleBatches, TooLong } from './cursors.ts';
import type { Store } from './documents.ts';
import { removeExpired } from './expiry.ts';
import { GroupCommit } from './group-commit.ts';
import { CURSOR_COMMANDS, READ_COMMANDS } from './read-commands.ts';
import type { Reply } from './read-context.ts';
import { RetryCache } from './retry-cache.ts';
import { SESSION_COMMANDS } from './session-commands.ts';
import { LOOPBACK, SignIn, signInUrl } from './sign-in.ts';
import { errorReply, StoreError } from './store-error.ts';
import { frameReply, MessageSplitter, parseMessage, type Request } from './wire.ts';
import { refuseTransaction, WRITE_COMMANDS } from './write-commands.ts';

/** Connection to the reader thread, which answers whole messages in parallel with the writer. */
export interface ReaderLink {
  /** Runs a read command; resolves with the framed reply. */
  run(message: Buffer): Promise<Uint8Array>;
  /**
   * Copies the write-ahead log into the database file as far as readers allow. This keeps the disk busy for
   * some ms, during which the writer must not wait. Resolves with the length of the log, pages.
   */
  checkpoint(): Promise<number>;
}

/** Where a server listens: on a Unix socket, or on a free port where clients sign in with a password. */
export type Endpoint =
  | { readonly type: 'socket'; readonly path: string }
  | { readonly type: 'port'; readonly password: string };

/** Dependencies of the server. */
export interface ServerDeps {
  readonly store: Store;
  readonly reader: ReaderLink;
  readonly clock: Clock;
  readonly expiryMs: number;
  readonly endpoint: Endpoint;
}

/**
 * Rows a read may examine before it counts as long: about one page of a list, with headroom for filtering.
 */
const LONG_READ_ROWS = 200;
/** The same for an aggregation, which needs each document decoded: 200 sessions took up to 15 ms. */
const LONG_AGGREGATION_ROWS = 20;
/** From the first commit that is not in the database file to the next checkpoint. */
const CHECKPOINT_MS = 1_000;
/**
 * A log of so many pages, 16 MiB, begins anew. SQLite would make a commit copy the last second of a log four
 * times as long, and a growing file makes each commit wait for the file system's journal, too.
 */
const LONG_LOG_PAGES = 4_000;
/**
 * While nothing is written, so many sweeps of the TTL indexes are left out after each. They are 5 s apart, so
 * expired documents are removed within a minute, as by MongoDB.
 */
const SWEEPS_LEFT_OUT = 11;
/** On a port, which every program of the machine can open. Our driver's pool has 50, and a few monitor. */
const MAX_PORT_CONNECTIONS = 128;

/** Serves one store until it is closed. */
export class StoreServer {
  readonly #deps: ServerDeps;
  readonly #retries = new RetryCache();
  readonly #group: GroupCommit;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #expiryTimer: Timer;

  /** True at startup, because the previous run may have ended between an erasure and its scrub. */
  #isScrubDue = true;
  #isCheckpointing = false;
  #sweepsToLeaveOut = 0;
  #checkpointTimer: Timer | null = null;
  #isClosed = false;

  constructor(deps: ServerDeps) {
    this.#deps = deps;
    this.#group = new GroupCommit(deps.store, this.#retries, () => {
      this.#sweepsToLeaveOut = 0;
      this.#scheduleCheckpoint();
    });
    this.#server = createServer((socket) => this.#serve(socket));
    if (deps.endpoint.type === 'port') this.#server.maxConnections = MAX_PORT_CONNECTIONS;
    this.#expiryTimer = deps.clock.every(deps.expiryMs, () => this.#sweep());
    this.#scheduleCheckpoint();
  }

  /** Listens, and resolves with the connection URL for a MongoDB driver. */
  listen(): Promise<string> {
    const { endpoint } = this.#deps;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      if (endpoint.type === 'socket')
        this.#server.listen(endpoint.path, () =>
          resolve(`mongodb://${encodeURIComponent(endpoint.path)}/?directConnection=true`),
        );
      else
        this.#server.listen(0, LOOPBACK, () => {
          const { port } = this.#server.address() as AddressInfo;
          resolve(signInUrl(port, endpoint.password));
        });
    });
  }

  /** Commits the open group, closes all connections and stops. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#group.flush();
    this.#expiryTimer.cancel();
    this.#checkpointTimer?.cancel();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #serve(socket: Socket): void {
    const splitter = new MessageSplitter();
    const { endpoint } = this.#deps;
    const signIn = new SignIn(endpoint.type === 'port' ? endpoint.password : null);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // Disconnects need no handling here; 'close' follows.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const message of splitter.push(chunk, signIn.maxMessageBytes)) {
          if (signIn.hasFailed) return;
          this.#handle(socket, message, signIn);
        }
      } catch {
        socket.destroy();
      }
    });
  }

  #handle(socket: Socket, message: Buffer, signIn: SignIn): void {
    const request = parseMessage(message);
    const send = (reply: Reply) => {
      if (request.wantsReply && socket.writable) socket.write(frameReply(request, reply));
      if (signIn.hasFailed) socket.destroySoon();
    };
    try {
      const { reply, retryKey } = this.#execute(request, signIn);
      if (this.#group.isOpen) this.#group.hold({ reply, send, retryKey });
      else send(reply);
    } catch (error) {
      if (error instanceof TooLong) this.#forward(socket, message);
      else {
        // A refusal does not affect the group. An internal error may have left a partial write, so the whole
        // group is rolled back.
        if (!(error instanceof StoreError) && changesSomething(request)) this.#group.fail(error);
        this.#refuse(error, send);
      }
    }
  }

  #refuse(error: unknown, send: (reply: Reply) => void): void {
    if (this.#group.isOpen) this.#group.hold({ reply: errorReply(error), send, retryKey: null });
    else send(errorReply(error));
  }

  #forward(socket: Socket, message: Buffer): void {
    this.#deps.reader.run(message).then(
      (reply) => {
        if (!socket.destroyed) socket.write(reply);
      },
      () => socket.destroy(),
    );
  }

  #execute(
    { command }: Request,
    signIn: SignIn,
  ): { readonly reply: Reply; readonly retryKey: string | null } {
    const { store, clock } = this.#deps;
    const name = commandName(command).toLowerCase();
    const signedIn = signIn.take(name, command);
    if (signedIn) return { reply: signedIn, retryKey: null };
    const session = SESSION_COMMANDS.get(name);
    if (session) return { reply: session(clock, command), retryKey: null };
    refuseTransaction(command);
    if (CURSOR_COMMANDS.has(name)) throw new TooLong();
    const read = READ_COMMANDS.get(name);
    if (read) {
      const onExamined = rowBudget(name === 'aggregate' ? LONG_AGGREGATION_ROWS : LONG_READ_ROWS);
      return { reply: read({ store, cursors: singleBatches, onExamined }, command), retryKey: null };
    }
    const catalogue = CATALOGUE_COMMANDS.get(name);
    if (catalogue) {
      const reply = changesCatalogue(name)
        ? this.#atomically(() => catalogue(store, command))
        : catalogue(store, command);
      return { reply, retryKey: null };
    }
    if (WRITE_COMMANDS.has(name)) return this.#write(name, command);
    throw new StoreError('CommandNotFound', `no such command: '${commandName(command)}'`);
  }

  #write(name: string, command: Document): { readonly reply: Reply; readonly retryKey: string | null } {
    const retryKey = this.#retries.keyOf(command);
    const earlier = retryKey === null ? undefined : this.#retries.find(retryKey, command);
    if (earlier) return { reply: earlier, retryKey };
    const reply = WRITE_COMMANDS.get(name)?.(this.#deps, command) ?? {};
    if (retryKey !== null) this.#retries.remember(retryKey, command, reply);
    return { reply, retryKey };
  }

  #atomically(work: () => Reply): Reply {
    try {
      return this.#deps.store.sqlite.atomically(work);
    } catch (error) {
      this.#deps.store.catalogue.reload();
      throw error;
    }
  }

  #sweep(): void {
    this.#sweepsToLeaveOut -= 1;
    if (this.#sweepsToLeaveOut > 0) return;
    this.#sweepsToLeaveOut = SWEEPS_LEFT_OUT + 1;
    this.#guarded(() => removeExpired(this.#deps.store, this.#deps.clock.wallTime()));
  }

  /** Runs internal work and commits it together with the open group. */
  #guarded(work: () => void): void {
    try {
      work();
      this.#group.flush();
    } catch (error) {
      this.#group.fail(error);
    }
  }

  /** Purges deleted data from the disk as soon as no reader needs the old state. */
  scrub(): void {
    this.#isScrubDue = true;
    this.#group.flush();
    this.#checkpoint();
  }

  #scheduleCheckpoint(): void {
    if (this.#isClosed) return;
    this.#checkpointTimer ??= this.#deps.clock.after(CHECKPOINT_MS, () => {
      this.#checkpointTimer = null;
      this.#checkpoint();
    });
  }

  #checkpoint(): void {
    if (this.#isCheckpointing) {
      this.#scheduleCheckpoint();
      return;
    }
    this.#isCheckpointing = true;
    void this.#copyLog().finally(() => {
      this.#isCheckpointing = false;
      // Nearly everything is copied already, so that commands wait only briefly.
      if (this.#isScrubDue) this.#emptyLog();
      if (this.#isScrubDue) this.#scheduleCheckpoint();
    });
  }

  /** Copies the log. The next write after a long one begins it anew, once all of it is copied. */
  async #copyLog(): Promise<void> {
    const { reader, store } = this.#deps;
    if ((await reader.checkpoint()) < LONG_LOG_PAGES) return;
    // Copies what was written meanwhile. A few pages are left then, and commands wait for those only.
    await reader.checkpoint();
    if (this.#isClosed) return;
    this.#group.flush();
    try {
      store.sqlite.checkpoint();
    } catch {
      // Disk full: committed data stays in the log until there is space.
    }
  }

  #emptyLog(): void {
    if (this.#group.isOpen) return;
    try {
      this.#isScrubDue = !this.#deps.store.sqlite.emptyLog();
    } catch {
      // Disk full: committed data stays in the log until there is space.
    }
  }
}

function changesSomething({ command }: Request): boolean {
  const name = commandName(command).toLowerCase();
  return WRITE_COMMANDS.has(name) || CATALOGUE_COMMANDS.has(name);
}

function rowBudget(rows: number): () => void {
  let left = rows;
  return () => {
    if (left === 0) throw new TooLong();
    left -= 1;
  };
}
