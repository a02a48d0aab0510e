/**
 * Requests from the control plane to a worker: a browser's offer, a colleague who joins or leaves a call, the
 * replay of ended calls, questions about their turns and about test calls, the suggestion of an agent, a SIP
 * request outside any call, and the stream of a call that was handed over.
 */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { agentConfig } from '#config/agent-config.ts';
import { Fault } from '#config/errors.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { boundedHeaders, type SipResponse } from '#protocol/sip-request.ts';
import type { ControlMessage, ControlRequest, WorkerAnswer } from '#protocol/worker-link.ts';
import type { OutboundCallDeps } from '#telephony/outbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { answerQuestion } from '../agent-tests/answer-question.ts';
import { answerTestCall } from '../agent-tests/answer-test-call.ts';
import { suggestAgent } from '../agent-tests/suggest-agent.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import { type ReplayRequest, ReplayThread } from '../replay/replay-request.ts';
import type { JobTable } from './job-table.ts';
import { openParticipantLeg } from './participant-leg.ts';
import type { PlanEngines } from './plan-engines.ts';
import { RungColleagues } from './rung-colleagues.ts';
import { restOfStream } from './taken-streams.ts';

/** `stale` is answered by the worker itself. */
type CallRequest = Exclude<ControlRequest, { type: 'stale' }>;
type Request<Type extends CallRequest['type']> = Extract<ControlMessage, { type: Type }>;

/** Dependencies for answering requests. */
export interface CallRequestsDeps {
  readonly clock: Clock;
  readonly egress: EgressGuard;
  readonly engines: Pick<PlanEngines, 'modelFor' | 'modelAlone' | 'knowledgeFor' | 'serverTokens'>;
  readonly logger: Logger;
  readonly media: Pick<LegFactory, 'openWebrtcLeg' | 'openLivekitLeg'>;
  readonly jobs: JobTable;
  readonly client: Pick<ControlPlaneClient, 'send'>;
  /** Null: this worker has no signalling. */
  readonly phone: (OutboundCallDeps & { readonly signalling: Pick<Signalling, 'request'> }) | null;
}

/** How long a colleague waits for the caller's leg, and how often it is looked for. */
const CALLER_RETURNS_MS = 5_000;
const CALLER_LOOK_MS = 100;

/** Answers each request once. */
export class CallRequests {
  readonly #deps: CallRequestsDeps;
  readonly #tunings: ReplayThread;
  /** A replay waits for no tuning: it is done in a second or two. */
  readonly #replays: ReplayThread;
  readonly #colleagues: RungColleagues;

  constructor(deps: CallRequestsDeps) {
    this.#deps = deps;
    this.#tunings = new ReplayThread(deps.clock);
    this.#replays = new ReplayThread(deps.clock);
    this.#colleagues = new RungColleagues(deps.phone, deps.logger);
  }

  /** Never rejects. */
  async answer(request: CallRequest): Promise<void> {
    const { client, logger } = this.#deps;
    try {
      const result = await this.#resultOf(request);
      client.send({ type: 'answer', request_id: request.request_id, result });
    } catch (error) {
      logger.error({ err: error, request: request.type }, 'request of the control plane');
    }
  }

