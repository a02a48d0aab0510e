/**
 * Keeps the sums over ended calls: first of the calls of earlier releases, which may take minutes, then
 * every few seconds of those that have ended since. One replica counts at a time, so that they do not do each
 * other's work; if two should, nothing is counted twice (`count-calls.ts`).
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { PAUSE_FACTOR } from '../../platform/store/in-batches.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { CallCountState } from '../../platform/store/models/call-count-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { hasEnded } from '../../platform/store/session-status.ts';
import { type CallPlace, countCalls, RECENT_MS } from './count-calls.ts';

const TICK_MS = 10_000;
const LEASE_MS = 60_000;
/** Calls that are counted together: those of one team and about the same time share their sums. */
const BATCH = 100;
const TOLD_EVERY = 100_000;
/** The time noted with calls of earlier releases: no question reads the sums while they are counted. */
const LONG_AGO = new Date(0);
/** Later than any call. */
const END_OF_TIME = new Date('9999-12-31T00:00:00Z');

const STATE = { _id: 'state' } as const;
const NOT_BEGUN = { team_id: '', created_at: null, session_id: '', seen: 0, finished_at: null };
const PLACE = { team_id: 1, agent_id: 1, created_at: 1 } as const;

type Parts = Pick<Context, 'models' | 'clock' | 'logger'>;
type Earlier = CallPlace & Pick<SessionDocument, 'status' | 'is_listed' | 'uncounted' | 'counted_turns'>;

/** Starts counting in this replica: at once, then every few seconds. */
export function startCallCounter(context: Context): BackgroundLoop {
  const counter = new CallCounter(context, leaseHolder(context.settings));
  const isDone = () => counter.isDone();
  const options = { name: 'call-counts', everyMs: TICK_MS, isDone, waitsFor: ['sessions'] } as const;
  const loop = startBackgroundLoop(context, options, () => counter.count());
  return {
    ...loop,
    close() {
      counter.stop();
      return loop.close();
    },
  };
}

/** Whether the sums have all calls that no session says are missing: those of earlier releases, too. */
export async function areCountsComplete({ models }: Pick<Context, 'models'>): Promise<boolean> {
  const [state] = await readStored<CallCountState>(models.callCountStates, STATE, {});
  return (state?.finished_at ?? null) !== null;
}

/** Counts the calls of a store. */
export class CallCounter {
  readonly #context: Parts;
  readonly #holder: string;
  /** Sums that list recent calls, and when their lists may become shorter. */
  readonly #listing = new Map<string, number>();
  #isStopped = false;

  /** `holder` identifies the replica. */
  constructor(context: Parts, holder: string) {
    this.#context = context;
    this.#holder = holder;
  }

  /** Counts everything that is not counted, unless another replica does. */
  async count(): Promise<void> {
    const { callCountStates } = this.#context.models;
    await callCountStates.updateOne(STATE, { $setOnInsert: NOT_BEGUN }, { upsert: true });
    let isMore = true;
    while (isMore && !this.#isStopped) {
      const state = await this.#lease();
      if (!state) return;
      const startMs = this.#context.clock.now();
      isMore = state.finished_at === null ? await this.#countEarlier(state) : await this.#countEnded();
      if (isMore) await this.#pause(startMs);
    }
    await this.#shortenLists();
  }

  /** Whether there is nothing to do before the next change of a session. */
  async isDone(): Promise<boolean> {
    const { sessions } = this.#context.models;
    return this.#listing.size === 0 && (await sessions.exists({ uncounted: true })) === null;
  }

  /** Ends `count` after the batch that is being counted. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The state, if this replica is to count. */
  #lease(): Promise<CallCountState | null> {
    const leased = { model: this.#context.models.callCountStates, filter: STATE };
    return takeLease<CallCountState>(this.#context, leased, { holder: this.#holder, ms: LEASE_MS });
  }

  /** Counts a batch of calls that have ended; false if there are no more. */
  async #countEnded(): Promise<boolean> {
    const ended = await readStored<SessionDocument, CallPlace>(
      this.#context.models.sessions,
      { uncounted: true },
      { projection: PLACE, sort: { team_id: 1, created_at: 1 }, limit: BATCH },
    );
    const { marked, listing } = await countCalls(this.#context, ended);
    this.#keepListing(listing);
    return ended.length === BATCH && marked > 0;
  }

  /**
   * Counts a batch of calls of earlier releases, team by team, the newest first. Goes on to the next batch
   * once all of them are counted. Calls that have ended since are left to `#countEnded`.
   */
  async #countEarlier(state: CallCountState): Promise<boolean> {
    const page = await this.#earlierPage(state);
    const last = page.at(-1);
    if (!last) return this.#nextTeam(state);
    const calls = page.filter(
      ({ status, is_listed, uncounted = false, counted_turns }) =>
        is_listed && hasEnded(status) && !uncounted && counted_turns === undefined,
    );
    const { marked, listing } = await countCalls(this.#context, calls, { at: LONG_AGO });
    await countCalls(this.#context, [], { ids: listing });
    if (marked < calls.length) return true;
    const seen = state.seen + page.length;
    if (Math.floor(seen / TOLD_EVERY) > Math.floor(state.seen / TOLD_EVERY))
      this.#context.logger.info({ seen }, 'counting the calls of earlier releases');
    return this.#advance({ created_at: last.created_at, session_id: last._id, seen });
  }

  async #earlierPage({ team_id, created_at: at, session_id }: CallCountState): Promise<Earlier[]> {
    if (at === null) return [];
    const rest = { $or: [{ created_at: { $lt: at } }, { _id: { $lt: session_id } }] };
    return readStored<SessionDocument, Earlier>(
      this.#context.models.sessions,
      { team_id, created_at: { $lte: at }, ...rest },
      {
        projection: { ...PLACE, status: 1, is_listed: 1, uncounted: 1, counted_turns: 1 },
        sort: { created_at: -1, _id: -1 },
        limit: BATCH,
      },
    );
  }

  /** Goes on with the next team; false after the last one. */
  async #nextTeam({ team_id: after, seen }: CallCountState): Promise<boolean> {
    const [next] = await readStored<SessionDocument>(
      this.#context.models.sessions,
      { team_id: { $gt: after } },
      { projection: { team_id: 1 }, sort: { team_id: 1 }, limit: 1 },
    );
    if (next) return this.#advance({ team_id: next.team_id, created_at: END_OF_TIME, session_id: '' });
    this.#context.logger.info({ seen }, 'all calls of earlier releases are counted');
    return this.#advance({ finished_at: now(this.#context) });
  }

  async #advance(to: Partial<CallCountState>): Promise<true> {
    const { callCountStates } = this.#context.models;
    await callCountStates.updateOne({ ...STATE, lease_by: this.#holder }, { $set: to });
    return true;
  }

  async #shortenLists(): Promise<void> {
    const nowMs = this.#context.clock.now();
    const due = [...this.#listing].flatMap(([id, atMs]) => (atMs < nowMs ? [id] : []));
    for (const id of due) this.#listing.delete(id);
    for (let first = 0; first < due.length && !this.#isStopped; first += BATCH)
      this.#keepListing(
        (await countCalls(this.#context, [], { ids: due.slice(first, first + BATCH) })).listing,
      );
  }

  #keepListing(ids: readonly string[]): void {
    for (const id of ids) this.#listing.set(id, this.#context.clock.now() + RECENT_MS);
  }

  async #pause(startMs: number): Promise<void> {
    const { clock } = this.#context;
    const tookMs = clock.now() - startMs;
    if (tookMs > 0) await clock.sleep(PAUSE_FACTOR * tookMs);
  }
}
