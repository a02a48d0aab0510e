/**
 * Moves sessions with which there is nothing left to do to the archive, once they are older than
 * `ARCHIVE_SESSIONS_DAYS`: an hourly job of one replica at a time (a lease in the store), in small batches
 * with pauses. It may be killed at any moment: a session is copied, and then deleted if nothing has changed
 * it meanwhile.
 */
import { randomUUID } from 'node:crypto';
import type { Meters } from '#base/meters.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { PAUSE_FACTOR } from '../../platform/store/in-batches.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { SessionArchiveDocument } from '../../platform/store/models/session-archive-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import {
  ANNOUNCED_MS,
  ARCHIVE_STATE,
  asCopied,
  createMonthIndexes,
  eraseAs,
  type Month,
  monthNamed,
  monthOf,
} from '../../platform/store/session-archive.ts';
import { ENDED_STATUSES } from '../../platform/store/session-status.ts';

const TICK_MS = 60_000;
const PASS_EVERY_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Renewed before each batch. */
const LEASE_MS = 5 * 60 * 1_000;
const PAGE = 100;
/** Sessions moved at once; one may have a transcript of some hundred kB. */
const BATCH = 20;

type Parts = Pick<Context, 'models' | 'clock' | 'logger'>;

/** Starts archiving in this replica: at once, then every hour; does nothing without the setting. */
export function startArchive(context: Context): BackgroundLoop {
  const { metrics, settings, clock } = context;
  const days = settings.ARCHIVE_SESSIONS_DAYS;
  const archiver = new Archiver(context, leaseHolder(settings), addArchiveMetrics(metrics.meters));
  let nextMs = clock.now();
  const loop = startBackgroundLoop(context, { name: 'archive', everyMs: TICK_MS }, async () => {
    if (days === undefined || clock.now() < nextMs) return;
    const isComplete = await archiver.archive(cutoff(clock.wallTime(), days));
    nextMs = clock.now() + (isComplete ? PASS_EVERY_MS : ANNOUNCED_MS);
  });
  return {
    ...loop,
    close() {
      archiver.stop();
      return loop.close();
    },
  };
}

/** To the hour: the same while it is announced. */
function cutoff(wallTime: number, days: number): Date {
  return new Date(Math.floor((wallTime - days * DAY_MS) / PASS_EVERY_MS) * PASS_EVERY_MS);
}

/** Adds the metric; returns what counts archived sessions. */
export function addArchiveMetrics(meters: Meters): (sessions: number) => void {
  const counter = meters.counter({
    name: 'parley_sessions_archived_total',
    help: 'Sessions that this replica has moved to the archive (ARCHIVE_SESSIONS_DAYS).',
  });
  return (sessions) => counter.inc({}, sessions);
}

/** The fields that decide whether a session moves, and where to. */
const STATE_FIELDS = {
  status: 1,
  due: 1,
  uncounted: 1,
  is_listed: 1,
  counted_turns: 1,
  created_at: 1,
} as const;
type SessionState = Pick<SessionDocument, '_id' | keyof typeof STATE_FIELDS>;

/** A session in the archive, and which process made the copy, each time anew. */
type ArchivedSession = SessionDocument & { readonly copied_as?: string };

/** Another replica archives. */
class LeaseLost extends Error {}

/** Archives the sessions of a store. */
export class Archiver {
  readonly #context: Parts;
  readonly #holder: string;
  readonly #onArchived: (sessions: number) => void;
  #isStopped = false;

  /** `holder` identifies the replica; `onArchived` is called after each batch. */
  constructor(context: Parts, holder: string, onArchived: (sessions: number) => void = () => undefined) {
    this.#context = context;
    this.#holder = holder;
    this.#onArchived = onArchived;
  }

