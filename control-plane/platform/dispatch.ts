/**
 * `Dispatch`: the control plane's interface to the workers: places jobs, sends plans and forwards commands.
 * Implemented by `worker-dispatch.ts` over the worker link.
 */

import type { SuggestionOutcome, SuggestionRequest } from '#protocol/agent-suggestion.ts';
import type { AgentTestJob } from '#protocol/agent-test.ts';
import type { AnalysisJob } from '#protocol/analysis-job.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { QuestionOutcome, TurnQuestion } from '#protocol/judged-turns.ts';
import type { ParticipantChange, ParticipantConnection } from '#protocol/participants.ts';
import type { RegretOutcome, RegretRequestCall } from '#protocol/regret.ts';
import type { RehearsedCall, RehearsedOutcome } from '#protocol/rehearsal.ts';
import type { ReplayOutcome, ReplaySettings } from '#protocol/replay.ts';
import type { ParticipantMode } from '#protocol/session-events.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { SipRequest, SipResponse } from '#protocol/sip-request.ts';
import type { TestCallOutcome, TestCallQuestion } from '#protocol/test-call-question.ts';
import type { TextTurnJob } from '#protocol/text-turn.ts';
import type { PauseTally } from '#protocol/tuning.ts';
import type { ControlRequest, FailoverState, JobKind, RestOfStream } from '#protocol/worker-link.ts';

/**
 * Time limits for a worker's answer. A call is left at once, so only the link may be late. An offer is
 * answered after ICE gathering, a room once it is joined; a replay and the judgement of pauses start a
 * thread and may read an hour-long call; a language model may take a minute. Signalling repeats a SIP request
 * for 32 s.
 */
export const ANSWER_MS: Readonly<Record<ControlRequest['type'], number>> = {
  stale: 2_000,
  release_stream: 1_000,
  'webrtc.offer': 8_000,
  'participant.join': 12_000,
  'participant.change': 3_000,
  replay: 30_000,
  judge_pauses: 30_000,
  rehearse: 30_000,
  judge_turn: 65_000,
  measure_regret: 30_000,
  suggest_agent: 65_000,
  ask_of_test_call: 65_000,
  send_sip: 35_000,
};

/** Identifies one attempt at a session's job: each further worker runs it under a higher epoch. */
export interface SessionKey {
  readonly sessionId: string;
  readonly epoch: number;
}

/** The SIP server that brings a call: it can pass the INVITE only to a worker that is connected to it. */
export interface SipRoute {
  /** Tags of the workers connected to it, as it says itself; null if it does not say. */
  readonly workerTags: readonly string[] | null;
  /** Its name, which workers report; null if it is not known. */
  readonly server: string | null;
}

/** A job to be placed on a worker. */
export interface JobOffer extends SessionKey {
  readonly kind: JobKind;
  readonly sipCallId: string | null;
  /** Absent or null unless an INVITE brings the job. */
  readonly route?: SipRoute | null | undefined;
  /** Only workers that are ready for web calls may take it. */
  readonly needsReady?: boolean | undefined;
  /** A phone call over a media stream: only workers that join one may take it. */
  readonly isMediaStream?: boolean | undefined;
}

/** The worker that accepted a job. */
export interface Placement {
  readonly instanceId: string;
  /**
   * Run of the supervisor that started the worker. A session placed during an earlier run on the same machine
   * is known to be lost.
   */
  readonly supervisorRun: string | null;
  readonly sipTag: string | null;
  /** It goes on with a phone's stream that another worker gives up; absent: it begins one of its own. */
  readonly takesStream?: boolean | undefined;
}

/** The part of a reply in progress that the caller has heard. */
export interface HeardSoFar {
  readonly text: string;
  /** Wall time of the first word, in ms. */
  readonly atMs: number;
}

/** A colleague joining a running call. */
export interface JoiningParticipant {
  readonly id: string;
  readonly name: string | null;
  readonly mode: ParticipantMode;
  readonly connection: ParticipantConnection;
}

/** Combined capacity of all workers that accept one kind of job. */
export interface WorkerSlots {
  readonly capacity: number;
  readonly free: number;
  readonly instanceIds: readonly string[];
}

/**
 * Access to the workers. Methods that address a session's worker throw `Fault('gateway_unreachable')` when
 * its link is down.
 */
