/**
 * Hands the calls of a draining worker over to other workers, each between two of its turns, so that nobody
 * notices. A call that has no pause is handed over at the end of the drain, like one whose worker died.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import { movesAtOnce } from './hand-over-pace.ts';
import type { Job, JobTable } from './job-table.ts';

/** Pauses between turns are several times as long. */
const LOOK_MS = 100;
/** Delay before a call is offered again: doubled each time, up to `MOST_RETRY_MS`. */
const RETRY_MS = 1_000;
const MOST_RETRY_MS = 8_000;
/** The same limit of web calls: no worker accepts them until another one is ready, which is soon. */
const MOST_WEB_RETRY_MS = 2_000;
/** Longest time between the offers of two web calls: a browser connects anew only once it has been left. */
const WEB_EVERY_MS = 250;
/** A call counts as on its way for so long after its offer. */
const MOVE_MS = 1_000;
/** The same of a web call that another worker has taken: that one is about to join its room. */
const JOIN_MS = 3_000;
/** For so long before the end of the drain, calls are handed over even in mid-turn, and all at once. */
const LAST_MS = 5_000;

/** Dependencies of the hand-over. */
export interface HandOverDeps {
  readonly clock: Clock;
  readonly logger: Logger;
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
export function startHandOver({ clock, logger, client, jobs, drainMs }: HandOverDeps): Timer {
  const offered = new Map<string, Offered>();
  const lastMs = clock.now() + drainMs - LAST_MS;
  const isTurnOfWeb = webPace(clock, () => (lastMs - clock.now()) / 2 / remaining('web', jobs.all()));
  let isWaitLogged = false;
  const logWait = () => {
    if (isWaitLogged) return;
    isWaitLogged = true;
    logger.warn('no other worker has taken a web call: none is ready or has room; it is offered again');
  };
  const offer = (job: Job, mayOffer: () => boolean, isLast: boolean) => {
    const last = offered.get(job.sessionId);
    const waitMs = isLast ? RETRY_MS : (last?.retryMs ?? 0);
    if ((last && clock.now() - last.atMs < waitMs) || !client.isStored(job) || !mayOffer()) return;
    if (last && job.kind === 'web') logWait();
    offered.set(job.sessionId, { atMs: clock.now(), retryMs: nextRetryMs(job, last) });
    job.offeredMs = clock.now();
    const session = { session_id: job.sessionId, epoch: job.epoch, variables: job.variables() };
    client.send({
      type: 'hand_over',
      ...session,
      ...(job.move === 'noticed' && { is_mid_turn: true }),
      confirms_leaving: true,
      ...(job.kind === 'web' && !isLast && { can_wait: true }),
      ...(job.kind === 'phone' && { gives_stream: true }),
    });
  };
  return clock.every(LOOK_MS, () => {
    if (!client.isConnected) return;
    const nowMs = clock.now();
    const isLast = nowMs >= lastMs;
    let freePhone = freeMoves('phone', jobs.all(), { nowMs, lastMs });
    let freeWeb = freeMoves('web', jobs.all(), { nowMs, lastMs });
    const mayOfferPhone = () => freePhone-- > 0;
    const mayOfferWeb = () => freeWeb > 0 && isTurnOfWeb() && freeWeb-- > 0;
    for (const job of longestWaitingFirst(jobs.all(), offered).filter(({ isTaken }) => !isTaken)) {
      if (isLast && job.move !== 'never') offer(job, () => true, isLast);
      else if (isUnnoticed(job)) offer(job, job.kind === 'web' ? mayOfferWeb : mayOfferPhone, isLast);
    }
  });
}

/** How long to wait after this offer, given the one before. */
function nextRetryMs({ kind }: Job, last: Offered | undefined): number {
  if (!last) return RETRY_MS;
  return Math.min(2 * last.retryMs, kind === 'web' ? MOST_WEB_RETRY_MS : MOST_RETRY_MS);
}

/** How many more calls of this kind may be on their way now. */
function freeMoves(
  kind: 'phone' | 'web',
  jobs: readonly Job[],
  { nowMs, lastMs }: { readonly nowMs: number; readonly lastMs: number },
): number {
  const moving = jobs.filter((job) => job.kind === kind && isMoving(job, nowMs)).length;
  return movesAtOnce(kind, remaining(kind, jobs), lastMs - nowMs) - moving;
}

function remaining(kind: 'phone' | 'web', jobs: readonly Job[]): number {
  return jobs.filter((job) => job.kind === kind && !job.isTaken).length;
}

/** In a call with colleagues they would hear a gap. */
function isUnnoticed({ move, call }: Job): boolean {
  return move === 'unnoticed' && (call?.participants.isEmpty ?? true);
}

/** Offered, and not yet sent for by the next worker, or its agent is not in the room yet. */
function isMoving({ kind, isTaken, isReleased, offeredMs }: Job, nowMs: number): boolean {
  const withinMs = kind === 'web' && isTaken ? JOIN_MS : MOVE_MS;
  return offeredMs !== null && nowMs - offeredMs < withinMs && !(isTaken && isReleased);
}

/** Calls never offered come first, so that calls which no worker accepts do not hold them up. */
function longestWaitingFirst(jobs: readonly Job[], offered: ReadonlyMap<string, Offered>): readonly Job[] {
  const lastMs = ({ sessionId }: Job) => offered.get(sessionId)?.atMs ?? 0;
  return jobs.toSorted((a, b) => lastMs(a) - lastMs(b));
}

/** Says whether it is the turn of another web call: `WEB_EVERY_MS` or `mostMs` after the last one. */
function webPace(clock: Clock, mostMs: () => number): () => boolean {
  let nextMs = clock.now();
  return () => {
    const nowMs = clock.now();
    if (nowMs < nextMs) return false;
    nextMs = Math.max(nextMs, nowMs - LOOK_MS) + Math.min(WEB_EVERY_MS, mostMs());
    return true;
  };
}
