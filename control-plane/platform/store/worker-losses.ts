/**
 * Limits how often a call, analysis or test run may lose its worker. One that may have killed two workers
 * gets no third; one that only shared its workers with the culprit is allowed more losses.
 */

/**
 * `suspected`: it may have killed the worker. `beside`: another one had blocked the worker, which was killed.
 * `silent`: the worker did not answer in time, or everything was restarted.
 */
export type Loss = 'suspected' | 'beside' | 'silent';

/** Number of losses of each kind. */
export type Losses = Partial<Record<Loss, number>>;

const MAX_LOSSES: Readonly<Record<Loss, number>> = { suspected: 2, beside: 4, silent: 3 };

/**
 * Classifies a worker's death for one of its sessions or runs. `hungIn` is the id of the session or run
 * that had blocked its event loop, or null.
 */
export function lossOf(id: string, hungIn: string | null): Exclude<Loss, 'silent'> {
  return hungIn === null || hungIn === id ? 'suspected' : 'beside';
}

/** True if no further worker may take it. */
export function isLostForGood(losses: Losses): boolean {
  return Object.entries(MAX_LOSSES).some(([loss, max]) => (losses[loss as Loss] ?? 0) >= max);
}

/** Returns the losses with one added. */
export function withLoss(losses: Losses, loss: Loss): Losses {
  return { ...losses, [loss]: (losses[loss] ?? 0) + 1 };
}
