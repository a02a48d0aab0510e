/**
 * Limits how often a call, analysis or test run may lose its worker. One that may have killed two workers
 * gets no third; one that was merely on workers killed because of another is allowed more losses.
 */

/**
 * `suspected`: the worker died in it, or it is unknown in what. `beside`: the worker was killed because it
 * hung in another one. `silent`: no answer in time, or everything was restarted.
 */
export type Loss = 'suspected' | 'beside' | 'silent';

/** Number of losses of each kind. */
export type Losses = Partial<Record<Loss, number>>;

const MOST: Readonly<Record<Loss, number>> = { suspected: 2, beside: 4, silent: 3 };

/**
 * Classifies a worker's death for one of its sessions or runs. `stoodIn` is the one in which the worker hung
 * and was killed, or null.
 */
export function lossOf(id: string, stoodIn: string | null): Exclude<Loss, 'silent'> {
  return stoodIn === null || stoodIn === id ? 'suspected' : 'beside';
}

/** True if no further worker may take it. */
export function isLostForGood(losses: Losses): boolean {
  return Object.entries(MOST).some(([loss, most]) => (losses[loss as Loss] ?? 0) >= most);
}

/** Returns the losses with one added. */
export function withLoss(losses: Losses, loss: Loss): Losses {
  return { ...losses, [loss]: (losses[loss] ?? 0) + 1 };
}
