/**
 * The calls of a worker's jobs: builds each from its plan, and sends its reports to the worker link and its
 * recording and flight log to the uploads.
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Tracing } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { DurableReport, FailoverState, TurnEngines } from '#protocol/worker-link.ts';
import { dialOutboundCall, type OutboundCallDeps } from '#telephony/outbound-call.ts';
import { type Call, type CallDeps, startCall } from '../calls/call.ts';
import { type CallTrace, traceCall } from '../calls/call-trace.ts';
import { findPhones } from '../calls/find-phones.ts';
import { askForTransfer } from '../calls/transfer-permission.ts';
import { isoNow } from '../calls/wall-time.ts';
import { nameless, type Within } from '../event-loop/session-attribution.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import type { Piece, Uploads } from '../link/uploads.ts';
import { moveOf } from '../turn/machine/moving-call.ts';
import { CallStretches } from './call-stretches.ts';
import { interruptionOf } from './interruption-outcome.ts';
import type { Job, JobTable } from './job-table.ts';
import { isJoined, type JoinDeps, joinCaller } from './join-caller.ts';
import type { CallEngines, PlanEngines } from './plan-engines.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

/** Longest time from a call's offer until another worker has taken it. */
const OFFER_MS = 15_000;

/** Dependencies of calls. */
export interface JobCallsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly controlPlaneUrl: string;
  readonly token: string;
  readonly client: Pick<ControlPlaneClient, 'report' | 'send'>;
  /** A job is removed when its call has ended. */
  readonly jobs: JobTable;
  readonly engines: Pick<PlanEngines, 'forCall'>;
  /** Absent: they are not counted. */
  readonly interruptions?: WorkerMetrics['interruptions'];
  readonly media: JoinDeps['media'];
  /** Null: no call can be placed. */
  readonly phone: OutboundCallDeps | null;
  /** Null: tracing is off. */
  readonly tracing: Tracing | null;
  readonly uploads: Uploads;
  readonly lease?: JoinDeps['lease'];
  /** Runs work under a session's name; absent: work has no name. */
  readonly within?: ((sessionId: string) => Within) | undefined;
}

/** Parts of a call that outlast its construction. */
interface CallParts {
  readonly failoverState: FailoverState | null;
  readonly trace: CallTrace;
  readonly flightLog: FlightLogUploads;
  readonly stretches: CallStretches;
  readonly within: Within;
}

/** The calls of one worker. */
export class JobCalls {
  readonly #deps: JobCallsDeps;

  constructor(deps: JobCallsDeps) {
    this.#deps = deps;
  }

