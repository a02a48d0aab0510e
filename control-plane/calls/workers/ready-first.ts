/**
 * A web call goes to a worker that has loaded what it needs, if there is one: on another, its caller waits
 * for that. Pure.
 */
import type { JobKind } from '#protocol/worker-link.ts';
import type { JobOffer } from '../../platform/dispatch.ts';

/** The offers of one job, in order. The second one is made only if no worker accepts the first. */
export function attemptsAt(
  offer: JobOffer,
  workers: readonly { readonly kinds: readonly JobKind[]; readonly isWebReady: boolean }[],
): readonly JobOffer[] {
  if (offer.kind !== 'web' || offer.needsReady) return [offer];
  const suitable = workers.filter(({ kinds }) => kinds.includes('web'));
  const ready = suitable.filter(({ isWebReady }) => isWebReady).length;
  const isMixed = ready > 0 && ready < suitable.length;
  return isMixed ? [{ ...offer, needsReady: true }, offer] : [offer];
}
