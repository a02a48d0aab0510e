/**
 * What becomes of the offers a worker is made: taken while there is room, declined, or held for a moment
 * while the event loop is late.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { ControlMessage, JobKind } from '#protocol/worker-link.ts';
import type { Signalling } from '#telephony/signalling.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import type { JobTable } from './job-table.ts';

/**
 * A loop this late at the 95th percentile, for this many heartbeats in a row, has no room for another call;
 * one late second is a busy machine.
 */
const FULL_LAG_MS = 60;
const FULL_LAG_HEARTBEATS = 3;
/**
 * While it is late it takes a call in this time, ms: those that come in a burst ring for longer instead of
 * making it later still…
 */
const LATE_PACE_MS = 60;
/** …and none where it is as late as this: nobody can be talked with then. */
const HOPELESS_LAG_MS = 1_000;

type Offer = Extract<ControlMessage, { type: 'offer' }>;

/** What offers are answered by. */
export interface OffersDeps {
  readonly identity: { readonly kinds: readonly JobKind[]; readonly capacity: number };
  readonly clock: Clock;
  /** Where an accepted offer reserves its slot. */
  readonly jobs: JobTable;
  readonly client: Pick<ControlPlaneClient, 'send'>;
  /** Null: no INVITE can reach this worker. */
  readonly phone: { readonly signalling: Pick<Signalling, 'isConnected'> } | null;
  /** 95th percentile of the event loop's lateness since it was last asked, ms. */
  readonly loopLagMs: () => number;
}

/** The offers of one worker. */
export class Offers {
  readonly #deps: OffersDeps;
  #isDraining = false;
  #lateHeartbeats = 0;
  #loopLagMs = 0;
  /**
   * Offers that came while the loop was late, the oldest first: a caller rather hears it ring for some
   * seconds longer than be refused.
   */
  #held: Offer[] = [];
  #heldTimer: Timer | null = null;

  constructor(deps: OffersDeps) {
    this.#deps = deps;
  }

  /** Answers an offer, now or when its time has come. */
  take(offer: Offer): void {
    if (this.#isLate && this.#refusalOf(offer) === null) {
      this.#held.push(offer);
      this.#takeHeldLater();
    } else this.#answer(offer);
  }

  /** The offer stands no longer. */
  drop(sessionId: string, epoch: number): void {
    this.#held = this.#held.filter((offer) => offer.session_id !== sessionId || offer.epoch !== epoch);
  }

  /** No call is taken from now on. */
  drain(): void {
    this.#isDraining = true;
  }

  close(): void {
    this.#heldTimer?.cancel();
  }

  /** What a heartbeat tells; asked once for each, as lateness is counted by it. */
  load(): { readonly calls: number; readonly freeSlots: number; readonly loopLagMs: number } {
    const { identity, jobs } = this.#deps;
    const loopLagMs = this.#deps.loopLagMs();
    this.#loopLagMs = loopLagMs;
    this.#lateHeartbeats = loopLagMs > FULL_LAG_MS ? this.#lateHeartbeats + 1 : 0;
    if (!this.#isLate) for (const offer of this.#held.splice(0)) this.#answer(offer);
    const isFull = this.#isDraining || this.#isLate;
    return {
      calls: jobs.size,
      freeSlots: isFull ? 0 : Math.max(0, identity.capacity - jobs.size),
      loopLagMs,
    };
  }

  #answer(offer: Offer): void {
    const { client, jobs } = this.#deps;
    const session = { session_id: offer.session_id, epoch: offer.epoch };
    const reason = this.#refusalOf(offer);
    if (reason) {
      client.send({ type: 'decline', ...session, reason });
      return;
    }
    jobs.reserve({
      sessionId: offer.session_id,
      epoch: offer.epoch,
      kind: offer.kind,
      sipCallId: offer.sip_call_id,
    });
    client.send({ type: 'accept', ...session });
  }

  #refusalOf({ kind }: Offer): 'unsupported' | 'draining' | 'full' | null {
    const { identity, jobs, phone } = this.#deps;
    if (!identity.kinds.includes(kind) || (kind === 'phone' && phone?.signalling.isConnected !== true))
      return 'unsupported';
    if (this.#isDraining && kind !== 'analysis') return 'draining';
    return jobs.size >= identity.capacity ? 'full' : null;
  }

  /**
   * At their pace, however late this timer itself is. An analysis is nobody who waits: it is taken when the
   * loop is on time again.
   */
  #takeHeldLater(sinceMs = this.#deps.clock.now()): void {
    this.#heldTimer ??= this.#deps.clock.after(LATE_PACE_MS, () => {
      this.#heldTimer = null;
      const due = Math.floor((this.#deps.clock.now() - sinceMs) / LATE_PACE_MS);
      const calls = this.#held.filter(({ kind }) => kind !== 'analysis');
      const taken = this.#loopLagMs < HOPELESS_LAG_MS ? calls.slice(0, due) : [];
      this.#held = this.#held.filter((offer) => !taken.includes(offer));
      for (const offer of taken) this.#answer(offer);
      if (taken.length < calls.length) this.#takeHeldLater(sinceMs + due * LATE_PACE_MS);
    });
  }

  /**
   * A worker without a call has none to protect from another: the first one is better off on a busy machine
   * than refused.
   */
  get #isLate(): boolean {
    return this.#deps.jobs.size > 0 && this.#lateHeartbeats >= FULL_LAG_HEARTBEATS;
  }
}
