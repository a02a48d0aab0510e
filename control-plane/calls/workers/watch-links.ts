/**
 * With several replicas nobody may have seen a worker's link break, because its replica was killed with it
 * ("unknown"). So each of them looks for sessions whose worker is connected to none of them; saying so twice
 * changes nothing.
 */
import { type ChoreLoop, startChoreLoop } from '../../platform/background/chore-loop.ts';
import type { Context } from '../../platform/context.ts';

const LOOK_MS = 5_000;
/**
 * Workers of a replica that is gone need a moment to reach another one, and a new replica a moment to hear of
 * them.
 */
const GRACE_MS = 15_000;

/** What the watch asks and tells. */
export interface LinkWatch {
  /** True when the worker is connected to any replica. */
  isHeld(instanceId: string): boolean;
  lost(instanceId: string): Promise<void>;
}

/** Starts looking; nothing is said of a worker before it has been away for a while. */
export function startLinkWatch(context: Context, watch: LinkWatch): ChoreLoop {
  const awaySinceMs = new Map<string, number>();
  return startChoreLoop(context, { name: 'links', everyMs: LOOK_MS }, async () => {
    const nowMs = context.clock.now();
    const wanted = new Set(
      (await context.models.sessions.distinct('worker.instance_id', { status: 'active' })) as string[],
    );
    for (const id of awaySinceMs.keys()) if (!wanted.has(id) || watch.isHeld(id)) awaySinceMs.delete(id);
    for (const id of wanted) {
      if (watch.isHeld(id)) continue;
      const sinceMs = awaySinceMs.get(id) ?? nowMs;
      awaySinceMs.set(id, sinceMs);
      if (nowMs - sinceMs >= GRACE_MS) await watch.lost(id);
    }
  });
}
