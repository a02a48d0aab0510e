/**
 * `ReportSink`: what the worker link tells the sessions: reports to be folded in, and links and workers lost
 * and found. Implemented by `settle-call.ts`.
 */
import type { ReportEnvelope } from '#protocol/worker-link.ts';

/**
 * Outcome of reports: stored up to the last (or stored already), a gap before one of them, or of an epoch
 * that is over.
 */
export type ReportOutcome =
  | { readonly outcome: 'stored'; readonly seq: number }
  | { readonly outcome: 'gap'; readonly fromSeq: number }
  | { readonly outcome: 'stale' };

/**
 * Takes what workers tell. Reports of one session are handed over one after another, in the order they came.
 */
export interface ReportSink {
  /**
   * Stores reports of one session and epoch, one or more, in the guarded update that advances the session's
   * `last_seq`; resolves once they are durable. `instanceId` is the worker that handed them over: another one
   * than the session's has them from the spool of a dead one, and they are no sign of life.
   */
  apply(envelopes: readonly ReportEnvelope[], instanceId: string): Promise<ReportOutcome>;
  /** The link to this worker is down: its live sessions read `unknown` and go on. */
  workerLost(instanceId: string): Promise<void>;
  /**
   * The worker is back with these sessions (the list grows by what it accepts meanwhile); any other live
   * session of it is settled as `heartbeat_timeout`.
   */
  workerBack(
    instanceId: string,
    sessions: readonly { readonly sessionId: string; readonly epoch: number }[],
  ): Promise<void>;
  /**
   * The worker's process is certainly gone and its spool has been read: other workers take its calls over,
   * and what cannot be taken over ends `heartbeat_timeout`. `stoodIn` is the session it was killed in for
   * standing still.
   */
  workerDead(instanceId: string, diedAt: Date, stoodIn?: string | null): Promise<void>;
}
