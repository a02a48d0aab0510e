/**
 * Detects lost workers in deployments with several replicas. If a replica is killed, no other replica sees
 * the links of its workers break. So each replica looks for sessions whose worker is not connected to any
 * replica, and marks them `unknown`; doing so twice has no effect.
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import type { WorkerDispatch } from './worker-dispatch.ts';

const LOOK_MS = 5_000;
/**
 * Workers of a dead replica need time to reconnect to another one, and a new replica needs time to learn
 * about them.
 */
const GRACE_MS = 15_000;

/** Starts looking; a worker counts as lost only after it has been away for a while. */
export function startLinkWatch(
  context: Context,
  dispatch: Pick<WorkerDispatch, 'isConnected'>,
  sink: Pick<ReportSink, 'workerLost'>,
): BackgroundLoop {
  const awaySinceMs = new Map<string, number>();
  return startBackgroundLoop(context, { name: 'links', everyMs: LOOK_MS }, async () => {
    const nowMs = context.clock.now();
    const wanted = new Set(
      (await context.models.sessions.distinct('worker.instance_id', { status: 'active' })) as string[],
    );
    for (const id of awaySinceMs.keys())
      if (!wanted.has(id) || dispatch.isConnected(id)) awaySinceMs.delete(id);
    for (const id of wanted) {
      if (dispatch.isConnected(id)) continue;
      const sinceMs = awaySinceMs.get(id) ?? nowMs;
      awaySinceMs.set(id, sinceMs);
      if (nowMs - sinceMs >= GRACE_MS) await sink.workerLost(id);
    }
  });
}
