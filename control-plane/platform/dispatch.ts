/**
 * `Dispatch`: how the rest of the control plane reaches the workers: it places jobs, hands over plans and
 * passes commands on. Implemented by `worker-hub.ts` over the worker link.
 */

import type { AgentTestJob } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ReplayOutcome, ReplaySettings } from '#protocol/replay.ts';
import type { ParticipantMode } from '#protocol/session-events.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type {
  AnalysisJob,
  ControlRequest,
  Handover,
  JobKind,
  ParticipantChange,
  ParticipantConnection,
} from '#protocol/worker-link.ts';

/**
 * How long a worker has to answer: an offer once candidates are gathered, a room once it is joined; a replay
 * starts a thread, and reads a call of an hour.
 */
export const ANSWER_MS: Readonly<Record<ControlRequest['type'], number>> = {
  'webrtc.offer': 8_000,
  'participant.join': 12_000,
  'participant.change': 3_000,
  replay: 30_000,
};

/** A job to be placed on a worker. */
export interface JobOffer {
  readonly sessionId: string;
  readonly epoch: number;
  readonly kind: JobKind;
  readonly sipCallId: string | null;
}

/** The worker that accepted a job. */
export interface Placement {
  readonly instanceId: string;
  /**
   * The supervisor that started the worker; a session placed under an earlier run of the same machine is
   * known to be lost.
   */
  readonly supervisorRun: string | null;
  readonly sipTag: string | null;
}

/** What has been heard of a reply that is not over. */
export interface HeardSoFar {
  readonly text: string;
  /** Wall time of its first word, ms. */
  readonly atMs: number;
}

/** A colleague who comes into a running call. */
export interface JoiningParticipant {
  readonly id: string;
  readonly name: string | null;
  readonly mode: ParticipantMode;
  readonly connection: ParticipantConnection;
}

/** The workers that take one kind of job, together. */
export interface WorkerSlots {
  readonly capacity: number;
  readonly free: number;
  readonly instanceIds: readonly string[];
}

/**
 * Reaches the workers. Every method that addresses a session's worker throws `Fault('gateway_unreachable')`
 * when its link is down.
 */
export interface Dispatch {
  /** What the workers that take this kind of job have, as they last said. */
  slots(kind: JobKind): WorkerSlots;
  /**
   * Offers the job to one worker after another, least loaded first, until one accepts. Throws
   * `Fault('no_capacity')`, or `Fault('draining')` while the program stops.
   */
  place(offer: JobOffer): Promise<Placement>;
  /** `handover` is what a call has been so far that another worker began. */
  assign(
    placement: Placement,
    session: { readonly sessionId: string; readonly epoch: number },
    plan: CallPlan,
    handover?: Handover,
  ): void;
  assignAnalysis(
    placement: Placement,
    session: { readonly sessionId: string; readonly epoch: number },
    job: AnalysisJob,
  ): void;
  assignAgentTest(
    placement: Placement,
    session: { readonly sessionId: string; readonly epoch: number },
    job: AgentTestJob,
  ): void;
  /** Frees the slot of an accepted job that is not coming. */
  withdraw(placement: Placement, session: { readonly sessionId: string; readonly epoch: number }): void;
  /** Tells the worker to end the call; the session changes by the worker's own `ended` report. */
  end(
    instanceId: string,
    session: { readonly sessionId: string; readonly epoch: number },
    reason: EndReason,
  ): void;
  /** Passes a browser's offer to the session's worker and returns its answer. */
  offerWebrtc(
    instanceId: string,
    session: { readonly sessionId: string; readonly epoch: number },
    sdp: string,
  ): Promise<{ readonly sdp: string }>;
  /** Has the session's worker let a colleague in; an offer is answered. Throws what stands in their way. */
  joinParticipant(
    instanceId: string,
    session: { readonly sessionId: string; readonly epoch: number },
    participant: JoiningParticipant,
  ): Promise<{ readonly sdp: string | null }>;
  /** Throws `Fault('not_found')` for one who is not connected, `call_taken` and `call_not_takeable`. */
  changeParticipant(
    instanceId: string,
    session: { readonly sessionId: string; readonly epoch: number },
    participantId: string,
    change: ParticipantChange,
  ): Promise<void>;
  /**
   * Has any worker run a call again from its flight log. Throws `Fault('no_capacity')` when none is there,
   * `Fault('gateway_unreachable')` when the one asked does not answer, and `Fault('not_replayable')` for a
   * log of another version.
   */
  replay(log: string, settings: ReplaySettings): Promise<ReplayOutcome>;
  /**
   * What has been heard of the reply in progress, as far as this replica was told; null while the agent is
   * silent.
   */
  heardSoFar(sessionId: string): HeardSoFar | null;
  /** True when a worker is registered (readyz). */
  hasWorker(): boolean;
  /** False when no worker is registered and none is on its way. */
  expectsWorker(): boolean;
}
