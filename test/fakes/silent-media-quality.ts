/** Figures of a call in which no packet of the caller arrived. */
export const SILENT_MEDIA_QUALITY = {
  packets_received: 0,
  packets_lost: 0,
  packets_sent: 150,
  jitter_ms: 0,
  round_trip_ms: null,
  jitter_buffer_ms: null,
  concealed_share: null,
  mos: null,
} as const;
