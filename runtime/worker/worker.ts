/**
 * One worker: accepts jobs over the worker link, builds a call from each plan, joins it to its leg and
 * reports back. It has no database and no secrets beyond its running calls. The composition root provides the
 * media thread, the engines and the signalling.
 */

import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { waitAtMost } from '#base/wait-at-most.ts';
import type { Tracing } from '#config/tracing.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { ControlMessage, FailoverState, JobKind } from '#protocol/worker-link.ts';
import type { LagMeter } from '../event-loop/loop-lag.ts';
import type { Within } from '../event-loop/session-attribution.ts';
import { type ControlPlaneClient, connectControlPlane } from '../link/control-plane-client.ts';
import type { SpeakingLease } from '../link/speaking-lease.ts';
import type { Spool } from '../link/spool.ts';
import type { Uploads } from '../link/uploads.ts';
import { CallRequests } from './call-requests.ts';
import { failOverJob } from './failover-calls.ts';
import { startHandOver } from './hand-over.ts';
import { JobCalls } from './job-calls.ts';
import { type Job, JobTable } from './job-table.ts';
import { isJoined, joinCaller } from './join-caller.ts';
import { Offers, type WorkerLoad } from './offers.ts';
import { dialJob } from './outbound-calls.ts';
import { type PhoneDeps, takeInvite } from './phone-calls.ts';
import type { PlanEngines } from './plan-engines.ts';
import { registrarOf } from './registrar.ts';
import { TakenStreams } from './taken-streams.ts';
import { TextJobs } from './text-jobs.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

/**
 * A worker without a control plane for this long ends its calls. The reaper acts after 150 s, so the two
 * never contradict each other.
 */
const ALONE_MS = 120_000;
/** Longest goodbye after the drain. */
const GOODBYE_MS = 6_000;
/** Longest time for a call to end after it was asked to. */
const HANG_UP_MS = 3_000;
const FLUSH_MS = 3_000;

/** The worker's identity and capacity. */
export interface WorkerIdentity {
  readonly instanceId: string;
  readonly supervisorRun: string | null;
  readonly kinds: readonly JobKind[];
  readonly sipTag: string | null;
  readonly capacity: number;
}

/** Dependencies of a worker. */
export interface WorkerDeps {
  readonly identity: WorkerIdentity;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly controlPlaneUrl: string;
  readonly token: string;
  readonly spool: Spool;
  /** How long this worker may speak without an answer; absent: as long as it likes. */
  readonly lease?: SpeakingLease | undefined;
  /** Spools of dead instances, by instance. */
  readonly adopted: ReadonlyMap<string, Spool>;
  readonly uploads: Uploads;
  /** Runs work under a session's name; absent: work has no name. */
  readonly within?: ((sessionId: string) => Within) | undefined;
  readonly media: LegFactory;
  readonly engines: Pick<
    PlanEngines,
    'forCall' | 'modelFor' | 'modelAlone' | 'knowledgeFor' | 'serverTokens'
  >;
  /** Absent: interruptions are not counted. */
  readonly interruptions?: WorkerMetrics['interruptions'];
  readonly egress: EgressGuard;
  /** Null: this worker neither accepts nor places phone calls. */
  readonly phone: PhoneDeps | null;
  /** Called with the ids of the speech models that the control plane has. */
  readonly onSpeechModels: (models: readonly string[]) => void;
  /** Called, at each registration, if web calls are in LiveKit rooms. */
  readonly onRooms: () => void;
  /** Null: tracing is off. */
  readonly tracing: Tracing | null;
  /** Time that live calls get when the worker drains, in ms. */
  readonly drainMs: number;
  readonly loopLagMs: LagMeter;
}

/** The state of a worker, for its health. */
export interface WorkerState extends WorkerLoad {
  readonly capacity: number;
  readonly isDraining: boolean;
  readonly isLinked: boolean;
  readonly hasSip: boolean;
  readonly isWebReady: boolean;
  readonly waitingReports: readonly object[];
}

