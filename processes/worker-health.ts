/** Health of a worker that was started alone. */
import type { Clock } from '#base/clock.ts';
import type { Meters } from '#base/meters.ts';
import type { Uploads } from '#runtime/link/uploads.ts';
import type { Worker } from '#runtime/worker/worker.ts';
import type { Health } from './health-server.ts';

/** Sources of a worker's readiness and metrics. */
export interface WorkerParts {
  readonly worker: Pick<Worker, 'missing' | 'state' | 'kinds'>;
  readonly uploads: Pick<Uploads, 'waiting'>;
  readonly leftBytes: () => number;
  readonly meters: Meters;
  readonly clock: Clock;
}

/** The readiness of a worker; adds the metrics that are read from its state. */
export function healthOf(parts: WorkerParts): Health {
  const { worker, meters } = parts;
  meters.gauge({
    name: 'parley_jobs',
    help: 'Jobs running on this worker: calls, analyses and agent tests.',
    read: () => worker.state().calls,
  });
  meters.gauge({
    name: 'parley_free_slots',
    help: 'Jobs this worker could still take; 0 while it drains or its event loop is late.',
    read: () => worker.state().freeSlots,
  });
  meters.gauge({
    name: 'parley_slots',
    help: 'Jobs this worker takes at most (WORKER_MAX_CALLS).',
    read: () => worker.state().capacity,
  });
  meters.gauge({
    name: 'parley_draining',
    help: '1 while the worker drains: it takes no new jobs and hands its calls over.',
    read: () => Number(worker.state().isDraining),
  });
  meters.gauge({
    name: 'parley_loop_lag_seconds',
    help: 'Delay of the event loop, 95th percentile of its last second, with fewer than four jobs the 90th.',
    read: () => worker.state().loopLagMs / 1000,
  });
  meters.gauge({
    name: 'parley_link_connected',
    help: '1 while a control plane is connected. Without one for 120 s, the worker ends its calls.',
    read: () => Number(worker.state().isLinked),
  });
  meters.gauge({
    name: 'parley_sip_connected',
    help: '1 while a SIP server is connected: without one this worker takes no phone calls.',
    read: () => Number(worker.state().hasSip),
  });
  if (worker.kinds.includes('web'))
    meters.gauge({
      name: 'parley_web_ready',
      help: '1 once all is loaded that web calls would wait for; until then other workers get them first.',
      read: () => Number(worker.state().isWebReady),
    });
  addBacklogs(parts);
  return { missing: () => worker.missing(), meters };
}

/** Adds what waits for a control plane. */
function addBacklogs({ worker, uploads, leftBytes, meters, clock }: WorkerParts): void {
  const queues = {
    reports: { items: () => worker.state().waitingReports, age: ageOfOldest(clock) },
    uploads: { items: () => uploads.waiting().items, age: ageOfOldest(clock) },
  } as const;
  const labels = { queue: ['reports', 'uploads'] } as const;
  meters.gauges({
    name: 'parley_backlog_items',
    help: 'Reports of calls (the spool) and parts of recordings that no control plane has stored yet.',
    labels,
    read: () => labels.queue.map((queue) => ({ labels: { queue }, value: queues[queue].items().length })),
  });
  meters.gauges({
    name: 'parley_backlog_oldest_seconds',
    help: 'Age of the oldest of them, counted from the first scrape that found it; 0 if nothing waits.',
    labels,
    read: () =>
      labels.queue.map((queue) => ({ labels: { queue }, value: queues[queue].age(queues[queue].items()) })),
  });
  meters.gauge({
    name: 'parley_upload_backlog_bytes',
    help: 'Size of the waiting uploads; above 268435456 the oldest are given up.',
    read: () => uploads.waiting().bytes,
  });
  meters.gauge({
    name: 'parley_recordings_left_bytes',
    help: 'Size of the recordings on this disk that could not be stored; sent again every ten minutes.',
    read: leftBytes,
  });
}

/** Returns the age of the oldest item, s; an item is as old as the first call that was given it. */
function ageOfOldest(clock: Clock): (items: readonly object[]) => number {
  const seen = new WeakMap<object, number>();
  return (items) => {
    let oldestMs = clock.now();
    for (const item of items) {
      const sinceMs = seen.get(item) ?? clock.now();
      seen.set(item, sinceMs);
      oldestMs = Math.min(oldestMs, sinceMs);
    }
    return (clock.now() - oldestMs) / 1000;
  };
}
