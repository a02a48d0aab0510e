/**
 * Shares the workers among the replicas: when all replicas are restarted one by one, the last one has no
 * worker. A worker whose link is closed connects again, through the load balancer to any replica; its calls
 * go on meanwhile.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { ConnectedWorkers } from './connected-workers.ts';
import type { OtherReplicas } from './other-replicas.ts';

const LOOK_MS = 15_000;
/** Longest pause while closed links return to this replica: there may be no balancer. */
const MOST_PAUSE_MS = 600_000;

/** Dependencies of the sharing. */
export interface SharingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly workers: Pick<ConnectedWorkers, 'has' | 'size' | 'isDraining' | 'closeQuietest'>;
  readonly others: Pick<OtherReplicas, 'workerCounts'>;
}

/** Starts to close the link of one worker at a time while another replica has at least two fewer. */
export function shareWorkers({ clock, logger, workers, others }: SharingDeps): Timer {
  let moved: string | null = null;
  let movedMs = 0;
  let pauseMs = LOOK_MS;
  return clock.every(LOOK_MS, () => {
    if (moved !== null) {
      const isBack = workers.has(moved);
      pauseMs = isBack ? Math.min(2 * pauseMs, MOST_PAUSE_MS) : LOOK_MS;
      // Its return counts once.
      moved = null;
    }
    if (clock.now() - movedMs < pauseMs || workers.isDraining) return;
    if (!hasTooMany(workers.size, others.workerCounts())) return;
    moved = workers.closeQuietest();
    movedMs = clock.now();
    logger.info({ instanceId: moved }, 'another replica has fewer workers: closed the link of one');
  });
}

function hasTooMany(own: number, others: readonly number[]): boolean {
  return others.length > 0 && own >= Math.min(...others) + 2;
}