  /**
   * Starts the call of a job whose plan has arrived, or continues one that another worker began; it then
   * waits for its leg. Throws when an engine of the plan cannot be created.
   */
  start(job: Job, plan: CallPlan, failoverState: FailoverState | null = null): Call {
    const { clock, logger, tracing } = this.#deps;
    const within = this.inNameOf(job.sessionId);
    const trace = traceCall(tracing, plan, { clock, logger });
    const session = { sessionId: job.sessionId, epoch: job.epoch };
    const stretches = new CallStretches({
      clock,
      uploads: this.#deps.uploads,
      report: (report) => {
        if (!job.isTaken) this.#deps.client.report(session, report);
      },
    });
    const flightLog = new FlightLogUploads(stretches, job);
    if (failoverState) flightLog.begin();
    const call = within(() =>
      startCall(this.#callDeps(job, plan, { failoverState, trace, flightLog, stretches, within })),
    );
    job.call = call;
    call.ended
      .catch((error: unknown) => {
        logger.error({ err: error, sessionId: job.sessionId }, 'call failed');
        this.reportEnd(job, 'internal_error');
      })
      .finally(async () => {
        await stretches.close();
        if (mayUpload(job)) flightLog.begin();
        trace.close();
        this.free(job);
      });
    return call;
  }

  /** Reports a fact about a job that its call does not know, such as the SIP dialog. */
  report({ sessionId, epoch, isTaken }: Job, report: DurableReport): void {
    if (!isTaken) this.#deps.client.report({ sessionId, epoch }, report);
  }

  /** Ends a job that never became a call. */
  reportEnd(job: Job, endReason: EndReason, at = isoNow(this.#deps.clock)): void {
    this.report(job, { type: 'ended', at, end_reason: endReason });
    this.free(job);
  }

  /**
   * Gives up a job whose session another worker has: the other one speaks, hangs up and reports.
   * `takesStream`: it will ask for the rest of the phone's stream. Idempotent.
   */
  abandon(job: Job, takesStream = false): void {
    if (job.isTaken) return;
    const offeredMs = job.offeredMs ?? Number.NEGATIVE_INFINITY;
    job.isTaken = true;
    job.isHandedOver = job.call !== null && this.#deps.clock.now() - offeredMs < OFFER_MS;
    // A call that was handed over keeps its slot until the rest of its recording has come.
    job.isReleased = job.kind !== 'web' && !takesStream;
    if (job.isHandedOver) {
      job.call?.abandon(takesStream ? 'with_stream' : 'handed_over');
      if (job.kind === 'web') void this.#releasedLater(job);
    } else {
      job.call?.abandon();
      // They would overlap with the recording of the successor.
      this.#deps.uploads.drop(job.sessionId, job.epoch);
      this.free(job);
    }
  }

  /** The successor in the room puts this worker's agent out. */
  async #releasedLater(job: Job): Promise<void> {
    await job.call?.left.released();
    job.isReleased = true;
  }

  /** Frees a job's slot. */
  free(job: Job): void {
    this.#deps.jobs.remove(job.sessionId, job.epoch);
    this.#deps.uploads.end(job.sessionId, job.epoch);
  }

  /** Runs work under a session's name. */
  inNameOf(sessionId: string): Within {
    return this.#deps.within?.(sessionId) ?? nameless;
  }

  #callDeps(job: Job, plan: CallPlan, callParts: CallParts): CallDeps {
    const { failoverState, trace, flightLog, stretches, within } = callParts;
    const { client, clock, controlPlaneUrl, engines, phone, random, token } = this.#deps;
    const ofSession = { session_id: job.sessionId, epoch: job.epoch };
    const logger = this.#deps.logger.child({ sessionId: job.sessionId });
    const controlPlane = { url: controlPlaneUrl, token, clock, logger: this.#deps.logger };
    const parts = trace.engines(engines.forCall(plan));
    const wallTimeOf = (monotonicMs: number) => clock.wallTime() - (clock.now() - monotonicMs);
    return {
      plan,
      clock,
      random,
      logger,
      ...parts,
      createTools: (link) => {
        job.variables = link.variables;
        return parts.createTools(link);
      },
      onStep: (input, result) => {
        job.move = moveOf(result.state);
        trace.step(input, result);
      },
      failoverState,
      within,
      mayTransfer: () => askForTransfer(controlPlane, plan.session_id),
      findPhones: (extension) => findPhones(controlPlane, { sessionId: plan.session_id, extension }),
      placeCall: phone && ((request, signal) => dialOutboundCall(phone, request, signal)),
      report: (report) => {
        trace.note(report);
        if (report.type === 'joined' && !job.isTaken) flightLog.begin();
        stretches.report(report.type === 'turn' ? { ...report, engines: enginesOf(parts) } : report);
      },
      live: (event) => {
        const interruption = interruptionOf(event);
        if (interruption !== null) this.#deps.interruptions?.inc({ outcome: interruption });
        if (isCaption(event) && !job.isTaken) client.send({ type: 'live', ...ofSession, event });
      },
      saveRecording: ({ track, segment, startMs, rateHz, samples }) => {
        if (!mayUpload(job)) return;
        const head = {
          type: 'recording',
          ...ofSession,
          track,
          segment,
          start_ms: Math.round(wallTimeOf(startMs)),
          rate_hz: rateHz,
        } as const;
        stretches.put({
          head,
          bytes: new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength),
        });
      },
      saveFlightLog: ({ index, bytes }) => {
        if (mayUpload(job)) flightLog.add(index, bytes);
      },
      onLegLost: () => {
        // If the caller cannot return, the call gives up by itself.
        if (job.call && isJoined(plan)) void joinCaller(this.#deps, job.call, plan);
      },
    };
  }
}

/**
 * Uploads the flight log of a call, from the moment that its caller has joined or it is over. Until then
 * there is no conversation to lose, and many calls end before: for each of them a first piece would be a
 * directory and a file of its own.
 */
class FlightLogUploads {
  readonly #uploads: Pick<CallStretches, 'put'>;
  readonly #ofSession: { readonly session_id: string; readonly epoch: number };
  #waiting: Piece[] | null = [];

  constructor(uploads: Pick<CallStretches, 'put'>, { sessionId, epoch }: Pick<Job, 'sessionId' | 'epoch'>) {
    this.#uploads = uploads;
    this.#ofSession = { session_id: sessionId, epoch };
  }

  begin(): void {
    for (const piece of this.#waiting ?? []) this.#uploads.put(piece);
    this.#waiting = null;
  }

  add(chunk: number, bytes: Uint8Array): void {
    const piece: Piece = { head: { type: 'flight_log', ...this.#ofSession, chunk }, bytes };
    if (this.#waiting) this.#waiting.push(piece);
    else this.#uploads.put(piece);
  }
}

function mayUpload({ isTaken, isHandedOver }: Job): boolean {
  return !isTaken || isHandedOver;
}

/** The engines as they are now: after a failure it is the one that took over. */
function enginesOf({ recognizer, model, synthesizer }: CallEngines): TurnEngines {
  return { recognition: recognizer?.id ?? null, model: model.id, synthesis: synthesizer.id };
}

/**
 * True for captions of agent speech, which would be lost with the worker. The control plane does not use the
 * other live events.
 */
function isCaption(event: Readonly<Record<string, unknown>>): boolean {
  return event['type'] === 'transcript' && event['role'] === 'agent';
}
