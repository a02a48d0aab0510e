/** What the legs of browsers have in common, in a room and on a connection of their own. */
import type { LegStats } from './leg.ts';

/** Audio from the browser, as the engines hear it. */
export const IN_RATE_HZ = 16_000;
/** The rate of good synthetic voices: a web caller hears them undulled. */
export const OUT_RATE_HZ = 24_000;
/** The libraries take and give audio in blocks of this length. */
export const BLOCK_MS = 10;
/** A block to the browser. */
export const BLOCK_SAMPLES = (OUT_RATE_HZ * BLOCK_MS) / 1000;
/** A slot served later than this is left out rather than sent in a burst. */
export const MAX_SEND_LATENESS_MS = 100;
/** A library that does not say how its packets travelled is not waited for. */
export const STATS_TIMEOUT_MS = 300;
/** Of a connection that tells nothing. */
export const NO_STATS: LegStats = { packetsReceived: 0, packetsLost: 0, packetsSent: 0, jitterMs: 0 };
