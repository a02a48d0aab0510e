/**
 * Estimates call quality from packet statistics: the E-model (ITU-T G.107) with the values of G.113 for G.711
 * with concealment.
 */

const BASE_R = 93.2;
/** Robustness against random packet loss (G.113 Appendix I). */
const LOSS_ROBUSTNESS = 25.1;
/** Delay above which a conversation suffers, ms. */
const EASY_DELAY_MS = 177.3;
/** Length of a packet plus the peer's own delay, ms. */
const END_POINTS_MS = 40;

/** Mean opinion score from 1 to 4.4. `lossShare` is 0 to 1; jitter counts as the delay of a jitter buffer. */
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