  #resultOf(request: CallRequest): WorkerAnswer | Promise<WorkerAnswer> {
    const tunings = this.#tunings;
    switch (request.type) {
      case 'webrtc.offer':
        return this.#connectBrowser(request);
      case 'participant.join':
        return this.#joinParticipant(request);
      case 'participant.change':
        return this.#changeParticipant(request);
      case 'replay':
        return this.#replay(request);
      case 'judge_pauses':
        return this.#ofThread(tunings.tally(request), request.logs.length, 'pauses could not be judged');
      case 'rehearse':
        return this.#ofThread(
          tunings.rehearse(request),
          request.calls.length,
          'calls could not be rehearsed',
        );
      case 'judge_turn':
        return this.#judgeTurn(request);
      case 'measure_regret':
        return this.#ofThread(
          tunings.measureRegret(request),
          request.calls.length,
          'regret could not be measured',
        );
      case 'suggest_agent':
        return this.#suggest(request);
      case 'ask_of_test_call':
        return this.#askOfTestCall(request);
      case 'send_sip':
        return this.#sendSip(request);
      case 'release_stream':
        return this.#releaseStream(request);
      default:
        return request satisfies never;
    }
  }

  async #connectBrowser({ session_id, epoch, sdp }: Request<'webrtc.offer'>): Promise<WorkerAnswer> {
    const { jobs, logger, media } = this.#deps;
    const job = jobs.get(session_id, epoch);
    if (!job?.call) return { ok: false, code: 'not_found', message: 'no such call here' };
    try {
      const plan = await job.plan;
      const { leg, answerSdp } = await media.openWebrtcLeg({
        offerSdp: sdp,
        recording: plan.record_audio ? { firstSegment: 0 } : null,
      });
      job.call.attach(leg);
      return { ok: true, value: { sdp: answerSdp } };
    } catch (error) {
      logger.warn({ err: error, sessionId: session_id }, 'browser could not be connected');
      return failureOf(error, 'the offer could not be answered');
    }
  }

  /** A colleague joins over their own connection, in a room created for them, or by phone. */
  async #joinParticipant(message: Request<'participant.join'>): Promise<WorkerAnswer> {
    const { clock, jobs, logger, media } = this.#deps;
    const { session_id, epoch, participant_id: id, name, mode, connection } = message;
    const job = jobs.get(session_id, epoch);
    // After a failover a colleague may be back before the caller.
    const lastMs = clock.now() + CALLER_RETURNS_MS;
    while (job?.call?.participants.refusal(id) === 'call_not_running' && clock.now() < lastMs)
      await clock.sleep(CALLER_LOOK_MS);
    const refusal = job?.call ? job.call.participants.refusal(id) : 'not_found';
    if (!job?.call || refusal !== null)
      return { ok: false, code: refusal ?? 'not_found', message: 'joining is not possible' };
    try {
      const plan = await job.plan;
      const colleague = { id, name, mode };
      if (connection.type === 'phones')
        return this.#colleagues.ring({ call: job.call, plan }, colleague, connection.places);
      const { leg, sdp } = await openParticipantLeg(media, connection, plan.record_audio);
      job.call.participants.join(colleague, leg);
      return { ok: true, value: { sdp } };
    } catch (error) {
      logger.warn({ err: error, sessionId: session_id }, 'a colleague could not be connected');
      return failureOf(error, 'the colleague could not be connected');
    }
  }

  #changeParticipant(message: Request<'participant.change'>): WorkerAnswer {
    const job = this.#deps.jobs.get(message.session_id, message.epoch);
    if (message.change === 'leave' && this.#colleagues.stop(message.participant_id))
      return { ok: true, value: {} };
    const refusal = job?.call
      ? job.call.participants.change(message.participant_id, message.change)
      : 'not_found';
    return refusal === null ? { ok: true, value: {} } : { ok: false, code: refusal, message: refusal };
  }

  async #releaseStream({ session_id, epoch }: Request<'release_stream'>): Promise<WorkerAnswer> {
    const { clock, jobs } = this.#deps;
    const job = jobs.get(session_id, epoch);
    const rest = (await job?.call?.left.releaseStream()) ?? null;
    if (job) job.isReleased = true;
    return { ok: true, value: { stream: rest && restOfStream(rest, clock.now()) } };
  }

  async #suggest({ request }: Request<'suggest_agent'>): Promise<WorkerAnswer> {
    const { clock, engines, logger } = this.#deps;
    const { description, model, local_models } = request;
    try {
      const config = agentConfig.parse({ llm: { model } });
      const languageModel = engines.modelFor({ config, llm_api_key: null, local_models });
      return { ok: true, value: await suggestAgent(description, languageModel, clock) };
    } catch (error) {
      logger.error({ err: error }, 'agent could not be suggested');
      return failureOf(error, 'the agent could not be suggested');
    }
  }

  async #askOfTestCall({ question }: Request<'ask_of_test_call'>): Promise<WorkerAnswer> {
    const { clock, engines, logger } = this.#deps;
    const { model, local_models } = question;
    try {
      const config = agentConfig.parse({ llm: { model } });
      const languageModel = engines.modelAlone({ config, llm_api_key: null, local_models });
      return { ok: true, value: await answerTestCall(question, languageModel, clock) };
    } catch (error) {
      logger.error({ err: error, step: question.step }, 'question about a test call');
      return failureOf(error, 'the question about the test call could not be answered');
    }
  }

  async #sendSip({ request }: Request<'send_sip'>): Promise<WorkerAnswer> {
    const { phone } = this.#deps;
    const { method, uri, next_hop: nextHop, headers, server } = request;
    try {
      if (!phone) throw new Error('no signalling');
      const answer = await phone.signalling.request({ method, uri, nextHop, headers, server });
      const value: SipResponse = {
        status: answer.status,
        reason: answer.reason.slice(0, 256),
        headers: boundedHeaders(answer.headers),
        source_address: answer.sourceAddress,
        contact: answer.contact,
        server: answer.server,
      };
      return { ok: true, value };
    } catch (error) {
      return { ok: false, code: 'no_signalling', message: error instanceof Error ? error.message : '' };
    }
  }

  async #judgeTurn({ question }: Request<'judge_turn'>): Promise<WorkerAnswer> {
    const { clock, egress, engines, logger } = this.#deps;
    try {
      const outcome = await answerQuestion(question, {
        modelFor: (plan) => engines.modelAlone(plan),
        openKnowledge: (plan, budgetMs) => engines.knowledgeFor(plan, budgetMs),
        ...{ egress, clock, logger, serverTokens: engines.serverTokens },
      });
      return { ok: true, value: outcome };
    } catch (error) {
      logger.error({ err: error }, 'turn could not be judged');
      return failureOf(error, 'the turn could not be judged');
    }
  }

  async #replay(request: ReplayRequest): Promise<WorkerAnswer> {
    try {
      return { ok: true, value: await this.#replays.replay(request) };
    } catch (error) {
      this.#deps.logger.info({ err: error }, 'call could not be replayed');
      const message = error instanceof Error ? error.message : 'replay failed';
      return { ok: false, code: error instanceof Fault ? error.code : 'not_replayable', message };
    }
  }

  /** The result of work on ended calls in a thread. */
  async #ofThread(work: Promise<unknown>, calls: number, failure: string): Promise<WorkerAnswer> {
    try {
      return { ok: true, value: await work };
    } catch (error) {
      this.#deps.logger.warn({ err: error, calls }, failure);
      return failureOf(error, `the ${failure}`);
    }
  }
}

function failureOf(error: unknown, message: string): WorkerAnswer {
  return { ok: false, code: error instanceof Fault ? error.code : 'internal', message };
}
