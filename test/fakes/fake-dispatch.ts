/** A `Dispatch` without workers: accepts jobs while it has room and records its calls. */

import { type FaultCode, fault } from '#config/errors.ts';
import type {
  Dispatch,
  HeardSoFar,
  JobOffer,
  JoiningParticipant,
  Placement,
  WorkerSlots,
} from '#control-plane/platform/dispatch.ts';
import type { SuggestionOutcome, SuggestionRequest } from '#protocol/agent-suggestion.ts';
import type { AgentTestJob } from '#protocol/agent-test.ts';
import type { AnalysisJob } from '#protocol/analysis-job.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { QuestionOutcome, TurnQuestion } from '#protocol/judged-turns.ts';
import type { ParticipantChange } from '#protocol/participants.ts';
import type { RegretOutcome, RegretRequestCall } from '#protocol/regret.ts';
import type { RehearsedCall, RehearsedOutcome } from '#protocol/rehearsal.ts';
import type { ReplayOutcome, ReplaySettings } from '#protocol/replay.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { SipRequest, SipResponse } from '#protocol/sip-request.ts';
import type { TestCallOutcome, TestCallQuestion } from '#protocol/test-call-question.ts';
import type { TextTurnJob } from '#protocol/text-turn.ts';
import type { PauseTally } from '#protocol/tuning.ts';
import type { FailoverState } from '#protocol/worker-link.ts';
import { regretOfCall } from '#runtime/replay/regret/regret-of-call.ts';
import { rehearseCall } from '#runtime/replay/rehearsal/rehearse-call.ts';
import { tallyLogs } from '#runtime/replay/tuning.ts';

type Key = { readonly sessionId: string; readonly epoch: number };

/** The simulated workers of a test. */
export class FakeDispatch implements Dispatch {
  /** Number of jobs it still accepts. */
  room = Number.POSITIVE_INFINITY;
  /** Total number of jobs its workers accept. */
  capacity = 0;
  isStopping = false;
  /** Whether a dead worker is being restarted. */
  successorComes = true;
  /** When set, every method that reaches a worker throws this fault. */
  unreachable: FaultCode | null = null;
  placement: Placement = { instanceId: 'worker-1', supervisorRun: 'run-1', sipTag: 'tag-1' };
  readonly offers: JobOffer[] = [];
  readonly plans: { key: Key; plan: CallPlan; failoverState?: FailoverState }[] = [];
  /** Current speech of the agents. */
  readonly speaking = new Map<string, HeardSoFar>();
  readonly analyses: { key: Key; job: AnalysisJob }[] = [];
  readonly tests: { key: Key; job: AgentTestJob }[] = [];
  readonly textTurns: { key: Key; job: TextTurnJob }[] = [];
  readonly withdrawn: Key[] = [];
  readonly abandoned: { instanceId: string; key: Key }[] = [];
  /** Resolves when a worker that was told to leave a call has left it. */
  hasLeft: Promise<void> = Promise.resolve();
  readonly ended: { instanceId: string; key: Key; reason: EndReason }[] = [];
  readonly sdpOffers: string[] = [];
  readonly speechModels: string[] = [];
  /** Colleagues admitted to calls, and their actions there. */
  readonly joined: { key: Key; participant: JoiningParticipant }[] = [];
  readonly changed: { key: Key; participantId: string; change: ParticipantChange }[] = [];
  /** When set, every request of a colleague is refused with this fault. */
  refusal: FaultCode | null = null;
  readonly replays: { log: string; settings: ReplaySettings }[] = [];
  /** Groups of flight logs whose pauses were judged. */
  readonly judged: (readonly string[])[] = [];
  /** Groups of calls that were rehearsed. */
  readonly rehearsed: (readonly RehearsedCall[])[] = [];
  /** Questions about turns of ended calls. */
  readonly questions: TurnQuestion[] = [];
  /** Answers them as a worker does; null: none answers. */
  answerQuestion: ((question: TurnQuestion) => Promise<QuestionOutcome>) | null = null;
  /** Answers SIP requests as a worker does; null: no worker is connected to a SIP server. */
  answerSip: ((request: SipRequest) => Promise<SipResponse>) | null = null;
  readonly suggestionRequests: SuggestionRequest[] = [];
  /** The answer to every request for a suggestion. */
  suggestion: SuggestionOutcome | Promise<SuggestionOutcome> = {
    suggestion: null,
    error: 'no model',
    cost_micros: 0,
  };

  /** Questions about test calls. */
  readonly testCallQuestions: TestCallQuestion[] = [];
  /** The answer to each of them. */
  testCallOutcome: TestCallOutcome | Promise<TestCallOutcome> = {
    ...{ outcome: 'failed', error: 'no model', cost_micros: 0 },
  };

