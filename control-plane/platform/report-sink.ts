/**
 * `ReportSink`: receives reports, lost links and recovered workers from the worker link on behalf of the
 * sessions. Implemented by `settle-call.ts`.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ReportEnvelope } from '#protocol/worker-link.ts';
import type { SessionKey } from './dispatch.ts';

/**
 * Outcome of storing reports: stored up to `seq` (or already stored), a gap before one of them, or an epoch
 * that has ended.
 */
export type ReportOutcome =
  | { readonly outcome: 'stored'; readonly seq: number }
  | { readonly outcome: 'gap'; readonly fromSeq: number }
  /** `isTaken`: another worker has the session under a later epoch. */
  | { readonly outcome: 'stale'; readonly isTaken?: true };

/** A call that a draining worker gives up. */
export interface HandedOverCall extends SessionKey {
  /** The variables as the call has set them. */
  readonly variables: CallPlan['variables'];
  /** False: the agent or the caller may be speaking. */
  readonly isBetweenTurns: boolean;
  /** The worker says when it has left the call. */
  readonly confirmsLeaving: boolean;
  /** It can give up the stream that it sends to a phone. */
  readonly givesStream: boolean;
  /** It can wait for a worker that is ready for it; otherwise any one will do. */
  readonly canWait: boolean;
}

/** The link by which a worker has reconnected. */
export interface ReturnLink {
  /** False once it is lost: the worker may have connected elsewhere and accepted sessions there. */
  isCurrent(): boolean;
  /** Called once the worker has been told which of its sessions it no longer has, before any is settled. */
  onChecked(): void;
}

/**
 * Receives reports and status changes of workers. Reports of one session are passed on one at a time, in
 * order of arrival.
 */
export interface ReportSink {
  /**
   * Stores one or more reports of one session and epoch, in the guarded update that advances the session's
   * `last_seq`; resolves once they are durable. `instanceId` is the worker that delivered them. If it is not
   * the session's worker, it read them from a dead worker's spool, so they do not prove that the session is
   * alive.
   */
  apply(envelopes: readonly ReportEnvelope[], instanceId: string): Promise<ReportOutcome>;
  /** The worker is out of reach since `at`: its active sessions become `unknown` and continue. */
  workerLost(instanceId: string, at?: Date): Promise<void>;
  /**
   * These workers are connected to this replica, and the sessions that they no longer ran when they connected
   * are settled: their `unknown` sessions, which another replica doubted, are active.
   */
  workersHeard(instanceIds: readonly string[]): Promise<void>;
  /**
   * The worker has reconnected with these sessions; the list grows as it accepts more on this link. Its
   * other live sessions are settled as `heartbeat_timeout`.
   */
  workerBack(instanceId: string, sessions: readonly SessionKey[], link?: ReturnLink): Promise<void>;
  /** The draining worker `instanceId` offers a call to another worker; false if none takes it now. */
  handOver(instanceId: string, call: HandedOverCall): Promise<boolean>;
  /**
   * Called when a worker process is known to be dead and its spool has been read, or cannot be read. `diedAt`
   * is the time of death, null if it is unknown. Other workers take over its calls; those that cannot be
   * taken over end with `heartbeat_timeout`. `hungIn` is the session that had blocked its event loop when it
   * was killed. `isStillDead`: it is asked once the deaths are stored, because a worker that only seemed dead
   * may be back; if it is, or withdraws its deaths afterwards, it keeps its calls.
   */
  workerDead(
    instanceId: string,
    diedAt: Date | null,
    hungIn?: string | null,
    isStillDead?: () => Promise<boolean>,
  ): Promise<void>;
}