/** A running worker. */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #jobs: JobTable;
  readonly #client: ControlPlaneClient;
  readonly #calls: JobCalls;
  readonly #textJobs: TextJobs;
  readonly #requests: CallRequests;
  readonly #offers: Offers;
  readonly #streams: TakenStreams;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    const { identity, phone } = deps;
    const jobs = new JobTable(deps.clock);
    const client = connectControlPlane({
      url: deps.controlPlaneUrl,
      token: deps.token,
      clock: deps.clock,
      logger: deps.logger,
      spool: deps.spool,
      adopted: deps.adopted,
      lease: deps.lease,
      facts: () => ({
        ...identity,
        codecs: ['PCMU', 'PCMA'],
        sipServers: phone?.signalling.servers ?? [],
        isWebReady: deps.media.isWebReady,
        // A web job without a call never received its plan, so it is placed again.
        sessions: jobs
          .all()
          .filter(({ isTaken, kind, call }) => !isTaken && (kind === 'phone' || (kind === 'web' && call))),
      }),
      load: () => this.#offers.load(),
      onMessage: (message) => this.#receive(message),
      onAlone: (aloneMs) => {
        if (aloneMs > ALONE_MS) this.#endAll('internal_error');
      },
    });
    const calls = new JobCalls({ ...deps, client, jobs });
    this.#jobs = jobs;
    this.#client = client;
    this.#calls = calls;
    this.#textJobs = new TextJobs({ ...deps, client, calls });
    this.#requests = new CallRequests({ ...deps, client, jobs });
    this.#offers = new Offers({ ...deps, client, jobs });
    this.#streams = new TakenStreams({ ...deps, client });
    phone?.signalling.onInvite((invite) => takeInvite({ ...phone, calls, jobs }, invite));
    phone?.signalling.onRegister(registrarOf({ ...deps, url: deps.controlPlaneUrl }));
  }

  /** Resolves when the control plane has registered this worker, or after `ms`; true when it has. */
  async connected(ms: number): Promise<boolean> {
    await this.#client.connected(ms);
    return this.#client.isConnected;
  }

  /**
   * Why this worker takes no job, one short reason each; empty if it takes some. Web calls need no SIP
   * server. Being full or late is not named, because it passes.
   */
  missing(): string[] {
    const { phone, identity } = this.#deps;
    const needsSip = !identity.kinds.includes('web') && phone?.signalling.isConnected === false;
    return [
      ...(this.#client.isConnected ? [] : ['not connected to a control plane']),
      ...(needsSip ? ['not connected to a SIP server'] : []),
      ...(this.#offers.isDraining ? ['draining'] : []),
    ];
  }

  /** Its load and connections, and its reports that no control plane has stored yet. */
  state(): WorkerState {
    const { identity, media, phone, spool } = this.#deps;
    return {
      ...this.#offers.lastLoad(),
      capacity: identity.capacity,
      isDraining: this.#offers.isDraining,
      isLinked: this.#client.isConnected,
      hasSip: phone?.signalling.isConnected === true,
      isWebReady: media.isWebReady,
      waitingReports: spool.waiting(),
    };
  }

  /** Whether it has no job, not even a reserved one. */
  get isIdle(): boolean {
    return this.#jobs.size === 0;
  }

  /** The kinds of jobs this worker accepts. */
  get kinds(): WorkerIdentity['kinds'] {
    return this.#deps.identity.kinds;
  }

  /**
   * Declines offers from now on and hands the calls over to other workers. Calls that none takes within
   * `drainMs` get a goodbye. Resolves when every call has ended here and its reports are stored.
   */
  async drain(): Promise<void> {
    const { clock, drainMs, uploads } = this.#deps;
    this.#offers.drain();
    const handOver = startHandOver({ ...this.#deps, client: this.#client, jobs: this.#jobs });
    const timer = clock.after(drainMs, () => {
      handOver.cancel();
      this.#endAll('internal_error', { sayGoodbye: true });
    });
    const last = clock.after(drainMs + GOODBYE_MS, () => this.#endAll('internal_error'));
    await waitAtMost(clock, drainMs + GOODBYE_MS + HANG_UP_MS, this.#jobs.idle());
    for (const begun of [handOver, timer, last]) begun.cancel();
    await waitAtMost(clock, FLUSH_MS, Promise.all([this.#client.flushed(FLUSH_MS), uploads.flushed()]));
  }

  /** Passes on what other workers of this machine have left, by instance: it proves that they are dead. */
  adopt(spools: ReadonlyMap<string, Spool>): void {
    this.#client.adopt(spools);
  }

  async close(): Promise<void> {
    this.#offers.close();
    this.#client.close();
    await this.#deps.media.close();
    await this.#deps.spool.close();
  }

  #receive(message: ControlMessage): void {
    if ('session_id' in message) this.#calls.inNameOf(message.session_id)(() => this.#handle(message));
    else this.#handle(message);
  }

  #handle(message: ControlMessage): void {
    switch (message.type) {
      case 'offer':
        this.#offers.take(message);
        return;
      case 'assign':
        this.#assign(message);
        return;
      case 'assign_analysis': {
        const job = this.#jobs.keep(message.session_id, message.epoch);
        if (job) void this.#textJobs.runAnalysis(job, message.job);
        return;
      }
      case 'assign_agent_test': {
        const job = this.#jobs.keep(message.session_id, message.epoch);
        if (job) void this.#textJobs.runAgentTest(job, message.job);
        return;
      }
      case 'assign_text_turn': {
        const job = this.#jobs.keep(message.session_id, message.epoch);
        if (job) void this.#textJobs.runTextTurn(job, message.job);
        return;
      }
      case 'withdraw':
        this.#offers.drop(message.session_id, message.epoch);
        this.#jobs.withdraw(message.session_id, message.epoch);
        return;
      case 'stale':
        if (message.is_taken) this.#abandon(message);
        else this.#drop(message.session_id, message.epoch);
        if (message.request_id !== undefined) this.#confirm(message.request_id);
        return;
      case 'end':
        this.#end(message.session_id, message.epoch, message.end_reason);
        return;
      case 'webrtc.offer':
      case 'participant.join':
      case 'participant.change':
      case 'replay':
      case 'judge_pauses':
      case 'rehearse':
      case 'judge_turn':
      case 'measure_regret':
      case 'suggest_agent':
      case 'ask_of_test_call':
      case 'send_sip':
      case 'release_stream':
        void this.#requests.answer(message);
        return;
      case 'stream':
        this.#streams.answered(message);
        return;
      case 'speech_models':
        this.#deps.onSpeechModels(message.models);
        return;
      case 'registered':
        if (message.has_rooms) this.#deps.onRooms();
        return;
      case 'ack':
      case 'resend':
      case 'sessions_checked':
        return;
      default:
        message satisfies never;
    }
  }

  /**
   * A web call starts at once, so that its greeting is ready when the browser connects, and so does a call
   * over a media stream. An inbound phone call of SIP is started by its INVITE, which waits for this plan.
   */
  #assign({
    session_id,
    epoch,
    plan,
    handover: failoverState,
  }: Extract<ControlMessage, { type: 'assign' }>): void {
    const job = this.#jobs.assign(session_id, epoch, plan);
    if (!job || job.call) return;
    const { phone } = this.#deps;
    const phoneDeps = phone && { ...phone, calls: this.#calls, streams: this.#streams };
    // Without signalling, offers of phone calls are declined.
    if (failoverState?.dialog) {
      if (phoneDeps)
        void failOverJob(phoneDeps, job, plan, { ...failoverState, dialog: failoverState.dialog });
      return;
    }
    if (plan.transport.type === 'sip_outbound') {
      if (phoneDeps) void dialJob(phoneDeps, job, plan, plan.transport);
    } else if (job.kind === 'web' || isJoined(plan)) this.#startCall(job, plan, failoverState);
  }

  #startCall(job: Job, plan: CallPlan, failoverState: FailoverState | null): void {
    try {
      const call = this.#calls.start(job, plan, failoverState);
      if (!isJoined(plan)) return;
      void joinCaller(this.#deps, call, plan).then((hasJoined) => {
        if (!hasJoined) call.end(job.kind === 'web' ? 'agent_join_timeout' : 'cancelled');
      });
    } catch (error) {
      this.#deps.logger.error({ err: error, sessionId: job.sessionId }, 'a call could not be started');
      this.#calls.reportEnd(job, 'internal_error');
    }
  }

  #end(sessionId: string, epoch: number, reason: EndReason): void {
    const job = this.#jobs.get(sessionId, epoch);
    if (job?.call) job.call.end(reason);
    else if (job) this.#calls.reportEnd(job, reason);
  }

  #drop(sessionId: string, epoch: number): void {
    this.#offers.drop(sessionId, epoch);
    this.#jobs.get(sessionId, epoch)?.call?.end('cancelled');
    this.#jobs.remove(sessionId, epoch);
  }

  /** Another worker has the session: this one must not touch it any more. */
  #abandon({ session_id, epoch, takes_stream }: Extract<ControlMessage, { type: 'stale' }>): void {
    this.#offers.drop(session_id, epoch);
    const job = this.#jobs.get(session_id, epoch);
    if (job) this.#calls.abandon(job, takes_stream);
  }

  #confirm(requestId: string): void {
    this.#client.send({ type: 'answer', request_id: requestId, result: { ok: true, value: {} } });
  }

  #endAll(reason: EndReason, options: { readonly sayGoodbye?: boolean } = {}): void {
    for (const job of this.#jobs.all()) {
      // After a lapse another worker may have the call: signalling then refuses the BYE.
      if (job.call) job.call.end(reason, options);
      // `takeInvite` refuses an INVITE that waits for the plan and reports its end.
      else if (job.kind !== 'analysis' && job.kind !== 'text_turn') this.#calls.free(job);
    }
  }
}