export interface Dispatch {
  /** Capacity of the workers that accept this kind of job, as last reported. */
  slots(kind: JobKind): WorkerSlots;
  /**
   * Offers the job to workers in order of load, least loaded first, until one accepts; a web call to those
   * that are ready before the others. Throws `Fault('no_capacity')`, or `Fault('draining')` during shutdown.
   */
  place(offer: JobOffer): Promise<Placement>;
  /** `failoverState` is the state of a call that another worker began. */
  assign(placement: Placement, session: SessionKey, plan: CallPlan, failoverState?: FailoverState): void;
  assignAnalysis(placement: Placement, session: SessionKey, job: AnalysisJob): void;
  assignAgentTest(placement: Placement, session: SessionKey, job: AgentTestJob): void;
  assignTextTurn(placement: Placement, turn: SessionKey, job: TextTurnJob): void;
  /** Frees the slot of an accepted job that is not going to be assigned. */
  withdraw(placement: Placement, session: SessionKey): void;
  /** Tells the worker to end the call; the session ends with the worker's `ended` report. */
  end(instanceId: string, session: SessionKey, reason: EndReason): void;
  /** Tells the worker, if it is connected, that another one has the session: it falls silent. */
  abandon(instanceId: string, session: SessionKey): void;
  /**
   * The same for a worker that confirms it: resolves once it has left the call, or after some time.
   * `takesStream`: `releaseStream` will follow, and until then the worker goes on sending silence.
   */
  leave(instanceId: string, session: SessionKey, takesStream?: boolean): Promise<void>;
  /**
   * Makes a worker that has left the call give up the stream of packets it still sends; null if it sends
   * none.
   */
  releaseStream(instanceId: string, session: SessionKey): Promise<RestOfStream | null>;
  /** Passes a browser's offer to the session's worker and returns its answer. */
  offerWebrtc(instanceId: string, session: SessionKey, sdp: string): Promise<{ readonly sdp: string }>;
  /**
   * Asks the session's worker to admit a colleague; returns an answer if they sent an offer. Throws the
   * reason if they cannot join.
   */
  joinParticipant(
    instanceId: string,
    session: SessionKey,
    participant: JoiningParticipant,
  ): Promise<{ readonly sdp: string | null }>;
  /** Throws `Fault('not_found')` if the participant is not connected, `call_taken` or `call_not_takeable`. */
  changeParticipant(
    instanceId: string,
    session: SessionKey,
    participantId: string,
    change: ParticipantChange,
  ): Promise<void>;
  /**
   * Asks any worker to replay a call from its flight log. Throws `Fault('no_capacity')` when there is no
   * worker, `Fault('gateway_unreachable')` when the worker does not answer, and `Fault('not_replayable')` for
   * a log of another version.
   */
  replay(log: string, settings: ReplaySettings): Promise<ReplayOutcome>;
  /**
   * Asks any worker to judge the pauses of calls from their flight logs; calls of another version are left
   * out. Throws `Fault('no_capacity')` when there is no worker, and `Fault('gateway_unreachable')` when the
   * worker does not answer.
   */
  judgePauses(logs: readonly string[]): Promise<PauseTally>;
  /**
   * Asks any worker to run calls again under a draft; what became of each is in the answer. Throws as
   * `judgePauses` does.
   */
  rehearse(calls: readonly RehearsedCall[]): Promise<readonly RehearsedOutcome[]>;
  /** Asks any worker to measure the regret of calls. Throws as `judgePauses` does. */
  measureRegret(calls: readonly RegretRequestCall[]): Promise<readonly RegretOutcome[]>;
  /**
   * Asks any worker to ask a model about one turn of an ended call. Throws `Fault('no_capacity')` when there
   * is no worker, so that no model was asked, and `Fault('gateway_unreachable')` when the worker does not
   * answer, so that one may have been.
   */
  judgeTurn(question: TurnQuestion): Promise<QuestionOutcome>;
  /**
   * Asks any worker for the suggestion of an agent. Throws `Fault('no_capacity')` when there is no worker,
   * and `Fault('gateway_unreachable')` when the worker does not answer.
   */
  suggestAgent(request: SuggestionRequest): Promise<SuggestionOutcome>;
  /** Asks any worker to ask a model about a test call. Throws as `suggestAgent` does. */
  askOfTestCall(question: TestCallQuestion): Promise<TestCallOutcome>;
  /**
   * Has a worker that is connected to a SIP server send a request outside any call. Throws
   * `Fault('no_capacity')` when there is no such worker, and `Fault('gateway_unreachable')` when the request
   * could not be sent or the worker does not answer.
   */
  sendSip(request: SipRequest): Promise<SipResponse>;
  /** Tells every worker which speech models the control plane has. */
  announceSpeechModels(models: readonly string[]): void;
  /**
   * The heard part of the reply in progress, as far as this replica knows; null while the agent is silent.
   */
  heardSoFar(sessionId: string): HeardSoFar | null;
  /** True once this replica has been told to stop: nothing new should be sent to it (readyz). */
  readonly isStopping: boolean;
  /** True when at least one worker is registered (readyz). */
  hasWorker(): boolean;
  /** False when no worker is registered and none is starting. */
  expectsWorker(): boolean;
}
