/**
 * Detects lost workers in deployments with several replicas. If a replica is killed, no other replica sees
 * the links of its workers break. So each replica looks for sessions whose worker is not connected to any
 * replica, and marks them `unknown`; doing so twice has no effect.
 */
import { type ChoreLoop, startChoreLoop } from '../../platform/background/chore-loop.ts';
import type { Context } from '../../platform/context.ts';

const LOOK_MS = 5_000;
/**
 * Workers of a dead replica need time to reconnect to another one, and a new replica needs time to learn
 * about them.
 */
const GRACE_MS = 15_000;

/** Callbacks of the watch. */
export interface LinkWatch {
  /** True when the worker is connected to any replica. */
  isHeld(instanceId: string): boolean;
  lost(instanceId: string): Promise<void>;
}

/** Starts the watch; a worker is reported lost only after it has been missing for a while. */
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
