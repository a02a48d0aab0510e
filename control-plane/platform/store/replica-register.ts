/**
 * Register of the control planes that use one database: without a shared Redis (`REDIS_URL`) there must be
 * only one. Each replica sends heartbeats; a starting one looks for others that are alive and refuses to
 * start if the two could not coordinate. Replicas that share a Redis list their workers, too
 * (`worker-sightings.ts`).
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import type { LeftWorker, ReplicaDocument } from './models/replica-model.ts';
import type { Models } from './models.ts';

const HEARTBEAT_MS = 2_000;
/** With other replicas. A worker's lease survives one that fails. */
const SHARED_HEARTBEAT_MS = 1_000;
/** A replica that sends no heartbeat for this long is dead. */
const WATCH_MS = 5_000;
const POLL_MS = 250;
/** Older entries are ignored; the limit allows for clock differences between machines. */
const STALE_MS = 60_000;
/**
 * An entry names a worker that left for this long. By then another replica has it, or has noticed that nobody
 * hears it. Without this, an older entry of a killed replica would seem to be the worker's last sign of life.
 * The time begins with the first write that succeeds: nobody can read the entry while the database is away.
 */
const LEFT_KEPT_MS = 5 * 60_000;

/** A registered replica. */
export interface ReplicaRegistration {
  /** Stores now which workers are connected, for the other replicas. Rejects if the database does not. */
  refresh(): Promise<void>;
  /** Stops the heartbeats. What remains of the entry says when each worker was last listed. */
  close(): Promise<void>;
}

/** For a process whose database no other process can open (the embedded one). */
export const UNREGISTERED: ReplicaRegistration = {
  refresh: async () => undefined,
  close: async () => undefined,
};

/** This replica's entry in the register. */
export interface ReplicaIdentity {
  /**
   * A replica without Redis keeps its id across restarts, so it never waits for its own predecessor. Replicas
   * that share a Redis have an id each.
   */
  readonly id: string;
  readonly isShared: boolean;
  /** Ids of the workers connected now; stored if `isShared`, for the other replicas. */
  readonly workers: () => readonly string[];
  /** Called with `workers`; the result is called once their ids are stored. */
  readonly takePings?: () => () => void;
  /** The last reports of signalling servers to this replica; stored if `isShared`, for the other replicas. */
  readonly signalling?: () => readonly SignallingReport[];
}

/**
 * Registers this replica. Throws a one-line error message if another replica uses the database and the two
 * share no Redis.
 */
