/**
 * The jobs of one worker: slots reserved by accepted offers, the plans that arrive for them, and the calls
 * they become. Pure bookkeeping without I/O.
 */

import type { Clock, Timer } from '#base/clock.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { JobKind } from '#protocol/worker-link.ts';
import type { Call } from '../calls/call.ts';
import { keyOf } from '../link/session-key.ts';
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

interface JobOffer {
  readonly sessionId: string;
  readonly epoch: number;
  readonly kind: JobKind;
  readonly sipCallId: string | null;
}

/** One accepted job. */
export interface Job extends JobOffer {
  /** Rejects with `JobWithdrawn` when the job is withdrawn. */
  readonly plan: Promise<CallPlan>;
  call: Call | null;
  /** Another worker has the session: nothing more is reported or uploaded for it. */
  isTaken: boolean;
  /** When the call was last offered to other workers; null if it never was. */
  offeredMs: number | null;
  /** One of them has taken it: what was recorded until then is uploaded. */
  isHandedOver: boolean;
  /** That worker sends in its place or, on the phone, never asks whether it may; its agent is in the room. */
  isReleased: boolean;
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
  /** Withdrawn before their plan, and when. */
  readonly #withdrawn = new Map<string, { readonly offer: JobOffer; readonly atMs: number }>();
  readonly #idleWaiters: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** How many of the jobs are of a kind. */
  countOf(kind: JobOffer['kind']): number {
    return [...this.#jobs.values()].filter((job) => job.kind === kind).length;
  }

  /** Reserves a slot; null when the job already exists. */
  reserve(offer: JobOffer): Job | null {
    return this.#jobs.has(keyOf(offer.sessionId, offer.epoch)) ? null : this.#add(offer);
  }

  #add({ sessionId, epoch, kind, sipCallId }: JobOffer): Entry {
    const key = keyOf(sessionId, epoch);
    this.#withdrawn.delete(key);
    const { promise, resolve, reject } = Promise.withResolvers<CallPlan>();
    // The job may be withdrawn before anything waits for its plan.
    promise.catch(() => undefined);
    const timer = this.#clock.after(PLAN_MS, () => {
      if (!entry.isPlanned) reject(new PlanMissing('the plan of the job has not arrived'));
      this.remove(sessionId, epoch);
    });
    const entry: Entry = {
      sessionId,
      epoch,
      kind,
      sipCallId,
      plan: promise,
      call: null,
      isTaken: false,
      offeredMs: null,
      isHandedOver: false,
      isReleased: false,
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
    const entry = this.#planned(sessionId, epoch);
    if (!entry) return null;
    if (entry.sipCallId === null || entry.hasInvite) entry.timer.cancel();
    entry.settlePlan.resolve(plan);
    return entry;
  }

  /** The job's plan came with its message (analysis), so it no longer expires; null when it is not here. */
  keep(sessionId: string, epoch: number): Job | null {
    const entry = this.#planned(sessionId, epoch);
    entry?.timer.cancel();
    return entry;
  }

  /**
   * An offer of the job is withdrawn: frees the slot, unless the plan has come. Several replicas may offer
   * one job, of which each knows its own offers only; the plan is sent once the store has given the job to
   * this worker, so it counts whenever it comes.
   */
  withdraw(sessionId: string, epoch: number): void {
    const key = keyOf(sessionId, epoch);
    const entry = this.#jobs.get(key);
    if (!entry || entry.isPlanned) return;
    this.remove(sessionId, epoch);
    this.#forgetOldWithdrawals();
    this.#withdrawn.set(key, { offer: entry, atMs: this.#clock.now() });
  }

  #forgetOldWithdrawals(): void {
    const sinceMs = this.#clock.now() - PLAN_MS;
    for (const [key, { atMs }] of this.#withdrawn) if (atMs < sinceMs) this.#withdrawn.delete(key);
  }

  /** The job whose plan has come. */
  #planned(sessionId: string, epoch: number): Entry | null {
    const key = keyOf(sessionId, epoch);
    this.#forgetOldWithdrawals();
    const withdrawn = this.#withdrawn.get(key);
    const entry = this.#jobs.get(key) ?? (withdrawn ? this.#add(withdrawn.offer) : null);
    if (entry) entry.isPlanned = true;
    return entry;
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

  /** Frees the slot; a plan finds no job any more. */
  remove(sessionId: string, epoch: number): void {
    const key = keyOf(sessionId, epoch);
    this.#withdrawn.delete(key);
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
