/**
 * One worker: takes jobs over the worker link, builds a call of each plan, joins it to its leg, and tells
 * everything back. It holds no database and no secret beyond its running calls. Started by the composition
 * root, which hands it the media thread, the engines and the signalling.
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { Fault } from '#config/errors.ts';
import type { Tracing } from '#config/tracing.ts';
import type { MediaHost } from '#media/leg/media-host.ts';
import { type AgentTestJob, testError } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AnalysisResult, EndReason } from '#protocol/session-record.ts';
import type {
  AnalysisJob,
  ControlMessage,
  DurableReport,
  Handover,
  JobKind,
  PhoneHandover,
  WorkerAnswer,
} from '#protocol/worker-link.ts';
import type { TestedAgent } from '../agent-tests/metered-test.ts';
import { nameless, type Within } from '../event-loop/within.ts';
import { type ControlPlaneClient, connectControlPlane } from '../link/control-plane-client.ts';
import type { Spool } from '../link/spool.ts';
import type { Uploads } from '../link/uploads.ts';
import { type ReplayRequest, replayInThread } from '../replay/replay-request.ts';
import { type CallEquipment, startJobCall } from './job-call.ts';
import { type Job, JobTable } from './job-table.ts';
import { Offers } from './offers.ts';
import { openParticipantLeg } from './participant-leg.ts';
import { joinRoom } from './room-call.ts';

/**
 * A worker that has been alone this long ends its calls; the reaper acts after 150 s, so that both never
 * disagree.
 */
const ALONE_MS = 120_000;
/** How long a goodbye may take once the drain is over. */
const GOODBYE_MS = 6_000;
/** How long a call told to end may take to do so. */
const HANG_UP_MS = 3_000;
const FLUSH_MS = 3_000;

/** Who this worker is and what it can take. */
export interface WorkerIdentity {
  readonly instanceId: string;
  readonly supervisorRun: string | null;
  readonly kinds: readonly JobKind[];
  readonly sipTag: string | null;
  readonly capacity: number;
}

/** What a worker is handed. */
export interface WorkerDeps {
  readonly identity: WorkerIdentity;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly controlPlaneUrl: string;
  readonly token: string;
  readonly spool: Spool;
  /** What dead predecessors left, by instance. */
  readonly adopted: ReadonlyMap<string, Spool>;
  readonly uploads: Uploads;
  /** What runs work in the name of a session; absent where nobody asks. */
  readonly within?: ((sessionId: string) => Within) | undefined;
  readonly media: MediaHost;
  /** Null when tracing is off. */
  readonly tracing: Tracing | null;
  /** How long live calls get once the worker drains, ms. */
  readonly drainMs: number;
  /** Whether an INVITE could reach this worker now. */
  hasSignalling(): boolean;
  /** 95th percentile of the event loop's lateness since it was last asked, ms. */
  loopLagMs(): number;
  /** The engines, the model and the tools a plan asks for. */
  createCallDeps(plan: CallPlan): CallEquipment;
  /** Dials for a job whose plan says so, and reports how that ended. */
  dial(job: Job, plan: CallPlan): void;
  /** Goes on with a phone call that another worker began, and reports how that ended. */
  resume(job: Job, plan: CallPlan, handover: PhoneHandover): void;
  analyse(job: AnalysisJob, within: Within): Promise<AnalysisResult>;
  testAgent(job: AgentTestJob): Promise<TestedAgent>;
}

