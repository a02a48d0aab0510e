/**
 * Joins the agent to a caller who waits elsewhere, in a LiveKit room or on a vendor's media stream: at the
 * start of the session and after a lost connection.
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { WORKER_STREAM_PATH } from '#protocol/media-streams.ts';
import type { Call } from '../calls/call.ts';
import type { SpeakingLease } from '../link/speaking-lease.ts';

/** Callers wait 15 s for the agent (`connection_failed`). */
const JOIN_WITHIN_MS = 15_000;
const RETRY_MS = 1_000;

/** Dependencies for joining a caller. */
export interface JoinDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly media: Pick<LegFactory, 'openLivekitLeg' | 'openStreamLeg'>;
  /** Of the control plane, which has the media streams, and for it. */
  readonly controlPlaneUrl: string;
  readonly token: string;
  /** The agent is in the room once only: one that may have been replaced must not put out its successor. */
  readonly lease?: Pick<SpeakingLease, 'hasItsCalls'> | undefined;
}

/** Whether the worker joins the caller, who does not come to it. */
export function isJoined({ transport }: CallPlan): boolean {
  return transport.type === 'livekit' || transport.type === 'media_stream';
}

/**
 * Joins with retries; false when the caller could not be reached. Leaves at once if the call ended meanwhile.
 */
export async function joinCaller(
  deps: JoinDeps,
  call: Pick<Call, 'attach' | 'ended'>,
  plan: CallPlan,
): Promise<boolean> {
  const { clock, logger } = deps;
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  call.ended.then(over, over);
  if (deps.lease) await Promise.race([deps.lease.hasItsCalls(), call.ended.catch(() => undefined)]);
  if (isOver) return true;
  const lastMs = clock.now() + JOIN_WITHIN_MS;
  for (;;) {
    try {
      const leg = await openLeg(deps, plan);
      if (!leg) return false;
      call.attach(leg);
      return true;
    } catch (error) {
      if (isOver) return true;
      logger.warn({ err: error, sessionId: plan.session_id }, 'the caller could not be joined');
      if (clock.now() + RETRY_MS > lastMs) return false;
      await clock.sleep(RETRY_MS);
    }
  }
}

/** The leg to the caller; null if the caller comes to the worker. */
async function openLeg({ media, controlPlaneUrl, token }: JoinDeps, plan: CallPlan): Promise<Leg | null> {
  const { transport } = plan;
  const recording = plan.record_audio ? { firstSegment: 0 } : null;
  if (transport.type === 'livekit') {
    const { url, token: agents, caller_identity: callerIdentity } = transport;
    return (await media.openLivekitLeg({ url, token: agents, callerIdentity, recording, mayRejoin: true }))
      .leg;
  }
  if (transport.type !== 'media_stream') return null;
  const url = `${controlPlaneUrl.replace(/^http/, 'ws')}${WORKER_STREAM_PATH}${plan.session_id}`;
  return (await media.openStreamLeg({ url, token, vendor: transport.vendor, recording })).leg;
}
