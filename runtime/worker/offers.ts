/**
 * Decides about offers to a worker: accepted while there is room, declined, or held briefly while the event
 * loop is late.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { ControlMessage, JobKind } from '#protocol/worker-link.ts';
import type { Signalling } from '#telephony/signalling.ts';
import type { LagMeter } from '../event-loop/loop-lag.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import { type JobTable, PlanMissing } from './job-table.ts';

/**
 * Event-loop delay (loop-lag.ts) that, for this many heartbeats in a row, leaves no room for another call; a
 * single late second is just a busy machine.
 */
const FULL_LAG_MS = 60;
const FULL_LAG_HEARTBEATS = 3;
/**
 * A late worker accepts one call per this time, in ms: calls of a burst ring longer instead of delaying the
 * loop further…
 */
const LATE_PACE_MS = 60;
/** …and none at this delay, at which a conversation is impossible. */
const HOPELESS_LAG_MS = 1_000;

/** Share of the slots that turns of text sessions may take: the others are for callers, who cannot wait. */
const TEXT_SHARE = 0.5;
/** A person waits for them, but not on the line: they wait until the loop is on time. */
const PATIENT: ReadonlySet<JobKind> = new Set(['analysis', 'text_turn']);

type Offer = Extract<ControlMessage, { type: 'offer' }>;

/** The load of a worker. */
export interface WorkerLoad {
  /** Jobs that run or are reserved. */
  readonly calls: number;
  /** Jobs that it would still take. */
  readonly freeSlots: number;
  /** Event-loop delay (loop-lag.ts), ms. */
  readonly loopLagMs: number;
}

/** Dependencies for answering offers. */
export interface OffersDeps {
  readonly identity: { readonly kinds: readonly JobKind[]; readonly capacity: number };
  readonly clock: Clock;
  /** Accepted offers reserve their slots here. */
  readonly jobs: JobTable;
  readonly client: Pick<ControlPlaneClient, 'send' | 'registerAnew'>;
  /** Null: INVITEs cannot reach this worker. */
  readonly phone: { readonly signalling: Pick<Signalling, 'isConnected'> } | null;
  readonly loopLagMs: LagMeter;
}

/** The offers of one worker. */
export class Offers {
  readonly #deps: OffersDeps;
  #isDraining = false;
  #lateHeartbeats = 0;
  #loopLagMs = 0;
  /**
   * Offers that arrived while the loop was late, oldest first: callers prefer a few more seconds of ringing
   * to a refusal.
   */
  #held: Offer[] = [];
  #heldTimer: Timer | null = null;

  constructor(deps: OffersDeps) {
    this.#deps = deps;
  }

  /** Answers an offer, now or after holding it. */
  take(offer: Offer): void {
    if (this.#isLate && this.#refusalOf(offer) === null) {
      this.#held.push(offer);
      this.#scheduleHeld();
    } else this.#answer(offer);
  }

  /** The offer was withdrawn. */
  drop(sessionId: string, epoch: number): void {
    this.#held = this.#held.filter((offer) => offer.session_id !== sessionId || offer.epoch !== epoch);
  }

  /** Declines every call from now on. */
  drain(): void {
    this.#isDraining = true;
  }

  close(): void {
    this.#heldTimer?.cancel();
  }

  /** The load for a heartbeat. Call it once per heartbeat, because delay is counted by it. */
  load(): WorkerLoad {
    const loopLagMs = this.#deps.loopLagMs(this.#deps.jobs.size);
    this.#loopLagMs = loopLagMs;
    this.#lateHeartbeats = loopLagMs > FULL_LAG_MS ? this.#lateHeartbeats + 1 : 0;
    if (!this.#isLate) for (const offer of this.#held.splice(0)) this.#answer(offer);
    return this.lastLoad();
  }

  /** The load with the delay of the last heartbeat. */
  lastLoad(): WorkerLoad {
    const { identity, jobs } = this.#deps;
    const isFull = this.#isDraining || this.#isLate;
    return {
      calls: jobs.size,
      freeSlots: isFull ? 0 : Math.max(0, identity.capacity - jobs.size),
      loopLagMs: this.#loopLagMs,
    };
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  #answer(offer: Offer): void {
    const { client, jobs } = this.#deps;
    const session = { session_id: offer.session_id, epoch: offer.epoch };
    const reason = this.#refusalOf(offer);
    if (reason) {
      client.send({ type: 'decline', ...session, reason });
      return;
    }
    const job = jobs.reserve({
      sessionId: offer.session_id,
      epoch: offer.epoch,
      kind: offer.kind,
      sipCallId: offer.sip_call_id,
    });
    // It may have been lost on its way, over Redis for example, and the session then waits here for ever.
    job?.plan.catch((error: unknown) => {
      if (error instanceof PlanMissing) client.registerAnew();
    });
    client.send({ type: 'accept', ...session });
  }

  #refusalOf({ kind, is_media_stream }: Offer): 'unsupported' | 'draining' | 'full' | null {
    const { identity, jobs, phone } = this.#deps;
    // Not a kind of its own in a registration (protocol/worker-link.ts).
    const listed = kind === 'text_turn' ? 'agent_test' : kind;
    const needsSip = kind === 'phone' && !is_media_stream;
    if (!identity.kinds.includes(listed) || (needsSip && phone?.signalling.isConnected !== true))
      return 'unsupported';
    if (this.#isDraining && kind !== 'analysis') return 'draining';
    const isFull =
      jobs.size >= identity.capacity ||
      (kind === 'text_turn' && jobs.countOf(kind) >= identity.capacity * TEXT_SHARE);
    return isFull ? 'full' : null;
  }

  /**
   * Held offers are taken at their pace, even if this timer is late. Work without a caller waits until the
   * loop is on time.
   */
  #scheduleHeld(sinceMs = this.#deps.clock.now()): void {
    this.#heldTimer ??= this.#deps.clock.after(LATE_PACE_MS, () => {
      this.#heldTimer = null;
      const due = Math.floor((this.#deps.clock.now() - sinceMs) / LATE_PACE_MS);
      const calls = this.#held.filter(({ kind }) => !PATIENT.has(kind));
      const taken = this.#loopLagMs < HOPELESS_LAG_MS ? calls.slice(0, due) : [];
      this.#held = this.#held.filter((offer) => !taken.includes(offer));
      for (const offer of taken) this.#answer(offer);
      if (taken.length < calls.length) this.#scheduleHeld(sinceMs + due * LATE_PACE_MS);
    });
  }

  /** A worker without calls has none to protect: a first call on a busy machine is better than a refusal. */
  get #isLate(): boolean {
    return this.#deps.jobs.size > 0 && this.#lateHeartbeats >= FULL_LAG_HEARTBEATS;
  }
}