/** A running worker. */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #jobs: JobTable;
  readonly #client: ControlPlaneClient;
  readonly #offers: Offers;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#jobs = new JobTable(deps.clock);
    this.#offers = new Offers({ ...deps, jobs: this.#jobs, send: (message) => this.#client.send(message) });
    this.#client = connectControlPlane({
      url: deps.controlPlaneUrl,
      token: deps.token,
      clock: deps.clock,
      logger: deps.logger,
      spool: deps.spool,
      adopted: deps.adopted,
      facts: () => ({
        ...deps.identity,
        codecs: ['PCMU', 'PCMA'],
        // A web job without a call never got its plan: it is placed again.
        sessions: this.#jobs
          .all()
          .filter((job) => job.kind === 'phone' || (job.kind === 'web' && job.call !== null)),
      }),
      load: () => this.#offers.load(),
      onMessage: (message) => this.#receive(message),
      onAlone: (aloneMs) => {
        if (aloneMs > ALONE_MS) this.#endAll('internal_error');
      },
    });
  }

  /** Resolves when the control plane has taken this worker in, or after `ms`; true when it has. */
  async connected(ms: number): Promise<boolean> {
    await this.#client.connected(ms);
    return this.#client.isConnected;
  }

  /** What it takes. */
  get kinds(): WorkerIdentity['kinds'] {
    return this.#deps.identity.kinds;
  }

  /**
   * The job an INVITE belongs to; signalling brought it here because this worker accepted it. Each job is
   * handed out once.
   */
  takeInvite(sipCallId: string): Job | null {
    return this.#jobs.takeSipCall(sipCallId);
  }

  /**
   * Starts the call of a job whose plan has come, or goes on with one; it waits for its leg. Throws when an
   * engine of the plan cannot be made.
   */
  startCall(job: Job, plan: CallPlan, handover: Handover | null = null): void {
    const within = this.#inNameOf(job.sessionId);
    const call = startJobCall({ ...this.#deps, client: this.#client }, job, { plan, handover, within });
    job.call = call;
    call.ended
      .catch((error: unknown) => {
        this.#deps.logger.error({ err: error, sessionId: job.sessionId }, 'call failed');
        this.reportEnd(job, 'internal_error');
      })
      .finally(() => this.#free(job));
  }

  /** A fact about a job that its call does not know (the SIP dialog). */
  report(job: Job, report: DurableReport): void {
    this.#client.report({ sessionId: job.sessionId, epoch: job.epoch }, report);
  }

  /** Ends a job that never became a call. */
  reportEnd(job: Job, endReason: EndReason, at = new Date(this.#deps.clock.wallTime()).toISOString()): void {
    this.report(job, { type: 'ended', at, end_reason: endReason });
    this.#free(job);
  }

  /**
   * Declines offers from now on; live calls get `drainMs`, then a goodbye. Resolves when every call has ended
   * and its reports are stored.
   */
  async drain(): Promise<void> {
    this.#offers.drain();
    const timer = this.#deps.clock.after(this.#deps.drainMs, () =>
      this.#endAll('internal_error', { sayGoodbye: true }),
    );
    const last = this.#deps.clock.after(this.#deps.drainMs + GOODBYE_MS, () =>
      this.#endAll('internal_error'),
    );
    await this.#within(this.#deps.drainMs + GOODBYE_MS + HANG_UP_MS, this.#jobs.idle());
    timer.cancel();
    last.cancel();
    await this.#within(FLUSH_MS, Promise.all([this.#client.flushed(FLUSH_MS), this.#deps.uploads.flushed()]));
  }

  async close(): Promise<void> {
    this.#offers.close();
    this.#client.close();
    await this.#deps.media.close();
    await this.#deps.spool.close();
  }

  #receive(message: ControlMessage): void {
    if ('session_id' in message) this.#inNameOf(message.session_id)(() => this.#handle(message));
    else this.#handle(message);
  }

  #inNameOf(sessionId: string): Within {
    return this.#deps.within?.(sessionId) ?? nameless;
  }

  #handle(message: ControlMessage): void {
    switch (message.type) {
      case 'offer':
        this.#offers.take(message);
        return;
      case 'assign':
        this.#assigned(message);
        return;
      case 'assign_analysis':
        this.#analyse(message);
        return;
      case 'assign_agent_test':
        this.#testAgent(message);
        return;
      case 'withdraw':
      case 'stale':
        this.#drop(message.session_id, message.epoch);
        return;
      case 'end':
        this.#end(message.session_id, message.epoch, message.end_reason);
        return;
      case 'webrtc.offer':
        this.#offerOfBrowser(message).catch((error: unknown) =>
          this.#deps.logger.error({ err: error }, 'webrtc offer'),
        );
        return;
      case 'participant.join':
        this.#joinParticipant(message).catch((error: unknown) =>
          this.#deps.logger.error({ err: error }, 'participant'),
        );
        return;
      case 'participant.change': {
        const job = this.#jobs.get(message.session_id, message.epoch);
        const refusal = job?.call
          ? job.call.participants.change(message.participant_id, message.change)
          : 'not_found';
        this.#answer(
          message.request_id,
          refusal === null ? { ok: true, value: {} } : { ok: false, code: refusal, message: refusal },
        );
        return;
      }
      case 'replay':
        void this.#replay(message.request_id, message);
        return;
      case 'registered':
      case 'ack':
      case 'resend':
        return;
      default:
        message satisfies never;
    }
  }

  /**
   * A web call starts at once, so that its greeting is ready when the browser comes; an inbound phone call is
   * started by its INVITE, which waits for this plan.
   */
  #assigned(message: Extract<ControlMessage, { type: 'assign' }>): void {
    const job = this.#jobs.assign(message.session_id, message.epoch, message.plan);
    if (job && !job.call && message.handover?.dialog) {
      this.#deps.resume(job, message.plan, { ...message.handover, dialog: message.handover.dialog });
      return;
    }
    if (job && !job.call && message.plan.transport.type === 'sip_outbound')
      this.#deps.dial(job, message.plan);
    if (job?.kind !== 'web' || job.call) return;
    try {
      this.startCall(job, message.plan, message.handover);
      if (message.plan.transport.type === 'livekit') this.#joinRoom(job, message.plan);
    } catch (error) {
      this.#deps.logger.error({ err: error, sessionId: job.sessionId }, 'web call could not be started');
      this.reportEnd(job, 'internal_error');
    }
  }

  #joinRoom({ call }: Job, plan: CallPlan): void {
    if (!call) return;
    void joinRoom(this.#deps, call, plan).then((hasJoined) => {
      if (!hasJoined) call.end('agent_join_timeout');
    });
  }

  #analyse(message: Extract<ControlMessage, { type: 'assign_analysis' }>): void {
    const job = this.#jobs.get(message.session_id, message.epoch);
    if (!job) return;
    this.#jobs.keep(message.session_id, message.epoch);
    const { clock, tracing } = this.#deps;
    const startMs = clock.wallTime();
    this.#deps
      .analyse(message.job, this.#inNameOf(message.session_id))
      .catch((error: unknown): AnalysisResult => {
        this.#deps.logger.warn({ err: error, sessionId: message.session_id }, 'analysis failed');
        const cause = error instanceof Error ? error.message : 'analysis failed';
        return { status: 'error', summary: null, data: [], criteria_results: [], error: cause };
      })
      .then((result) => {
        const error = result.status === 'error' ? 'failed' : null;
        tracing?.record({
          name: 'analysis',
          startMs,
          endMs: clock.wallTime(),
          parent: message.job.plan.traceparent,
          error,
        });
        this.report(job, { type: 'analysis', job_id: message.job.job_id, result });
      })
      .finally(() => this.#free(job))
      .catch((error: unknown) => this.#deps.logger.error({ err: error }, 'analysis report'));
  }

  #testAgent(message: Extract<ControlMessage, { type: 'assign_agent_test' }>): void {
    const job = this.#jobs.get(message.session_id, message.epoch);
    if (!job) return;
    this.#jobs.keep(message.session_id, message.epoch);
    this.#deps
      .testAgent(message.job)
      .catch((error: unknown): TestedAgent => {
        this.#deps.logger.warn({ err: error, runId: message.job.run_id }, 'agent test failed');
        return { result: testError('The test was broken off by an internal error'), costMicros: 0 };
      })
      .then(({ result, costMicros }) =>
        this.report(job, { type: 'agent_test', result, cost_micros: costMicros }),
      )
      .finally(() => this.#free(job))
      .catch((error: unknown) => this.#deps.logger.error({ err: error }, 'agent test report'));
  }

  async #replay(requestId: string, request: ReplayRequest): Promise<void> {
    try {
      this.#answer(requestId, { ok: true, value: await replayInThread(request) });
    } catch (error) {
      this.#deps.logger.info({ err: error }, 'call could not be replayed');
      this.#answer(requestId, {
        ok: false,
        code: 'not_replayable',
        message: error instanceof Error ? error.message : 'replay failed',
      });
    }
  }

  #answer(requestId: string, result: WorkerAnswer): void {
    this.#client.send({ type: 'answer', request_id: requestId, result });
  }

  async #offerOfBrowser(message: Extract<ControlMessage, { type: 'webrtc.offer' }>): Promise<void> {
    const answer = (result: WorkerAnswer) => this.#answer(message.request_id, result);
    const job = this.#jobs.get(message.session_id, message.epoch);
    if (!job?.call) {
      answer({ ok: false, code: 'not_found', message: 'no such call here' });
      return;
    }
    try {
      const plan = await job.plan;
      const { leg, answerSdp } = await this.#deps.media.openWebrtcLeg({
        offerSdp: message.sdp,
        recording: plan.record_audio ? { firstSegment: 0 } : null,
      });
      job.call.attach(leg);
      answer({ ok: true, value: { sdp: answerSdp } });
    } catch (error) {
      this.#deps.logger.warn({ err: error, sessionId: job.sessionId }, 'browser could not be connected');
      answer({
        ok: false,
        code: error instanceof Fault ? error.code : 'internal',
        message: 'the offer could not be answered',
      });
    }
  }

  /** A colleague comes: over a connection of their own, or in a room made for them. */
  async #joinParticipant(message: Extract<ControlMessage, { type: 'participant.join' }>): Promise<void> {
    const { participant_id: id, name, mode, connection, request_id: requestId } = message;
    const job = this.#jobs.get(message.session_id, message.epoch);
    const refusal = job?.call ? job.call.participants.refusal(id) : 'not_found';
    if (!job?.call || refusal !== null) {
      this.#answer(requestId, { ok: false, code: refusal ?? 'not_found', message: 'nobody can join' });
      return;
    }
    try {
      const plan = await job.plan;
      const { leg, sdp } = await openParticipantLeg(this.#deps.media, connection, plan.record_audio);
      job.call.participants.join({ id, name, mode }, leg);
      this.#answer(requestId, { ok: true, value: { sdp } });
    } catch (error) {
      this.#deps.logger.warn({ err: error, sessionId: job.sessionId }, 'a colleague could not be connected');
      this.#answer(requestId, {
        ok: false,
        code: error instanceof Fault ? error.code : 'internal',
        message: 'the colleague could not be connected',
      });
    }
  }

  #end(sessionId: string, epoch: number, reason: EndReason): void {
    const job = this.#jobs.get(sessionId, epoch);
    if (job?.call) job.call.end(reason);
    else if (job) this.reportEnd(job, reason);
  }

  #drop(sessionId: string, epoch: number): void {
    this.#offers.drop(sessionId, epoch);
    const job = this.#jobs.get(sessionId, epoch);
    if (!job) return;
    job.call?.end('cancelled');
    this.#jobs.remove(sessionId, epoch);
  }

  #endAll(reason: EndReason, options: { readonly sayGoodbye?: boolean } = {}): void {
    for (const job of this.#jobs.all()) {
      if (job.call) job.call.end(reason, options);
      // The INVITE that waits for the plan, if there is one, is refused and reported by whoever took it.
      else if (job.kind !== 'analysis') this.#free(job);
    }
  }

  #free(job: Job): void {
    this.#jobs.remove(job.sessionId, job.epoch);
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const limit = new AbortController();
    await Promise.race([work, this.#deps.clock.sleep(ms, limit.signal).catch(() => undefined)]);
    limit.abort();
  }
}
