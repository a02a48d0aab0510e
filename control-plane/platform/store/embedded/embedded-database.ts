/**
 * Starts the embedded database in a thread of its own, so that neither storage nor the disk ever holds up the
 * event loop.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { WriterMessage, WriterOptions, WriterOrder } from './writer-thread.ts';

/** A running embedded database. */
export interface EmbeddedDatabase {
  /** For a MongoDB driver. */
  readonly url: string;
  /** Copies what is committed now into a new file, while it serves. Rejects when that cannot be written. */
  copyTo(file: string): Promise<void>;
  /** Has what was deleted or overwritten disappear from the disk soon. */
  scrub(): void;
  /** Commits and stops. Idempotent. */
  close(): Promise<void>;
}

/** How it is started. */
export interface EmbeddedOptions {
  /** Directory for the file; created when missing. */
  readonly directory: string;
  /**
   * Called when the thread died by itself: acknowledged writes are safe, but this process can serve no
   * longer.
   */
  onFatal(error: Error): void;
  /** Time between two sweeps of TTL indexes; 5 s, or less for a test. */
  readonly expiryMs?: number;
}

const EXPIRY_MS = 5_000;
/** Longest path of a unix socket (sockaddr_un has 108 bytes with the end mark). */
const MAX_SOCKET_PATH_BYTES = 107;

/** Starts it; resolves when it takes connections. Rejects when the file cannot be opened. */
export async function startEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const socketPath = chooseSocketPath(options.directory);
  const databaseFile = join(options.directory, 'database.sqlite');
  const workerData: WriterOptions = {
    file: databaseFile,
    socketPath,
    expiryMs: options.expiryMs ?? EXPIRY_MS,
  };
  const thread = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData });
  let isClosing = false;
  let isReady = false;
  let hasFailed = false;
  const closed = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => {
      // A crash is told twice, as the error and as the end of the thread.
      if (isClosing || hasFailed) return;
      hasFailed = true;
      if (isReady) options.onFatal(error);
      else reject(error);
    };
    thread.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
    thread.on('exit', (code) => fail(new Error(`the embedded database ended with code ${code}`)));
    thread.on('message', (message: WriterMessage) => {
      if (message.type !== 'ready') return;
      isReady = true;
      resolve();
    });
  });
  const order = (message: WriterOrder) => thread.postMessage(message);
  return {
    url: `mongodb://${encodeURIComponent(socketPath)}/?directConnection=true`,
    copyTo: (file) => copy(databaseFile, file),
    scrub: () => order('scrub'),
    close: async () => {
      if (!isClosing) {
        isClosing = true;
        order('close');
      }
      await closed;
      rmSync(socketPath, { force: true });
      if (dirname(socketPath) !== options.directory)
        rmSync(dirname(socketPath), { recursive: true, force: true });
    },
  };
}

function copy(from: string, to: string): Promise<void> {
  const thread = new Worker(new URL('./copy-thread.ts', import.meta.url), { workerData: { from, to } });
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.once('exit', () => resolve());
  });
}

/** Beside the file, or in a directory of our own where that path would be too long for a socket. */
function chooseSocketPath(directory: string): string {
  const beside = join(directory, 'database.sock');
  if (Buffer.byteLength(beside) <= MAX_SOCKET_PATH_BYTES) return beside;
  return join(mkdtempSync(join(tmpdir(), 'parley-')), 'database.sock');
}
