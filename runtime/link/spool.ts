/**
 * The spool: durable reports stay here from their creation until the control plane has acknowledged them, so
 * neither a lost link nor a killed worker loses one. One locked directory per worker instance, one JSON line
 * per report. A new worker on the same machine reads what a dead one left.
 */
import {
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
import { join } from 'node:path';
import { type DataDirLock, lockDataDir } from '#base/data-dir-lock.ts';
import { type DurableReport, type ReportEnvelope, reportEnvelope } from '#protocol/worker-link.ts';
import { keyOf } from './session-key.ts';

/** A larger file is emptied once nothing in it is waiting. */
const TRUNCATE_BYTES = 256 * 1024;
const REPORTS = 'reports.jsonl';
/** A file whose time of change is when the worker was last alive. */
const ALIVE = 'alive';
const STARTING = '.starting-';

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

/** Opens the spool of a new instance: its own directory under `root`, locked for the life of this process. */
export async function openSpool(root: string, instanceId: string): Promise<Spool> {
  const name = instanceId.replace(/[^\w-]/g, '_');
  const directory = join(root, name);
  // Under a temporary name until it is locked: a worker that starts at the same moment must not take it for
  // an orphan.
  const unlocked = join(root, `${STARTING}${name}`);
  await mkdir(unlocked, { recursive: true, mode: 0o700 });
  const lock = lockDataDir(unlocked);
  await writeFile(join(unlocked, ALIVE), '', { mode: 0o600 });
  await rename(unlocked, directory);
  return createSpool(placeOf(await open(join(directory, REPORTS), 'a', 0o600), directory, lock), '');
}

/** Adopts spools of dead instances, which are those whose lock can be acquired. By instance. */
export async function adoptSpools(root: string): Promise<Map<string, Spool>> {
  const adopted = new Map<string, Spool>();
  const names = await readdir(root).catch(() => []);
  for (const instanceId of names.filter((name) => !name.startsWith(STARTING))) {
    const directory = join(root, instanceId);
    const lock = tryLock(directory);
    if (!lock) continue;
    const text = await readFile(join(directory, REPORTS), 'utf8').catch(() => '');
    const file = await open(join(directory, REPORTS), 'a', 0o600);
    adopted.set(instanceId, createSpool(placeOf(file, directory, lock), text, await aliveAtOf(directory)));
  }
  return adopted;
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
      await file.close();
      if (!isWaiting) await rm(directory, { recursive: true, force: true });
      lock.release();
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

function isLast(report: DurableReport): boolean {
  return report.type === 'ended' || report.type === 'analysis' || report.type === 'agent_test';
}

function parseLine(line: string): ReportEnvelope[] {
  if (line === '') return [];
  try {
    return [reportEnvelope.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}

function tryLock(directory: string): DataDirLock | null {
  try {
    return lockDataDir(directory);
  } catch {
    return null;
  }
}
