/** The figures of a leg, as reports name them. */
import type { LegStats, UnheardPeer } from '#media/leg/leg.ts';
import type { MediaQuality, UnheardCaller } from '#protocol/session-record.ts';

/** What is stored of a leg's counters. */
export function mediaQualityOf(stats: LegStats): MediaQuality {
  return {
    packets_received: stats.packetsReceived,
    packets_lost: stats.packetsLost,
    packets_sent: stats.packetsSent,
    jitter_ms: stats.jitterMs,
    round_trip_ms: stats.roundTripMs ?? null,
    jitter_buffer_ms: stats.jitterBufferMs ?? null,
    concealed_share: stats.concealedShare ?? null,
    mos: stats.mos ?? null,
    ...(stats.unheard && { unheard: unheardCallerOf(stats.unheard) }),
  };
}

function unheardCallerOf(unheard: UnheardPeer): UnheardCaller {
  const { unreadablePackets } = unheard;
  return {
    expected_address: unheard.expectedAddress,
    refused_addresses: [...unheard.refusedAddresses],
    ...(unreadablePackets > 0 && { unreadable_packets: unreadablePackets }),
  };
}
