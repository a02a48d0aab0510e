/**
 * The spool: durable reports stay here from their creation until the control plane has acknowledged them, so
 * neither a lost link nor a killed worker loses one. One locked directory per worker instance, one JSON line
 * per report. A new worker on the same machine reads what a dead one left.
 */
import {
  constants,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type DataDirLock, lockDataDir, tryExistingLock } from '#base/data-dir-lock.ts';
import { type DurableReport, type ReportEnvelope, reportEnvelope } from '#protocol/worker-link.ts';
import { keyOf } from './session-key.ts';

/** A larger file is emptied once nothing in it is waiting. */
const TRUNCATE_BYTES = 256 * 1024;
const REPORTS = 'reports.jsonl';
/** A file whose time of change is when the worker was last alive. */
const ALIVE = 'alive';
/** A file that is there if a supervisor reports the worker's death. */
const SUPERVISED = 'supervised';
/** Of directories that others leave alone; workers of earlier versions know this one. */
const HIDDEN = '.starting-';

interface SessionQueue {
  readonly sessionId: string;
  readonly epoch: number;
  lastSeq: number;
  acknowledgedSeq: number;
  waiting: ReportEnvelope[];
}

/** The reports of one worker instance. */
export interface Spool {
  /** When the worker that left it was last alive; null for a worker's own spool. */
  readonly aliveAt: Date | null;
  /** Notes that its worker is alive at this time, for the one that adopts the spool. */
  touch(at: Date): void;
  /** Numbers the report and appends it. Writes are ordered; the call does not wait for them. */
  append(
    session: { readonly sessionId: string; readonly epoch: number },
    report: DurableReport,
  ): ReportEnvelope;
  /** Removes everything up to `seq`. */
  acknowledge(sessionId: string, epoch: number, seq: number): void;
  /** Removes a session whose epoch is over. */
  drop(sessionId: string, epoch: number): void;
  /** Reports without acknowledgement: of one session from `fromSeq`, or of all. */
  waiting(session?: {
    readonly sessionId: string;
    readonly epoch: number;
    readonly fromSeq: number;
  }): readonly ReportEnvelope[];
  /** True when `fromSeq` is neither here nor acknowledged while later reports are waiting. */
  isMissing(session: {
    readonly sessionId: string;
    readonly epoch: number;
    readonly fromSeq: number;
  }): boolean;
  /** Waits for pending writes and releases the directory; removes it when nothing is waiting. */
  close(): Promise<void>;
}

/**
 * Opens the spool of a new instance: its own directory under `root`, locked for the life of this process.
 * `isSupervised`: only the next worker of its supervisor takes it, not one that watches it.
 */
export async function openSpool(root: string, instanceId: string, isSupervised = false): Promise<Spool> {
  const directory = spoolOf(root, instanceId);
  const hidden = hiddenName(directory);
  await mkdir(hidden, { recursive: true, mode: 0o700 });
  const lock = lockDataDir(hidden);
  for (const name of [ALIVE, ...(isSupervised ? [SUPERVISED] : [])])
    await writeFile(join(hidden, name), '', { mode: 0o600 });
  const file = await open(join(hidden, REPORTS), 'a', 0o600);
  try {
    await rename(hidden, directory);
  } catch (error) {
    await rm(hidden, { recursive: true, force: true });
    await letGo(file, lock);
    throw error;
  }
  return createSpool(placeOf(file, directory, lock), '');
}

/** Options of `adoptSpools`. */
export interface AdoptOptions {
  /** The instance that adopts. */
  readonly own?: string;
  /** Leaves the spools of supervised workers to the workers that their supervisor starts. */
  readonly watches?: boolean;
  /** Called for a directory that cannot be used, which holds up no other. */
  readonly onUnusable?: (name: string, error: unknown) => void;
}

