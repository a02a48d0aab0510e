/**
 * The jobs of one worker: slots reserved by accepted offers, the plans that arrive for them, and the calls
 * they become. Pure bookkeeping without I/O.
 */

import type { Clock, Timer } from '#base/clock.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { JobKind } from '#protocol/worker-link.ts';
import type { Call } from '../calls/call.ts';
import type { Move } from '../turn/machine/moving-call.ts';

/** Rejects the wait for the plan of a withdrawn job. */
export class JobWithdrawn extends Error {}

/** The same of a job whose plan did not come in time: the control plane may believe that it runs here. */
export class PlanMissing extends JobWithdrawn {}

/**
 * Longest wait for an accepted offer's plan and, for an inbound call, for its INVITE; the init webhook takes
 * at most 8 s of it.
 */
const PLAN_MS = 20_000;

/** One accepted job. */
export interface Job {
  readonly sessionId: string;
  readonly epoch: number;
  readonly kind: JobKind;
  readonly sipCallId: string | null;
  /** Rejects with `JobWithdrawn` when the job is withdrawn. */
  readonly plan: Promise<CallPlan>;
  call: Call | null;
  /** Another worker has the session: nothing more is reported or uploaded for it. */
  isTaken: boolean;
  /** When the call was last offered to other workers; null if it never was. */
  offeredMs: number | null;
  /** One of them has taken it: what was recorded until then is uploaded. */
  isHandedOver: boolean;
  /** How the call could move to another worker now. */
  move: Move;
  /** The call's current variables. */
  variables: () => CallPlan['variables'];
}

interface Entry extends Job {
  /** Its INVITE has arrived: another one with the same Call-ID is not this call. */
  hasInvite: boolean;
  isPlanned: boolean;
  settlePlan: { resolve(plan: CallPlan): void; reject(error: Error): void };
  timer: Timer;
}

/** Jobs by session and epoch, and by the Call-ID of their INVITE. */
export class JobTable {
  readonly #clock: Clock;
  readonly #jobs = new Map<string, Entry>();
  readonly #idleWaiters: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** Reserves a slot; null when the job already exists. */
  reserve(offer: {
    readonly sessionId: string;
    readonly epoch: number;
    readonly kind: Job['kind'];
    readonly sipCallId: string | null;
  }): Job | null {
    const key = keyOf(offer.sessionId, offer.epoch);
    if (this.#jobs.has(key)) return null;
    const { promise, resolve, reject } = Promise.withResolvers<CallPlan>();
    // The job may be withdrawn before anything waits for its plan.
    promise.catch(() => undefined);
    const timer = this.#clock.after(PLAN_MS, () => {
      if (!entry.isPlanned) reject(new PlanMissing('the plan of the job has not arrived'));
      this.remove(offer.sessionId, offer.epoch);
    });
    const entry: Entry = {
      ...offer,
      plan: promise,
      call: null,
      isTaken: false,
      offeredMs: null,
      isHandedOver: false,
      move: 'never',
      variables: () => ({}),
      hasInvite: false,
      isPlanned: false,
      settlePlan: { resolve, reject },
      timer,
    };
    this.#jobs.set(key, entry);
    return entry;
  }

  /**
   * Gives a plan to its job; null when the job is not here. The slot of an inbound call stays reserved only
   * for a while: its INVITE may have been refused before the plan arrived.
   */
  assign(sessionId: string, epoch: number, plan: CallPlan): Job | null {
    const entry = this.#jobs.get(keyOf(sessionId, epoch));
    if (!entry) return null;
    if (entry.sipCallId === null || entry.hasInvite) entry.timer.cancel();
    entry.isPlanned = true;
    entry.settlePlan.resolve(plan);
    return entry;
  }

  /** The job's plan came with its message (analysis), so it no longer expires. */
  keep(sessionId: string, epoch: number): void {
    this.#jobs.get(keyOf(sessionId, epoch))?.timer.cancel();
  }

  get(sessionId: string, epoch: number): Job | null {
    return this.#jobs.get(keyOf(sessionId, epoch)) ?? null;
  }

  /** The job of an INVITE, returned once. */
  takeSipCall(sipCallId: string): Job | null {
    for (const job of this.#jobs.values()) {
      if (job.sipCallId !== sipCallId || job.hasInvite) continue;
      job.hasInvite = true;
      if (job.isPlanned) job.timer.cancel();
      return job;
    }
    return null;
  }

  all(): readonly Job[] {
    return [...this.#jobs.values()];
  }

  /** Frees the slot. */
  remove(sessionId: string, epoch: number): void {
    const key = keyOf(sessionId, epoch);
    const entry = this.#jobs.get(key);
    if (!entry) return;
    this.#jobs.delete(key);
    entry.timer.cancel();
    entry.settlePlan.reject(new JobWithdrawn('the job was withdrawn'));
    if (this.#jobs.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** Resolves when no job is left. */
  idle(): Promise<void> {
    return this.#jobs.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idleWaiters.push(resolve));
  }
}

function keyOf(sessionId: string, epoch: number): string {
  return `${sessionId}:${epoch}`;
}