  /** Clears all state and makes room again. */
  reset(): void {
    this.room = Number.POSITIVE_INFINITY;
    this.capacity = 0;
    this.unreachable = null;
    this.successorComes = true;
    for (const list of [
      this.offers,
      this.plans,
      this.analyses,
      this.tests,
      this.textTurns,
      this.withdrawn,
      this.ended,
      this.abandoned,
      this.sdpOffers,
      this.replays,
      this.judged,
      this.rehearsed,
      this.questions,
      this.suggestionRequests,
      this.testCallQuestions,
    ])
      list.length = 0;
    this.answerQuestion = null;
    this.joined.length = 0;
    this.changed.length = 0;
    this.refusal = null;
    this.hasLeft = Promise.resolve();
  }

  slots(): WorkerSlots {
    return { capacity: this.capacity, free: this.room, instanceIds: [this.placement.instanceId] };
  }

  async place(offer: JobOffer): Promise<Placement> {
    this.offers.push(offer);
    if (this.room <= 0) throw fault('no_capacity');
    this.room -= 1;
    return this.placement;
  }

  assign(_placement: Placement, key: Key, plan: CallPlan, failoverState?: FailoverState): void {
    this.#reach();
    this.plans.push({ key, plan, ...(failoverState ? { failoverState } : {}) });
  }

  announceSpeechModels(models: readonly string[]): void {
    this.speechModels.push(...models);
  }

  heardSoFar(sessionId: string): HeardSoFar | null {
    return this.speaking.get(sessionId) ?? null;
  }

  assignAnalysis(_placement: Placement, key: Key, job: AnalysisJob): void {
    this.#reach();
    this.analyses.push({ key, job });
  }

  assignAgentTest(_placement: Placement, key: Key, job: AgentTestJob): void {
    this.#reach();
    this.tests.push({ key, job });
  }

  assignTextTurn(_placement: Placement, key: Key, job: TextTurnJob): void {
    this.#reach();
    this.textTurns.push({ key, job });
  }

  async suggestAgent(request: SuggestionRequest): Promise<SuggestionOutcome> {
    this.#reach();
    this.suggestionRequests.push(request);
    return this.suggestion;
  }

  async askOfTestCall(question: TestCallQuestion): Promise<TestCallOutcome> {
    this.#reach();
    this.testCallQuestions.push(question);
    return this.testCallOutcome;
  }

  async sendSip(request: SipRequest): Promise<SipResponse> {
    this.#reach();
    if (!this.answerSip) throw fault('no_capacity');
    return this.answerSip(request);
  }

  withdraw(_placement: Placement, key: Key): void {
    this.withdrawn.push(key);
    this.room += 1;
  }

  end(instanceId: string, key: Key, reason: EndReason): void {
    this.#reach();
    this.ended.push({ instanceId, key, reason });
  }

  abandon(instanceId: string, key: Key): void {
    this.abandoned.push({ instanceId, key });
  }

  async leave(instanceId: string, key: Key): Promise<void> {
    this.abandon(instanceId, key);
    await this.hasLeft;
  }

  async releaseStream(): Promise<null> {
    return null;
  }

  async offerWebrtc(_instanceId: string, _key: Key, sdp: string): Promise<{ readonly sdp: string }> {
    this.#reach();
    this.sdpOffers.push(sdp);
    return { sdp: `answer to ${sdp}` };
  }

  async joinParticipant(
    _instanceId: string,
    key: Key,
    participant: JoiningParticipant,
  ): Promise<{ readonly sdp: string | null }> {
    this.#reach();
    this.joined.push({ key, participant });
    const { connection } = participant;
    return { sdp: connection.type === 'webrtc' ? `answer to ${connection.sdp}` : null };
  }

  async changeParticipant(
    _instanceId: string,
    key: Key,
    participantId: string,
    change: ParticipantChange,
  ): Promise<void> {
    this.#reach();
    if (this.refusal) throw fault(this.refusal);
    this.changed.push({ key, participantId, change });
  }

  async replay(log: string, settings: ReplaySettings): Promise<ReplayOutcome> {
    this.#reach();
    this.replays.push({ log, settings });
    return { divergence: null };
  }

  /** Judges them in this thread, as a worker does in one of its own. */
  async judgePauses(logs: readonly string[]): Promise<PauseTally> {
    this.#reach();
    this.judged.push(logs);
    return tallyLogs(logs);
  }

  async rehearse(calls: readonly RehearsedCall[]): Promise<readonly RehearsedOutcome[]> {
    this.#reach();
    this.rehearsed.push(calls);
    return calls.map(rehearseCall);
  }

  async judgeTurn(question: TurnQuestion): Promise<QuestionOutcome> {
    this.#reach();
    this.questions.push(question);
    if (!this.answerQuestion) throw fault('gateway_unreachable');
    return this.answerQuestion(question);
  }

  async measureRegret(calls: readonly RegretRequestCall[]): Promise<readonly RegretOutcome[]> {
    this.#reach();
    return calls.map(regretOfCall);
  }

  hasWorker(): boolean {
    return this.unreachable === null;
  }

  expectsWorker(): boolean {
    return this.successorComes;
  }

  #reach(): void {
    if (this.unreachable) throw fault(this.unreachable);
  }
}
