/**
 * The call of one job: built of its plan, in its session's name. What it tells goes over the worker link, its
 * recording and its flight log to the uploads.
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Tracing } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Handover } from '#protocol/worker-link.ts';
import { type Call, type CallDeps, startCall } from '../calls/call.ts';
import { traceCall } from '../calls/call-trace.ts';
import type { Within } from '../event-loop/within.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import type { Uploads } from '../link/uploads.ts';
import type { Job } from './job-table.ts';
import { joinRoom, type RoomCallDeps } from './room-call.ts';

/** What the engines, the model and the tools of a call are. */
export type CallEquipment = Pick<
  CallDeps,
  'recognizer' | 'synthesizer' | 'model' | 'knowledge' | 'createTools' | 'placeCall' | 'mayTransfer'
>;

/** What the call of a job is made with. */
export interface JobCallDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Null when tracing is off. */
  readonly tracing: Tracing | null;
  readonly uploads: Uploads;
  readonly media: RoomCallDeps['media'];
  readonly client: Pick<ControlPlaneClient, 'report' | 'send'>;
  createCallDeps(plan: CallPlan): CallEquipment;
}

/** What the call is to be. */
export interface JobCallOptions {
  readonly plan: CallPlan;
  /** Null where it begins here. */
  readonly handover: Handover | null;
  /** What runs its work in its session's name. */
  readonly within: Within;
}

/** Starts it; it waits for its leg. Throws when an engine of the plan cannot be made. */
export function startJobCall(deps: JobCallDeps, job: Job, { plan, handover, within }: JobCallOptions): Call {
  return within(() => {
    const { client, clock, logger, random, tracing, uploads } = deps;
    const session = { sessionId: job.sessionId, epoch: job.epoch };
    const ofSession = { session_id: job.sessionId, epoch: job.epoch };
    const trace = traceCall(tracing, plan, clock.wallTime());
    const wallTimeOf = (monotonicMs: number) => clock.wallTime() - (clock.now() - monotonicMs);
    const call = startCall({
      plan,
      clock,
      random,
      logger: logger.child({ sessionId: job.sessionId }),
      ...deps.createCallDeps(plan),
      handover,
      within,
      report: (report) => {
        trace.note(report);
        client.report(session, report);
      },
      live: (event) => {
        if (isCaption(event)) client.send({ type: 'live', ...ofSession, event });
      },
      saveRecording: ({ track, segment, startMs, rateHz, samples }) => {
        const head = {
          type: 'recording',
          ...ofSession,
          track,
          segment,
          start_ms: Math.round(wallTimeOf(startMs)),
          rate_hz: rateHz,
        } as const;
        uploads.put({ head, bytes: new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength) });
      },
      saveFlightLog: ({ index, bytes }) =>
        uploads.put({ head: { type: 'flight_log', ...ofSession, chunk: index }, bytes }),
      onLegLost: () => {
        // Whoever cannot come back ends by the call's own patience.
        if (plan.transport.type === 'livekit') void joinRoom(deps, call, plan);
      },
    });
    return call;
  });
}

/**
 * True of what the agent is heard to say, which would be lost with the worker; the control plane has no use
 * for the other live events.
 */
function isCaption(event: Readonly<Record<string, unknown>>): boolean {
  return event['type'] === 'transcript' && event['role'] === 'agent';
}
