/** Measures the audio of a phone call. */
import type { MediaQuality } from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';

/** Called once a call, when it has ended. `traceId` is null if the call is not traced. */
export function measureQuality(
  { mos, packetLoss, concealed, jitter, roundTrips, unheardCalls }: Context['metrics'],
  quality: MediaQuality,
  traceId: string | null,
): void {
  if (quality.unheard) unheardCalls.inc({});
  const expected = quality.packets_received + quality.packets_lost;
  if (quality.packets_received === 0) return;
  packetLoss.observe({}, Math.max(0, quality.packets_lost) / expected, traceId);
  jitter.observe({}, quality.jitter_ms / 1000, traceId);
  if (quality.mos !== null) mos.observe({}, quality.mos, traceId);
  if (quality.concealed_share !== null) concealed.observe({}, quality.concealed_share, traceId);
  if (quality.round_trip_ms !== null) roundTrips.observe({}, quality.round_trip_ms / 1000, traceId);
}