export async function registerReplica(
  { models, clock, logger }: { models: Pick<Models, 'replicas'>; clock: Clock; logger: Logger },
  self: ReplicaIdentity,
): Promise<ReplicaRegistration> {
  const { replicas } = models;
  const wallTime = () => new Date(clock.wallTime());
  const startedAt = wallTime();
  const listings = new Listings(clock);
  const write = entryWriter(replicas, self.id);
  const store = async (workers: readonly string[], signalling: readonly SignallingReport[]) => {
    const { at, left, stored } = listings.note(workers);
    const entry = { is_shared: self.isShared, started_at: startedAt, seen_at: at, workers, left, signalling };
    await write(entry);
    stored();
  };
  const sendHeartbeat = async () => {
    const answerPings = self.takePings?.();
    const workers = self.isShared ? self.workers() : [];
    await store(workers, self.isShared ? (self.signalling?.() ?? []) : []);
    answerPings?.();
  };
  await sendHeartbeat();
  let pending: Promise<void> | null = null;
  const ticking = clock.every(self.isShared ? SHARED_HEARTBEAT_MS : HEARTBEAT_MS, () => {
    // One at a time: a hung database must not answer with an older list last.
    pending ??= sendHeartbeat()
      .then(
        () => undefined,
        (error: unknown) => logger.warn({ err: error }, 'failed to send this replica’s heartbeat'),
      )
      .finally(() => {
        pending = null;
      });
  });
  const refresh = async () => {
    await pending;
    await sendHeartbeat();
  };
  const close = async () => {
    ticking.cancel();
    await pending;
    if (listings.isEmpty) await replicas.deleteOne({ _id: self.id });
    else await store([], []);
  };
  const conflicting = await findConflicting();
  if (!conflicting) return { refresh, close };
  await close();
  throw new Error(
    `REDIS_URL: ${self.isShared ? 'a control plane without it' : 'another control plane'} works on this ` +
      `database (${conflicting._id}): set the same REDIS_URL for every replica`,
  );

  /**
   * Finds a live replica with which this one cannot coordinate. If two start at the same time, the later one
   * fails.
   */
  async function findConflicting(): Promise<ReplicaDocument | null> {
    const watchedFromMs = clock.now();
    const before = await others();
    const isAlive = (replica: ReplicaDocument) =>
      before.some(({ _id, seen_at }) => _id === replica._id && seen_at < replica.seen_at);
    for (let now = before; now.length > 0; now = await others()) {
      const alive = now.find(isAlive);
      if (alive || clock.now() - watchedFromMs > WATCH_MS) return alive ?? null;
      await clock.sleep(POLL_MS);
    }
    return null;
  }

  async function others(): Promise<ReplicaDocument[]> {
    const found = await replicas
      .find({ seen_at: { $gt: new Date(clock.wallTime() - STALE_MS) } })
      .lean<ReplicaDocument[]>();
    const isEarlier = (other: ReplicaDocument) =>
      other.started_at < startedAt ||
      (other.started_at.getTime() === startedAt.getTime() && other._id < self.id);
    return found.filter(
      (other) => other._id !== self.id && isEarlier(other) && !(other.is_shared && self.isShared),
    );
  }
}

/** Writes a replica's entry. Mongoose checks the first one; it need not do so again every second. */
function entryWriter(
  replicas: Models['replicas'],
  id: string,
): (entry: Omit<ReplicaDocument, '_id'>) => Promise<void> {
  let isChecked = false;
  return async (entry) => {
    const [update, options] = [{ $set: entry }, { upsert: true }];
    if (isChecked) await replicas.collection.updateOne({ _id: id as never }, update, options);
    else await replicas.updateOne({ _id: id }, update, options);
    isChecked = true;
  };
}

/** One heartbeat's part of the entry. */
interface Listing {
  readonly at: Date;
  /** Workers that were listed before, lately. */
  readonly left: readonly LeftWorker[];
  /** To be called once it is in the register. */
  readonly stored: () => void;
}

/** When this replica last listed each worker. */
class Listings {
  readonly #clock: Clock;
  readonly #seenAt: () => Date;
  readonly #at = new Map<string, Date>();
  /** When the register first said that a worker had left, by the monotonic clock, ms. */
  readonly #toldMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#seenAt = differingTimes(clock);
  }

  /** True if it has listed no worker lately. */
  get isEmpty(): boolean {
    return this.#at.size === 0;
  }

  /** Notes the workers that are listed now. */
  note(workers: readonly string[]): Listing {
    const [at, nowMs] = [this.#seenAt(), this.#clock.now()];
    for (const worker of workers) {
      this.#at.set(worker, at);
      this.#toldMs.delete(worker);
    }
    for (const [worker, toldMs] of this.#toldMs) {
      if (nowMs - toldMs < LEFT_KEPT_MS) continue;
      this.#at.delete(worker);
      this.#toldMs.delete(worker);
    }
    const left = [...this.#at].flatMap(([worker, leftAt]) =>
      workers.includes(worker) ? [] : { worker, at: leftAt },
    );
    const stored = () => {
      for (const { worker } of left) this.#toldMs.set(worker, this.#toldMs.get(worker) ?? nowMs);
    };
    return { at, left, stored };
  }
}

/** The wall time, never the same twice in a row: the other replicas compare the times of heartbeats. */
function differingTimes(clock: Clock): () => Date {
  let lastMs = 0;
  return () => {
    const nowMs = clock.wallTime();
    lastMs = nowMs === lastMs ? nowMs + 1 : nowMs;
    return new Date(lastMs);
  };
}
