/**
 * Pieces that a control plane holds in memory only, on their worker's disk until their object is stored:
 * both may die at once. A file is deleted once nothing in it is waiting. If the object of a piece in it was
 * given up, `LeftPieces` gets the file instead, which also sends the pieces of dead workers.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { PieceHead, Upload } from '#protocol/uploads.ts';
import { keptStreamOf, newKeptFile, numbersOf, recordOf, releaseOf, syncNames } from './kept-files.ts';
import type { LeftPieces } from './left-pieces.ts';

/** Then another file is begun: one is only deleted as a whole. */
const FULL_BYTES = 16 * 1024 * 1024;
const FULL_MS = 60_000;
/** Above this, left pieces included, nothing more is kept. Two hundred calls need about 70 MiB. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Records survive a kill at once, and a loss of power after this: a sync holds up other writers. */
const SYNC_MS = 1_000;

/** Dependencies of kept pieces. */
export interface KeptPiecesDeps {
  /** Of this worker; it exists. */
  readonly directory: string;
  readonly left: Pick<LeftPieces, 'bytes' | 'retry'>;
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
  /** Pieces in it that are not stored yet, without those whose object was given up. */
  waiting: number;
  givenUp: number;
  isNamed: boolean;
  /** Called once the records are on the disk, or cannot be. */
  unsynced: ((isKept: boolean) => void)[];
}

/** A piece; it has a file once it is written. */
interface KeptPiece {
  file: KeptFile | null;
  isGivenUp: boolean;
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
  #isFull = false;
  #isClosed = false;

  constructor(deps: KeptPiecesDeps) {
    this.#deps = deps;
  }

  /** Resolves to false if the piece is not on the disk: it must be stored elsewhere. */
  keep(upload: Upload): Promise<boolean> {
    if (this.#isClosed || this.#hasTooMuch()) return Promise.resolve(false);
    const { promise, resolve: onDone } = Promise.withResolvers<boolean>();
    const key = keyOf(upload.head, upload.head.piece);
    const piece: KeptPiece = { file: null, isGivenUp: false };
    this.#pieces.set(key, piece);
    this.#queue.push({ key, piece, record: recordOf(upload), onDone });
    this.#writing ??= this.#write();
    return promise;
  }

  /** These pieces are stored, or not wanted. */
  release(head: PieceHead): void {
    for (const file of this.#settle(head, false)) {
      this.#removeIfDone(file);
      // Without it the pieces would only be stored twice.
      if (this.#files.has(file)) write(file, releaseOf(head)).catch(() => undefined);
    }
  }

  /** The object of these pieces could not be stored: they are sent again from the disk. */
  giveUp(head: PieceHead): void {
    for (const file of this.#settle(head, true)) this.#removeIfDone(file);
  }

  /** Pieces that are not released stay for the next worker. */
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

  #hasTooMuch(): boolean {
    const { left, logger, mostBytes = MOST_BYTES } = this.#deps;
    const bytes = [...this.#files].reduce((sum, file) => sum + file.bytes, left.bytes);
    const isFull = bytes > mostBytes;
    if (isFull && !this.#isFull)
      logger.warn({ bytes }, 'too many recordings are kept on this disk; more are stored piece by piece');
    this.#isFull = isFull;
    return isFull;
  }

  /** Returns the files that these pieces are in. */
  #settle(head: PieceHead, isGivenUp: boolean): Set<KeptFile> {
    const files = new Set<KeptFile>();
    for (const number of numbersOf(head)) {
      const key = keyOf(head, number);
      const piece = this.#pieces.get(key);
      if (!piece) continue;
      // One that is not written yet is counted then.
      piece.isGivenUp = isGivenUp;
      if (!piece.file && isGivenUp) continue;
      this.#pieces.delete(key);
      if (!piece.file) continue;
      piece.file.waiting -= 1;
      if (isGivenUp) piece.file.givenUp += 1;
      files.add(piece.file);
    }
    return files;
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
        if (piece.isGivenUp) {
          this.#pieces.delete(key);
          file.givenUp += 1;
        } else file.waiting += 1;
      }
      if (file.bytes >= fullBytes || clock.now() - file.openedMs >= FULL_MS) this.#finish(file);
      this.#syncTimer ??= clock.after(SYNC_MS, () => void this.#sync());
    } catch (error) {
      logger.warn({ err: error }, 'recordings cannot be kept on this disk; they are stored piece by piece');
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
    const empty = { bytes: 0, waiting: 0, givenUp: 0, isNamed: false, unsynced: [] };
    const file = { path, handle, openedMs, written, ...empty };
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
    // Records on their way there are not counted yet.
    const isInUse = file === this.#current && this.#writing !== null;
    if (file.waiting > 0 || isInUse || !this.#files.delete(file)) return;
    if (this.#current === file) this.#current = null;
    for (const onDone of file.unsynced.splice(0)) onDone(true);
    const remove = async () => {
      await Promise.allSettled([file.written]);
      await file.handle.close();
      if (file.givenUp > 0) this.#deps.left.retry(file.path, file.bytes);
      else await rm(file.path, { force: true });
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
