/**
 * Pieces that a control plane holds in memory only, on their worker's disk until their object is stored:
 * both may die at once. They are in files of the worker's spool, behind its lock; a file is deleted once
 * nothing in it is waiting. `LeftPieces` sends what dead workers have left.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { PieceHead, Upload } from '#protocol/uploads.ts';
import { keptStreamOf, newKeptFile, numbersOf, recordOf, releaseOf, syncNames } from './kept-files.ts';

/** Then another file is begun: one is only deleted as a whole. */
const FULL_BYTES = 16 * 1024 * 1024;
const FULL_MS = 60_000;
/** Above this nothing more is kept. Two hundred calls need about 70 MiB. */
const MOST_BYTES = 256 * 1024 * 1024;
/** What is written survives a kill at once, and a loss of power after this: a sync holds up other writers. */
const SYNC_MS = 1_000;

/** Dependencies of kept pieces. */
export interface KeptPiecesDeps {
  /** Of the worker's spool. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Another file is begun above this, and nothing more is kept above that. */
  readonly fullBytes?: number;
  readonly mostBytes?: number;
}

interface KeptFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly openedMs: number;
  /** Settled once everything so far is written. */
  written: Promise<unknown>;
  bytes: number;
  /** Pieces in it that are not stored yet. */
  waiting: number;
  isNamed: boolean;
  /** Whom to tell that what was written is on the disk, or is not. */
  unsynced: ((isKept: boolean) => void)[];
}

/** A piece; it has a file once it is written. */
interface KeptPiece {
  file: KeptFile | null;
}

interface WriteJob {
  readonly key: string;
  readonly piece: KeptPiece;
  readonly record: Buffer;
  readonly onDone: (isKept: boolean) => void;
}

/** The kept pieces of one worker. */
export class KeptPieces {
  readonly #deps: KeptPiecesDeps;
  readonly #pieces = new Map<string, KeptPiece>();
  readonly #files = new Set<KeptFile>();
  readonly #queue: WriteJob[] = [];
  #current: KeptFile | null = null;
  #writing: Promise<void> | null = null;
  #removing: Promise<unknown> = Promise.resolve();
  #syncTimer: Timer | null = null;
  #isClosed = false;

  constructor(deps: KeptPiecesDeps) {
    this.#deps = deps;
  }

  /** Resolves to false if the piece is not on the disk: it must be stored elsewhere. */
  keep(upload: Upload): Promise<boolean> {
    const { mostBytes = MOST_BYTES } = this.#deps;
    const bytes = [...this.#files].reduce((sum, file) => sum + file.bytes, 0);
    if (this.#isClosed || bytes > mostBytes) return Promise.resolve(false);
    const { promise, resolve: onDone } = Promise.withResolvers<boolean>();
    const key = keyOf(upload.head, upload.head.piece);
    const piece: KeptPiece = { file: null };
    this.#pieces.set(key, piece);
    this.#queue.push({ key, piece, record: recordOf(upload), onDone });
    this.#writing ??= this.#write();
    return promise;
  }

  /** These pieces are stored, or not wanted. */
  release(head: PieceHead): void {
    const files = new Set<KeptFile>();
    for (const number of numbersOf(head)) {
      const key = keyOf(head, number);
      const file = this.#pieces.get(key)?.file;
      this.#pieces.delete(key);
      if (!file) continue;
      file.waiting -= 1;
      files.add(file);
    }
    for (const file of files) {
      this.#removeIfDone(file);
      // Without it the pieces would only be stored twice.
      if (this.#files.has(file)) write(file, releaseOf(head)).catch(() => undefined);
    }
  }

  /** What is not released stays for the next worker. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    this.#syncTimer?.cancel();
    await this.#sync();
    await this.#removing;
    for (const { handle, written } of this.#files) {
      await Promise.allSettled([written]);
      await handle.close();
    }
  }

  async #write(): Promise<void> {
    // Pieces of the same moment are written together.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#append(this.#queue.splice(0));
    this.#writing = null;
    if (this.#current) this.#removeIfDone(this.#current);
  }

  async #append(jobs: readonly WriteJob[]): Promise<void> {
    const { clock, logger, fullBytes = FULL_BYTES } = this.#deps;
    try {
      this.#current ??= await this.#open();
      const file = this.#current;
      const records = Buffer.concat(jobs.map(({ record }) => record));
      await write(file, records);
      for (const { key, piece, onDone } of jobs) {
        file.unsynced.push(onDone);
        if (this.#pieces.get(key) !== piece) continue;
        piece.file = file;
        file.waiting += 1;
      }
      if (file.bytes >= fullBytes || clock.now() - file.openedMs >= FULL_MS) this.#finish(file);
      this.#syncTimer ??= clock.after(SYNC_MS, () => void this.#sync());
    } catch (error) {
      logger.warn({ err: error }, 'recordings cannot be kept on this disk; the control plane stores them');
      for (const { key, onDone } of jobs) {
        this.#pieces.delete(key);
        onDone(false);
      }
      // It may end in the middle of a record.
      if (this.#current) this.#finish(this.#current);
    }
  }

  async #open(): Promise<KeptFile> {
    const path = newKeptFile(this.#deps.directory);
    const handle = await open(path, 'ax', 0o600);
    const openedMs = this.#deps.clock.now();
    const written = Promise.resolve();
    const file = { path, handle, openedMs, written, bytes: 0, waiting: 0, isNamed: false, unsynced: [] };
    this.#files.add(file);
    return file;
  }

  async #sync(): Promise<void> {
    this.#syncTimer = null;
    for (const file of [...this.#files]) {
      const told = file.unsynced;
      if (told.length === 0) continue;
      file.unsynced = [];
      const isSynced = await this.#syncFile(file);
      // Deleted meanwhile: everything in it is stored.
      for (const onDone of told) onDone(isSynced || !this.#files.has(file));
    }
  }

  async #syncFile(file: KeptFile): Promise<boolean> {
    try {
      await file.handle.datasync();
      if (!file.isNamed) await syncNames(this.#deps.directory);
      file.isNamed = true;
      return true;
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'kept recordings may not survive a loss of power');
      return false;
    }
  }

  /** Nothing more is written to it. */
  #finish(file: KeptFile): void {
    this.#current = null;
    this.#removeIfDone(file);
  }

  #removeIfDone(file: KeptFile): void {
    // What is being written there is not counted yet.
    const isInUse = file === this.#current && this.#writing !== null;
    if (file.waiting > 0 || isInUse || !this.#files.delete(file)) return;
    if (this.#current === file) this.#current = null;
    for (const onDone of file.unsynced.splice(0)) onDone(true);
    const remove = async () => {
      await Promise.allSettled([file.written]);
      await file.handle.close();
      await rm(file.path, { force: true });
    };
    this.#removing = Promise.all([this.#removing, remove()]).catch((error: unknown) => {
      this.#deps.logger.warn({ err: error }, 'a file of kept recordings cannot be deleted');
    });
  }
}

/** One after the other, and none after one that failed: a record must not begin within another one. */
function write(file: KeptFile, record: Buffer): Promise<void> {
  const writing = file.written.then(() => file.handle.appendFile(record));
  file.written = writing;
  file.bytes += record.length;
  return writing;
}

function keyOf(head: PieceHead, number: number): string {
  return `${keptStreamOf(head)}/${number}`;
}
