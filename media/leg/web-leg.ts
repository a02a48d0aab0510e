/** What the legs of browsers share, in a room and on direct connections. */
import type { LegStats } from './leg.ts';

/** Audio from the browser, at the engines' rate. */
export const IN_RATE_HZ = 16_000;
/** The rate of good synthetic voices, unreduced for web callers. */
export const OUT_RATE_HZ = 24_000;
/** The libraries exchange audio in blocks of this length. */
export const BLOCK_MS = 10;
/** A block for the browser. */
export const BLOCK_SAMPLES = (OUT_RATE_HZ * BLOCK_MS) / 1000;
/** A slot later than this is skipped instead of sent in a burst. */
export const MAX_SEND_LATENESS_MS = 100;
/** Longest wait for a library's statistics. */
export const STATS_TIMEOUT_MS = 300;
/** Statistics of a connection that reports none. */
export const NO_STATS: LegStats = { packetsReceived: 0, packetsLost: 0, packetsSent: 0, jitterMs: 0 };
