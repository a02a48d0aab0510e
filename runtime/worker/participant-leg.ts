/**
 * Opens the leg of a colleague who joins a call by a browser. Their voice is recorded while they talk with
 * the caller.
 */

import type { Leg } from '#media/leg/leg.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import type { BrowserConnection } from '#protocol/participants.ts';

/**
 * Connects the colleague; `sdp` answers an offer. Throws `Fault('sdp_unusable')` and
 * `Fault('gateway_unreachable')`.
 */
export async function openParticipantLeg(
  media: Pick<LegFactory, 'openWebrtcLeg' | 'openLivekitLeg'>,
  connection: BrowserConnection,
  isRecorded: boolean,
): Promise<{ readonly leg: Leg; readonly sdp: string | null }> {
  const recording = isRecorded ? { firstSegment: 0, of: 'human' as const } : null;
  if (connection.type === 'webrtc') {
    const { leg, answerSdp } = await media.openWebrtcLeg({ offerSdp: connection.sdp, recording });
    return { leg, sdp: answerSdp };
  }
  const { url, token, identity: callerIdentity } = connection;
  const { leg } = await media.openLivekitLeg({ url, token, callerIdentity, recording, mayRejoin: false });
  return { leg, sdp: null };
}
