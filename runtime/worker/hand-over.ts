/**
 * Hands the calls of a draining worker over to other workers, each between two of its turns, so that nobody
 * notices. A call that has no pause is handed over at the end of the drain, like one whose worker died.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import { movesAtOnce } from './hand-over-pace.ts';
import type { Job, JobTable } from './job-table.ts';

/** Pauses between turns are several times as long. */
const LOOK_MS = 100;
/** Delay before a call is offered again: doubled each time, up to `MOST_RETRY_MS`. */
const RETRY_MS = 1_000;
const MOST_RETRY_MS = 8_000;
/** Longest time between the offers of two web calls: callers who join rooms at once wait for each other. */
const WEB_EVERY_MS = 250;
/** A phone call counts as on its way for so long after its offer. */
const MOVE_MS = 1_000;
/** For so long before the end of the drain, calls are handed over even in mid-turn, and all at once. */
const LAST_MS = 5_000;

/** Dependencies of the hand-over. */
export interface HandOverDeps {
  readonly clock: Clock;
  readonly client: Pick<ControlPlaneClient, 'isConnected' | 'send' | 'isStored'>;
  readonly jobs: Pick<JobTable, 'all'>;
  /** Length of the drain. */
  readonly drainMs: number;
}

/** When a call was offered last, and how long to wait until it is offered again. */
interface Offered {
  readonly atMs: number;
  readonly retryMs: number;
}

/** Begins to offer the calls; cancel the timer once the drain has ended. */
export function startHandOver({ clock, client, jobs, drainMs }: HandOverDeps): Timer {
  const offered = new Map<string, Offered>();
  const lastMs = clock.now() + drainMs - LAST_MS;
  const remaining = (isOne: (job: Job) => boolean) =>
    jobs.all().filter((job) => isOne(job) && !job.isTaken).length;
  const mayOfferWeb = webPace(clock, () => (lastMs - clock.now()) / 2 / remaining(isWeb));
  const moving = () => jobs.all().filter((job) => isPhone(job) && isMoving(job, clock.now())).length;
  const offer = (job: Job, mayOffer: () => boolean, isLast: boolean) => {
    const last = offered.get(job.sessionId);
    const waitMs = isLast ? RETRY_MS : (last?.retryMs ?? 0);
    if ((last && clock.now() - last.atMs < waitMs) || !client.isStored(job) || !mayOffer()) return;
    const retryMs = last ? Math.min(2 * last.retryMs, MOST_RETRY_MS) : RETRY_MS;
    offered.set(job.sessionId, { atMs: clock.now(), retryMs });
    job.offeredMs = clock.now();
    const session = { session_id: job.sessionId, epoch: job.epoch, variables: job.variables() };
    client.send({
      type: 'hand_over',
      ...session,
      ...(job.move === 'noticed' && { is_mid_turn: true }),
      confirms_leaving: true,
      ...(isPhone(job) && { gives_stream: true }),
    });
  };
  return clock.every(LOOK_MS, () => {
    if (!client.isConnected) return;
    const isLast = clock.now() >= lastMs;
    let freeMoves = movesAtOnce(remaining(isPhone), lastMs - clock.now()) - moving();
    const mayOfferPhone = () => freeMoves-- > 0;
    for (const job of neverOfferedFirst(jobs.all(), offered).filter(({ isTaken }) => !isTaken)) {
      if (isLast && job.move !== 'never') offer(job, () => true, isLast);
      else if (isUnnoticed(job)) offer(job, isWeb(job) ? mayOfferWeb : mayOfferPhone, isLast);
    }
  });
}

/** In a call with colleagues they would hear a gap. */
function isUnnoticed({ move, call }: Job): boolean {
  return move === 'unnoticed' && (call?.participants.isEmpty ?? true);
}

/** Offered, and not yet sent for by the next worker. */
function isMoving({ isTaken, isReleased, offeredMs }: Job, nowMs: number): boolean {
  return offeredMs !== null && nowMs - offeredMs < MOVE_MS && !(isTaken && isReleased);
}

/** Those that were never offered come before those that nobody took, which would use up their time. */
function neverOfferedFirst(jobs: readonly Job[], offered: ReadonlyMap<string, unknown>): readonly Job[] {
  const isNew = ({ sessionId }: Job) => !offered.has(sessionId);
  return [...jobs.filter(isNew), ...jobs.filter((job) => !isNew(job))];
}

/** Says whether another web call may be offered now: `WEB_EVERY_MS` or `mostMs` after the last one. */
function webPace(clock: Clock, mostMs: () => number): () => boolean {
  let nextMs = clock.now();
  return () => {
    const nowMs = clock.now();
    if (nowMs < nextMs) return false;
    nextMs = Math.max(nextMs, nowMs - LOOK_MS) + Math.min(WEB_EVERY_MS, mostMs());
    return true;
  };
}

function isWeb({ kind }: Job): boolean {
  return kind === 'web';
}

function isPhone({ kind }: Job): boolean {
  return kind === 'phone';
}