/** Adopts spools of dead instances, which are those whose lock can be acquired. By instance. */
export async function adoptSpools(root: string, options: AdoptOptions = {}): Promise<Map<string, Spool>> {
  const adopted = new Map<string, Spool>();
  const own = options.own === undefined ? null : nameOf(options.own);
  const names = await readdir(root).catch(() => []);
  for (const name of names.filter((one) => !one.startsWith(HIDDEN) && one !== own)) {
    try {
      // Its lock may not even be tried: the next worker, trying at the same moment, would find it taken.
      if (options.watches && (await isThere(join(root, name, SUPERVISED)))) continue;
      const spool = await adoptSpool(join(root, name));
      if (spool) adopted.set(name, spool);
    } catch (error) {
      // Gone meanwhile: its worker has ended with nothing left.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') options.onUnusable?.(name, error);
    }
  }
  return adopted;
}

/** Null while its worker lives, and if that has just removed it. Creates no directory and no reports. */
async function adoptSpool(directory: string): Promise<Spool | null> {
  const file = await open(join(directory, REPORTS), constants.O_RDWR | constants.O_APPEND);
  let lock: DataDirLock | null = null;
  try {
    lock = tryExistingLock(directory);
    if (lock && (await file.stat()).nlink > 0) {
      const text = await readFile(join(directory, REPORTS), 'utf8');
      return createSpool(placeOf(file, directory, lock), text, await aliveAtOf(directory));
    }
  } catch (error) {
    await letGo(file, lock);
    // The lock of a directory that is gone cannot be opened.
    await stat(directory);
    throw error;
  }
  await letGo(file, lock);
  return null;
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function letGo(file: FileHandle, lock: DataDirLock | null): Promise<void> {
  lock?.release();
  await file.close();
}

/** The directory of an instance. */
export function spoolOf(root: string, instanceId: string): string {
  return join(root, nameOf(instanceId));
}

function nameOf(instanceId: string): string {
  return instanceId.replace(/[^\w-]/g, '_');
}

/**
 * A directory has this name until it is locked, and again before it is removed: at those moments others must
 * not take it for that of a dead worker.
 */
function hiddenName(directory: string): string {
  return join(dirname(directory), `${HIDDEN}${basename(directory)}`);
}

/** Null for the spool of an older version, whose worker left no sign of life. */
async function aliveAtOf(directory: string): Promise<Date | null> {
  return stat(join(directory, ALIVE)).then(
    ({ mtime }) => mtime,
    () => null,
  );
}

/** Where a spool is stored. */
export interface SpoolPlace {
  append(line: string): Promise<void>;
  /** Notes the time at which the worker was alive. */
  touch(at: Date): Promise<void>;
  /** Removes every line. */
  empty(): Promise<void>;
  /** Lets other processes use it; removes it if nothing is waiting. */
  close(isWaiting: boolean): Promise<void>;
}

/**
 * Opens a spool that contains these lines, of a worker that was alive last at `aliveAt`. An incomplete last
 * line was cut short by a kill and never sent.
 */
export function createSpool(place: SpoolPlace, text: string, aliveAt: Date | null = null): Spool {
  return new StoredSpool(place, text.split('\n').flatMap(parseLine), aliveAt);
}

function placeOf(file: FileHandle, directory: string, lock: DataDirLock): SpoolPlace {
  return {
    append: (line) => file.appendFile(line),
    touch: (at) => utimes(join(directory, ALIVE), at, at),
    empty: () => file.truncate(0),
    async close(isWaiting) {
      try {
        await file.close();
        if (isWaiting) return;
        await rename(directory, hiddenName(directory)).catch((error: NodeJS.ErrnoException) => {
          // Removed by hand: nothing is left to remove.
          if (error.code !== 'ENOENT') throw error;
        });
        await rm(hiddenName(directory), { recursive: true, force: true });
      } finally {
        lock.release();
      }
    },
  };
}

class StoredSpool implements Spool {
  readonly aliveAt: Date | null;
  readonly #place: SpoolPlace;
  readonly #sessions = new Map<string, SessionQueue>();
  #writes: Promise<void> = Promise.resolve();
  #bytes = 0;

  constructor(place: SpoolPlace, envelopes: readonly ReportEnvelope[], aliveAt: Date | null) {
    this.#place = place;
    this.aliveAt = aliveAt;
    for (const envelope of envelopes) {
      const queue = this.#queue(envelope.session_id, envelope.epoch);
      queue.waiting.push(envelope);
      queue.lastSeq = Math.max(queue.lastSeq, envelope.seq);
    }
  }

  touch(at: Date): void {
    this.#enqueue(() => this.#place.touch(at));
  }

  append(
    session: { readonly sessionId: string; readonly epoch: number },
    report: DurableReport,
  ): ReportEnvelope {
    const queue = this.#queue(session.sessionId, session.epoch);
    queue.lastSeq += 1;
    const envelope: ReportEnvelope = {
      session_id: session.sessionId,
      epoch: session.epoch,
      seq: queue.lastSeq,
      report,
    };
    queue.waiting.push(envelope);
    const line = `${JSON.stringify(envelope)}\n`;
    this.#bytes += Buffer.byteLength(line);
    this.#enqueue(() => this.#place.append(line));
    return envelope;
  }

  acknowledge(sessionId: string, epoch: number, seq: number): void {
    const key = keyOf(sessionId, epoch);
    const queue = this.#sessions.get(key);
    if (!queue) return;
    queue.acknowledgedSeq = Math.max(queue.acknowledgedSeq, seq);
    const ended = queue.waiting.some((envelope) => envelope.seq <= seq && isLast(envelope.report));
    queue.waiting = queue.waiting.filter((envelope) => envelope.seq > seq);
    if (ended && queue.waiting.length === 0) this.#sessions.delete(key);
    this.#truncateWhenIdle();
  }

  drop(sessionId: string, epoch: number): void {
    this.#sessions.delete(keyOf(sessionId, epoch));
    this.#truncateWhenIdle();
  }

  waiting(session?: {
    readonly sessionId: string;
    readonly epoch: number;
    readonly fromSeq: number;
  }): readonly ReportEnvelope[] {
    if (!session) return [...this.#sessions.values()].flatMap((queue) => queue.waiting);
    return (this.#sessions.get(keyOf(session.sessionId, session.epoch))?.waiting ?? []).filter(
      (envelope) => envelope.seq >= session.fromSeq,
    );
  }

  isMissing({
    sessionId,
    epoch,
    fromSeq,
  }: {
    readonly sessionId: string;
    readonly epoch: number;
    readonly fromSeq: number;
  }): boolean {
    const queue = this.#sessions.get(keyOf(sessionId, epoch));
    const first = queue?.waiting[0];
    return (
      queue !== undefined && first !== undefined && fromSeq > queue.acknowledgedSeq && fromSeq < first.seq
    );
  }

  async close(): Promise<void> {
    await this.#writes;
    await this.#place.close(this.waiting().length > 0);
  }

  #queue(sessionId: string, epoch: number): SessionQueue {
    const key = keyOf(sessionId, epoch);
    let queue = this.#sessions.get(key);
    if (!queue) {
      queue = { sessionId, epoch, lastSeq: 0, acknowledgedSeq: 0, waiting: [] };
      this.#sessions.set(key, queue);
    }
    return queue;
  }

  /**
   * After a failed write (full disk) the report stays in memory and on the link; the next append tries the
   * file again.
   */
  #enqueue(write: () => Promise<void>): void {
    this.#writes = this.#writes.then(write).catch(() => undefined);
  }

  #truncateWhenIdle(): void {
    if (this.#bytes < TRUNCATE_BYTES || this.waiting().length > 0) return;
    this.#bytes = 0;
    this.#enqueue(() => this.#place.empty());
  }
}

/** Reports after which a session, a test or a turn has none. */
const LAST: ReadonlySet<DurableReport['type']> = new Set(['ended', 'analysis', 'agent_test', 'text_turn']);

function isLast({ type }: DurableReport): boolean {
  return LAST.has(type);
}

function parseLine(line: string): ReportEnvelope[] {
  if (line === '') return [];
  try {
    return [reportEnvelope.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}