  /**
   * Archives all finished sessions that were created before this time, unless another replica does. False if
   * some have to wait for `ANNOUNCED_MS`.
   */
  async archive(before: Date): Promise<boolean> {
    const { clock, logger, models } = this.#context;
    const startMs = clock.now();
    await models.sessionArchives.updateOne(
      ARCHIVE_STATE,
      { $setOnInsert: { since: null, lease_by: null, lease_until: null } },
      { upsert: true },
    );
    let moved = 0;
    try {
      const until = await this.#announce(before);
      let isComplete = until?.getTime() === before.getTime();
      const count = (sessions: number) => {
        moved += sessions;
        this.#onArchived(sessions);
      };
      if (until && !(await this.#pass(until, count))) isComplete = false;
      await this.#release();
      return isComplete;
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      return true;
    } finally {
      if (moved > 0) logger.info({ moved, tookMs: clock.now() - startMs }, 'sessions are archived');
    }
  }

  /** Ends `archive` after the batch that is being moved. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Announces the time, unless a later one is. Returns until when sessions may be moved now: the time itself,
   * or null while it is new.
   */
  async #announce(before: Date): Promise<Date | null> {
    const state = await this.#renew();
    const at = now(this.#context);
    if (state.before && state.before >= before && state.since)
      return at.getTime() - state.since.getTime() >= ANNOUNCED_MS ? before : null;
    const { sessionArchives } = this.#context.models;
    await sessionArchives.updateOne(ARCHIVE_STATE, { $set: { before, since: at } });
    return null;
  }

  /** One pass over all teams; false if a month was announced in it: its sessions are moved later. */
  async #pass(before: Date, onMoved: (sessions: number) => void): Promise<boolean> {
    let isComplete = true;
    for (let after = ''; !this.#isStopped; ) {
      await this.#renew();
      const users = await this.#context.models.users
        .find({ _id: { $gt: after } }, { team_id: 1 })
        .sort({ _id: 1 })
        .limit(PAGE)
        .lean<Pick<UserDocument, '_id' | 'team_id'>[]>();
      for (const { team_id: teamId } of users)
        if (!(await this.#moveOf(teamId, before, onMoved))) isComplete = false;
      after = users.at(-1)?._id ?? '';
      if (users.length < PAGE) break;
    }
    return isComplete;
  }

  async #moveOf(teamId: string, before: Date, onMoved: (sessions: number) => void): Promise<boolean> {
    const { sessions } = this.#context.models;
    let isComplete = true;
    let rest: object = { created_at: { $lt: before } };
    while (!this.#isStopped) {
      const startMs = this.#context.clock.now();
      const page = (await sessions.collection
        .find({ team_id: teamId, ...rest } as never, {
          projection: STATE_FIELDS,
          sort: { created_at: 1, _id: 1 },
          limit: BATCH,
        })
        .toArray()) as unknown as SessionState[];
      for (const [name, ids] of byMonth(page.filter(isFinished))) {
        await this.#renew();
        const month = await this.#announced(name);
        if (month) onMoved(await moveSessions(this.#context, month, ids));
        else isComplete = false;
      }
      const last = page.at(-1);
      if (!last || page.length < BATCH) break;
      rest = {
        created_at: { $gte: last.created_at, $lt: before },
        $or: [{ created_at: { $gt: last.created_at } }, { _id: { $gt: last._id } }],
      };
      await this.#pause(startMs);
    }
    return isComplete;
  }

  /** The month, once every replica knows it. */
  async #announced(name: string): Promise<Month | null> {
    const { sessionArchives } = this.#context.models;
    const at = now(this.#context);
    const known = await sessionArchives.findOne({ _id: name }).lean<SessionArchiveDocument>();
    const month = monthNamed(this.#context, name);
    if (known?.since) return at.getTime() - known.since.getTime() >= ANNOUNCED_MS ? month : null;
    await createMonthIndexes(month);
    await sessionArchives.updateOne(
      { _id: name },
      { $setOnInsert: { since: at, lease_by: null, lease_until: null } },
      { upsert: true },
    );
    return null;
  }

  async #renew(): Promise<SessionArchiveDocument> {
    const leased = { model: this.#context.models.sessionArchives, filter: ARCHIVE_STATE };
    const state = await takeLease(this.#context, leased, { holder: this.#holder, ms: LEASE_MS });
    if (!state) throw new LeaseLost();
    return state;
  }

  async #release(): Promise<void> {
    const { sessionArchives } = this.#context.models;
    await sessionArchives.updateOne(
      { ...ARCHIVE_STATE, lease_by: this.#holder },
      { $set: { lease_until: null } },
    );
  }

  async #pause(startMs: number): Promise<void> {
    const { clock } = this.#context;
    const tookMs = clock.now() - startMs;
    if (tookMs > 0) await clock.sleep(PAUSE_FACTOR * tookMs);
  }
}

/**
 * Copies finished sessions to their month, and deletes those that are still as they were copied; the other
 * copies are taken back. Returns how many were moved. A process that was held up for longer than its lease
 * may do this beside another: each replaces or takes back only copies that are as it has read or made them.
 * Throws the duplicate key error of a copy that another process has made meanwhile.
 */
export async function moveSessions(
  { models }: Pick<Context, 'models'>,
  { collection }: Month,
  ids: readonly string[],
): Promise<number> {
  const { collection: sessions } = models.sessions;
  const those = { _id: { $in: ids } } as never;
  // The earlier copies first: a session that is read afterwards is not older than its copy.
  const copies = (await collection.find(those).toArray()) as unknown as ArchivedSession[];
  const earlier = new Map(copies.map((copy) => [copy._id, copy]));
  const found = (await sessions.find(those).toArray()) as unknown as SessionDocument[];
  const erased = copies.filter(({ _id, wrapped_key }) => wrapped_key === null && hasKey(found, _id));
  // A process that was putting them back was killed before it noticed the erasure. They move next time.
  for (const copy of erased) await eraseAs({ models }, copy);
  const group = found.filter(
    (session) => isFinished(session) && !erased.some(({ _id }) => _id === session._id),
  );
  if (group.length === 0) return 0;
  const copied_as = randomUUID();
  await collection.bulkWrite(
    group.map((session) => ({
      replaceOne: {
        filter: earlierCopy(session._id, earlier.get(session._id)),
        replacement: { ...session, copied_as },
        upsert: true,
      },
    })) as never,
    { ordered: false },
  );
  const deletions = group.map((session) => ({ deleteOne: { filter: asCopied(session) } }));
  await sessions.bulkWrite(deletions as never, { ordered: false });
  const kept = await sessions.find(those, { projection: { _id: 1 } }).toArray();
  const left = new Set(kept.map(({ _id }) => String(_id)));
  if (left.size > 0) await collection.deleteMany({ _id: { $in: [...left] }, copied_as } as never);
  return group.filter(({ _id }) => !left.has(_id)).length;
}

function hasKey(sessions: readonly SessionDocument[], id: string): boolean {
  return sessions.some(({ _id, wrapped_key }) => _id === id && wrapped_key !== null);
}

/** Matches the copy as it was read; nothing, so that one is inserted, if there was none. */
function earlierCopy(_id: string, copy: ArchivedSession | undefined): object {
  if (!copy) return { _id, copied_as: '' };
  return { ...asCopied(copy), copied_as: copy.copied_as ?? null };
}

/** Nothing is left to do: ended, settled, reported, analysed, and in the sums if they are to have it. */
function isFinished({ status, due = 0, uncounted, is_listed, counted_turns }: SessionState): boolean {
  const hasEnded = (ENDED_STATUSES as readonly string[]).includes(status);
  return hasEnded && due === 0 && uncounted !== true && (!is_listed || counted_turns !== undefined);
}

/** The ids of the sessions of each month. */
function byMonth(sessions: readonly SessionState[]): Map<string, string[]> {
  const months = new Map<string, string[]>();
  for (const { _id, created_at } of sessions) {
    const name = monthOf(created_at);
    months.set(name, [...(months.get(name) ?? []), _id]);
  }
  return months;
}
