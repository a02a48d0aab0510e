/** Starts the embedded database in its own thread, so that disk access never blocks the event loop. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { hasUnixSockets, MAX_SOCKET_PATH_BYTES } from '#base/platform.ts';
import type { WriterOptions, WriterOrder, WriterReady } from './serve-store.ts';
import type { Endpoint } from './server.ts';

/** A running embedded database. */
export interface EmbeddedDatabase {
  /** Connection URL for a MongoDB driver. */
  readonly url: string;
  /**
   * Copies the currently committed data into a new file while serving. Rejects if the file cannot be written.
   */
  copyTo(file: string): Promise<void>;
  /** Purges deleted and overwritten data from the disk soon. */
  scrub(): void;
  /** Commits and stops the database. Idempotent. */
  close(): Promise<void>;
}

/** Options of the embedded database. */
export interface EmbeddedOptions {
  /** Directory of the database file; created if missing. */
  readonly directory: string;
  /**
   * Called when the thread has crashed: acknowledged writes are safe, but this process can no longer serve.
   */
  onFatal(error: Error): void;
  /** Interval between sweeps of TTL indexes; 5 s by default, shorter in tests. */
  readonly expiryMs?: number;
  /**
   * So long after their start, 0.5 s by default, the threads load what a command would wait for otherwise;
   * null: at its first use, for tests.
   */
  readonly preloadMs?: number | null;
  /** Starts the thread that serves the file: one of its own, unless tests share one. */
  readonly startThread?: StartThread;
}

/** What can happen to the thread of a database. */
export interface ThreadEvents {
  onReady(url: string): void;
  onError(error: unknown): void;
  onExit(code: number): void;
}

/** Starts the thread of a database. Returns what gives it orders. */
export type StartThread = (options: WriterOptions, events: ThreadEvents) => (order: WriterOrder) => void;

const EXPIRY_MS = 5_000;
/** The control plane is still busy with its own start, and no call waits yet. */
const PRELOAD_MS = 500;
const PASSWORD_BYTES = 32;

/** Starts the database; resolves once it accepts connections. Rejects if the file cannot be opened. */
export async function startEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const endpoint: Endpoint = hasUnixSockets
    ? { type: 'socket', path: chooseSocketPath(options.directory) }
    : { type: 'port', password: randomBytes(PASSWORD_BYTES).toString('hex') };
  const databaseFile = join(options.directory, 'database.sqlite');
  const writer: WriterOptions = {
    file: databaseFile,
    endpoint,
    expiryMs: options.expiryMs ?? EXPIRY_MS,
    preloadMs: options.preloadMs === undefined ? PRELOAD_MS : options.preloadMs,
  };
  let isClosing = false;
  let isReady = false;
  let hasFailed = false;
  const { startThread = startOwnThread } = options;
  const exited = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<string>();
  const fail = (error: Error) => {
    // A crash is reported twice: as an error and as the thread's exit.
    if (isClosing || hasFailed) return;
    hasFailed = true;
    if (isReady) options.onFatal(error);
    else ready.reject(error);
  };
  const order = startThread(writer, {
    onReady: (url) => {
      isReady = true;
      ready.resolve(url);
    },
    onError: (error) => fail(error instanceof Error ? error : new Error(String(error))),
    onExit: (code) => {
      exited.resolve();
      fail(new Error(`the embedded database ended with code ${code}`));
    },
  });
  const url = await ready.promise;
  return {
    url,
    copyTo: (file) => copy(databaseFile, file),
    scrub: () => order('scrub'),
    close: async () => {
      if (!isClosing) {
        isClosing = true;
        order('close');
      }
      await exited.promise;
      if (endpoint.type !== 'socket') return;
      rmSync(endpoint.path, { force: true });
      if (dirname(endpoint.path) !== options.directory)
        rmSync(dirname(endpoint.path), { recursive: true, force: true });
    },
  };
}

const startOwnThread: StartThread = (workerData, { onReady, onError, onExit }) => {
  const thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    name: 'store-writer',
    workerData,
  });
  thread.on('error', onError);
  thread.on('exit', onExit);
  thread.on('message', ({ url }: WriterReady) => onReady(url));
  return (order) => thread.postMessage(order);
};

function copy(from: string, to: string): Promise<void> {
  const thread = new Worker(new URL('./copy-thread.ts', import.meta.url), { workerData: { from, to } });
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('exit', () => resolve());
  });
}

/** A path next to the database file, or in a temporary directory if that is too long for a socket. */
function chooseSocketPath(directory: string): string {
  const beside = join(directory, 'database.sock');
  if (Buffer.byteLength(beside) <= MAX_SOCKET_PATH_BYTES) return beside;
  return join(mkdtempSync(join(tmpdir(), 'parley-')), 'database.sock');
}
