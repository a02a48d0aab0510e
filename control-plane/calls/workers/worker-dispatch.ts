/**
 * `Dispatch` over the worker link: sends jobs and commands to the workers of this replica, and through the
 * other replicas to theirs.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import {
  type SuggestionOutcome,
  type SuggestionRequest,
  suggestionOutcome,
} from '#protocol/agent-suggestion.ts';
import type { AgentTestJob } from '#protocol/agent-test.ts';
import type { AnalysisJob } from '#protocol/analysis-job.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { type QuestionOutcome, questionOutcome, type TurnQuestion } from '#protocol/judged-turns.ts';
import type { ParticipantChange } from '#protocol/participants.ts';
import { type RegretOutcome, type RegretRequestCall, regretOutcomes } from '#protocol/regret.ts';
import { type RehearsedCall, type RehearsedOutcome, rehearsedOutcomes } from '#protocol/rehearsal.ts';
import { type ReplayOutcome, type ReplaySettings, replayOutcome } from '#protocol/replay.ts';
import type { EndReason } from '#protocol/session-record.ts';
import { type SipRequest, type SipResponse, sipResponse } from '#protocol/sip-request.ts';
import {
  type TestCallOutcome,
  type TestCallQuestion,
  testCallOutcome,
} from '#protocol/test-call-question.ts';
import type { TextTurnJob } from '#protocol/text-turn.ts';
import { type PauseTally, pauseTally } from '#protocol/tuning.ts';
import {
  type ControlMessage,
  type ControlRequest,
  type FailoverState,
  type JobKind,
  type RestOfStream,
  restOfStream,
  type WorkerAnswer,
} from '#protocol/worker-link.ts';
import type {
  Dispatch,
  HeardSoFar,
  JobOffer,
  JoiningParticipant,
  Placement,
  SessionKey,
  WorkerSlots,
} from '../../platform/dispatch.ts';
import type { ConnectedWorkers } from './connected-workers.ts';
import type { OtherReplicas } from './other-replicas.ts';
import { attemptsAt } from './ready-first.ts';
import { toWire } from './session-wire.ts';
import { slotsOf } from './slots.ts';
import type { SpeakingAgents } from './speaking-agents.ts';

/** The reachable workers, and their replies in progress. */
export interface WorkerDispatchDeps {
  readonly workers: ConnectedWorkers;
  readonly others: OtherReplicas;
  readonly speaking: SpeakingAgents;
}

/** Whether a worker can answer a request. */
type Suits = (worker: {
  readonly judgesPauses?: boolean | undefined;
  readonly rehearses?: boolean | undefined;
  readonly judgesTurns?: boolean | undefined;
  readonly measuresRegret?: boolean | undefined;
  readonly asksOfTestCalls?: boolean | undefined;
  readonly sendsSip?: boolean | undefined;
}) => boolean;

/** Reaches every worker of the deployment. */
export class WorkerDispatch implements Dispatch {
  readonly #workers: ConnectedWorkers;
  readonly #others: OtherReplicas;
  readonly #speaking: SpeakingAgents;

  constructor({ workers, others, speaking }: WorkerDispatchDeps) {
    this.#workers = workers;
    this.#others = others;
    this.#speaking = speaking;
  }

  get isStopping(): boolean {
    return this.#workers.isStopping;
  }

  hasWorker(): boolean {
    return this.#workers.size > 0 || this.#others.instanceIds().length > 0;
  }

  expectsWorker(): boolean {
    return this.#workers.awaitsSuccessor || this.hasWorker();
  }

  /** True when this worker is connected to this replica or another. */
  isConnected(instanceId: string): boolean {
    return this.#workers.has(instanceId) || this.#others.holds(instanceId);
  }

