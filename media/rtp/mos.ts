/**
 * How a call sounds, estimated from what happened to its packets: the E-model (ITU-T G.107) with what G.113
 * says of G.711 with concealment.
 */

const BASE_R = 93.2;
/** Robustness against lost packets that fall alone (G.113 Appendix I). */
const LOSS_ROBUSTNESS = 25.1;
/** Delay from which on a conversation suffers, ms. */
const EASY_DELAY_MS = 177.3;
/** A packet's own length and what the far end adds, ms. */
const END_POINTS_MS = 40;

/** Mean opinion score from 1 to 4.4. `lossShare` is 0 to 1; jitter becomes delay in a jitter buffer. */
export function estimateMos(path: {
  readonly lossShare: number;
  readonly roundTripMs: number;
  readonly jitterMs: number;
}): number {
  const delayMs = path.roundTripMs / 2 + 2 * path.jitterMs + END_POINTS_MS;
  const delay = 0.024 * delayMs + (delayMs > EASY_DELAY_MS ? 0.11 * (delayMs - EASY_DELAY_MS) : 0);
  const lossPercent = 100 * path.lossShare;
  const loss = (95 * lossPercent) / (lossPercent + LOSS_ROBUSTNESS);
  const r = Math.max(0, Math.min(100, BASE_R - delay - loss));
  return Math.max(1, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6);
}
