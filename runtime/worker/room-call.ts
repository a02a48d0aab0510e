/** Joins the agent to its call's LiveKit room, at the start of the session and after a lost connection. */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Call } from '../calls/call.ts';
import type { SpeakingLease } from '../link/speaking-lease.ts';

/** Callers wait 15 s for the agent (`connection_failed`). */
const JOIN_WITHIN_MS = 15_000;
const RETRY_MS = 1_000;

/** Dependencies for joining a room. */
export interface RoomCallDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly media: Pick<LegFactory, 'openLivekitLeg'>;
  /** The agent is in the room once only: one that may have been replaced must not put out its successor. */
  readonly lease?: Pick<SpeakingLease, 'hasItsCalls'> | undefined;
}

/**
 * Joins with retries; false when the room could not be joined. Leaves at once if the call ended meanwhile.
 */
export async function joinRoom(
  deps: RoomCallDeps,
  call: Pick<Call, 'attach' | 'ended'>,
  plan: CallPlan,
): Promise<boolean> {
  const { transport } = plan;
  if (transport.type !== 'livekit') return false;
  const { clock, logger, media } = deps;
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
      const { url, token, caller_identity: callerIdentity } = transport;
      const { leg } = await media.openLivekitLeg({
        url,
        token,
        callerIdentity,
        recording: plan.record_audio ? { firstSegment: 0 } : null,
        mayRejoin: true,
      });
      call.attach(leg);
      return true;
    } catch (error) {
      if (isOver) return true;
      logger.warn({ err: error, sessionId: plan.session_id }, 'the room could not be joined');
      if (clock.now() + RETRY_MS > lastMs) return false;
      await clock.sleep(RETRY_MS);
    }
  }
}