  slots(kind: JobKind): WorkerSlots {
    return slotsOf(this.#all(), kind);
  }

  async place(offer: JobOffer): Promise<Placement> {
    if (this.#workers.isClosedTo(offer.kind)) throw fault('draining');
    for (const attempt of attemptsAt(offer, this.#all())) {
      const placement = (await this.#workers.placeHere(attempt)) ?? (await this.#others.place(attempt));
      if (placement) return placement;
    }
    throw fault('no_capacity');
  }

  assign(
    placement: Placement,
    session: SessionKey,
    plan: CallPlan,
    failoverState: FailoverState | null = null,
  ): void {
    this.#tell(placement.instanceId, { type: 'assign', ...toWire(session), plan, handover: failoverState });
  }

  assignAnalysis(placement: Placement, session: SessionKey, job: AnalysisJob): void {
    this.#tell(placement.instanceId, { type: 'assign_analysis', ...toWire(session), job });
  }

  assignAgentTest(placement: Placement, session: SessionKey, job: AgentTestJob): void {
    this.#tell(placement.instanceId, { type: 'assign_agent_test', ...toWire(session), job });
  }

  assignTextTurn(placement: Placement, turn: SessionKey, job: TextTurnJob): void {
    this.#tell(placement.instanceId, { type: 'assign_text_turn', ...toWire(turn), job });
  }

  withdraw({ instanceId }: Placement, session: SessionKey): void {
    if (this.isConnected(instanceId)) this.#tell(instanceId, { type: 'withdraw', ...toWire(session) });
  }

  end(instanceId: string, session: SessionKey, reason: EndReason): void {
    this.#tell(instanceId, { type: 'end', ...toWire(session), end_reason: reason });
  }

  abandon(instanceId: string, session: SessionKey): void {
    if (this.isConnected(instanceId))
      this.#tell(instanceId, { type: 'stale', ...toWire(session), is_taken: true });
  }

  async leave(instanceId: string, session: SessionKey, takesStream = false): Promise<void> {
    if (!this.isConnected(instanceId)) return;
    const about = {
      ...toWire(session),
      is_taken: true,
      ...(takesStream && ({ takes_stream: true } as const)),
      request_id: randomUUID(),
    } as const;
    // It may go out of reach meanwhile.
    await this.#ask(instanceId, { type: 'stale', ...about }).catch(() => null);
  }

  async releaseStream(instanceId: string, session: SessionKey): Promise<RestOfStream | null> {
    const message = { type: 'release_stream', ...toWire(session), request_id: randomUUID() } as const;
    // It may be gone.
    const result = await this.#ask(instanceId, message).catch(() => null);
    return releasedStream.safeParse(result?.ok ? result.value : null).data?.stream ?? null;
  }

  async offerWebrtc(instanceId: string, session: SessionKey, sdp: string): Promise<{ readonly sdp: string }> {
    const message = { type: 'webrtc.offer', ...toWire(session), request_id: randomUUID(), sdp } as const;
    const result = await this.#ask(instanceId, message);
    if (result === null) throw fault('gateway_unreachable');
    if (!result.ok) throw fault(result.code === 'sdp_unusable' ? 'sdp_unusable' : 'gateway_unreachable');
    const value = result.value as { sdp?: unknown };
    if (typeof value?.sdp !== 'string') throw fault('gateway_unreachable');
    return { sdp: value.sdp };
  }

  async joinParticipant(
    instanceId: string,
    session: SessionKey,
    participant: JoiningParticipant,
  ): Promise<{ readonly sdp: string | null }> {
    const { id: participantId, name, mode, connection } = participant;
    const about = { ...toWire(session), request_id: randomUUID(), participant_id: participantId };
    const result = await this.#ask(instanceId, {
      type: 'participant.join',
      ...about,
      name,
      mode,
      connection,
    });
    return joinedParticipant.parse(acceptedValue(result));
  }

  async changeParticipant(
    instanceId: string,
    session: SessionKey,
    participantId: string,
    change: ParticipantChange,
  ): Promise<void> {
    const about = { ...toWire(session), request_id: randomUUID(), participant_id: participantId };
    acceptedValue(await this.#ask(instanceId, { type: 'participant.change', ...about, change }));
  }

  async replay(log: string, settings: ReplaySettings): Promise<ReplayOutcome> {
    const result = await this.#askAny({ type: 'replay', request_id: randomUUID(), log, settings });
    if (result?.ok === false) throw fault(result.code === 'no_capacity' ? 'no_capacity' : 'not_replayable');
    const outcome = replayOutcome.safeParse(result?.value);
    if (!outcome.success) throw fault('gateway_unreachable');
    return outcome.data;
  }

  async judgePauses(logs: readonly string[]): Promise<PauseTally> {
    const message: ControlRequest = { type: 'judge_pauses', request_id: randomUUID(), logs: [...logs] };
    return this.#askOfCalls(message, pauseTally, ({ judgesPauses }) => judgesPauses === true);
  }

  async rehearse(calls: readonly RehearsedCall[]): Promise<readonly RehearsedOutcome[]> {
    const message: ControlRequest = { type: 'rehearse', request_id: randomUUID(), calls: [...calls] };
    const suits: Suits = ({ rehearses }) => rehearses === true;
    return (await this.#askOfCalls(message, rehearsedOutcomes, suits)).calls;
  }

  async judgeTurn(question: TurnQuestion): Promise<QuestionOutcome> {
    const message: ControlRequest = { type: 'judge_turn', request_id: randomUUID(), question };
    const result = await this.#askAny(message, ({ judgesTurns }) => judgesTurns === true);
    return answerOf(result, questionOutcome);
  }

  async measureRegret(calls: readonly RegretRequestCall[]): Promise<readonly RegretOutcome[]> {
    const message: ControlRequest = { type: 'measure_regret', request_id: randomUUID(), calls: [...calls] };
    const suits: Suits = ({ measuresRegret }) => measuresRegret === true;
    return (await this.#askOfCalls(message, regretOutcomes, suits)).calls;
  }

  async suggestAgent(request: SuggestionRequest): Promise<SuggestionOutcome> {
    const result = await this.#askAny({ type: 'suggest_agent', request_id: randomUUID(), request });
    return answerOf(result, suggestionOutcome);
  }

  async askOfTestCall(question: TestCallQuestion): Promise<TestCallOutcome> {
    const message: ControlRequest = { type: 'ask_of_test_call', request_id: randomUUID(), question };
    const result = await this.#askAny(message, ({ asksOfTestCalls }) => asksOfTestCalls === true);
    return answerOf(result, testCallOutcome);
  }

  async sendSip(request: SipRequest): Promise<SipResponse> {
    const message: ControlRequest = { type: 'send_sip', request_id: randomUUID(), request };
    return answerOf(await this.#askAny(message, ({ sendsSip }) => sendsSip === true), sipResponse);
  }

  announceSpeechModels(models: readonly string[]): void {
    const own = this.#workers.describe().map(({ instanceId }) => instanceId);
    const failures: unknown[] = [];
    for (const instanceId of new Set([...own, ...this.#others.instanceIds()])) {
      try {
        this.#tell(instanceId, { type: 'speech_models', models: [...models] });
      } catch (error) {
        failures.push(error);
      }
    }
    // Thrown last: the other workers get the announcement all the same.
    if (failures.length > 0) throw new AggregateError(failures, `workers not reached: ${failures.length}`);
  }

  heardSoFar(sessionId: string): HeardSoFar | null {
    return this.#speaking.heardSoFar(sessionId);
  }

  #all() {
    return [...this.#workers.describe(), ...this.#others.workers()];
  }

  /** Asks about ended calls. A worker that does not suit, of an older version, would leave it unanswered. */
  async #askOfCalls<Schema extends z.ZodType>(
    message: ControlRequest,
    schema: Schema,
    suits: Suits,
  ): Promise<z.output<Schema>> {
    const result = await this.#askAny(message, suits);
    if (result?.ok === false && result.code === 'no_capacity') throw fault('no_capacity');
    return answerOf(result, schema);
  }

  #askAny(message: ControlRequest, suits: Suits = () => true): Promise<WorkerAnswer | null> {
    const instanceId = this.#workers.idlest(suits) ?? this.#others.workers().find(suits)?.instanceId;
    if (instanceId === undefined) throw fault('no_capacity');
    return this.#ask(instanceId, message);
  }

  #ask(instanceId: string, message: ControlRequest): Promise<WorkerAnswer | null> {
    return this.#workers.has(instanceId)
      ? this.#workers.askHere(instanceId, message)
      : this.#others.ask(instanceId, message);
  }

  #tell(instanceId: string, message: ControlMessage): void {
    if (this.#workers.has(instanceId)) this.#workers.tellHere(instanceId, message);
    else this.#others.tell(instanceId, message);
  }
}

const releasedStream = z.object({ stream: restOfStream.nullable() });
const joinedParticipant = z.object({ sdp: z.string().nullable() });
const PARTICIPANT_FAULTS = z.enum([
  'not_found',
  'call_taken',
  'call_not_takeable',
  'call_not_running',
  'participants_full',
  'sdp_unusable',
]);

/** Returns a worker's answer. Throws `gateway_unreachable` without one. */
function answerOf<Schema extends z.ZodType>(result: WorkerAnswer | null, schema: Schema): z.output<Schema> {
  const answer = schema.safeParse(result?.ok ? result.value : null);
  if (!answer.success) throw fault('gateway_unreachable');
  return answer.data;
}

/** Returns a worker's answer about a colleague. Throws its refusal, or `gateway_unreachable`. */
function acceptedValue(result: WorkerAnswer | null): unknown {
  if (result?.ok) return result.value;
  throw fault(PARTICIPANT_FAULTS.safeParse(result?.code).data ?? 'gateway_unreachable');
}
