/**
 * How often a call, an analysis or a run of a test may lose its worker. What may itself have killed two
 * workers goes to no third; what was only there while another killed them may go on for longer.
 */

/**
 * `suspected`: the worker died in it, or nobody knows in what. `beside`: it was killed while it stood still
 * in another. `silent`: no answer came in time, or everything was started anew.
 */
export type Loss = 'suspected' | 'beside' | 'silent';

/** How often each has happened. */
export type Losses = Partial<Record<Loss, number>>;

const MOST: Readonly<Record<Loss, number>> = { suspected: 2, beside: 4, silent: 3 };

/**
 * What the death of a worker says of one of its sessions or runs; `stoodIn` is the one it was killed in for
 * standing still, or null.
 */
export function lossOf(id: string, stoodIn: string | null): Exclude<Loss, 'silent'> {
  return stoodIn === null || stoodIn === id ? 'suspected' : 'beside';
}

/** True of what goes to no further worker. */
export function isLostForGood(losses: Losses): boolean {
  return Object.entries(MOST).some(([loss, most]) => (losses[loss as Loss] ?? 0) >= most);
}

/** The losses and one more. */
export function withLoss(losses: Losses, loss: Loss): Losses {
  return { ...losses, [loss]: (losses[loss] ?? 0) + 1 };
}
