/** Load of the workers connected to this replica, read from the hub at each scrape. */
import type { Meters } from '#base/meters.ts';
import type { ConnectedWorkers, WorkerLoad } from './connected-workers.ts';

/** Adds the workers' metrics. The sum over all replicas covers each worker once. */
export function addWorkerMetrics(
  meters: Meters,
  workers: Pick<ConnectedWorkers, 'describe' | 'isStopping'>,
): void {
  const sum = (read: (load: WorkerLoad) => number) => () =>
    workers.describe().reduce((total, load) => total + read(load), 0);
  meters.gauge({
    name: 'parley_workers',
    help: 'Workers connected to this control plane.',
    read: sum(() => 1),
  });
  meters.gauge({
    name: 'parley_draining',
    help: '1 once this control plane is stopping: its readiness says no.',
    read: () => Number(workers.isStopping),
  });
  meters.gauge({
    name: 'parley_worker_calls',
    help: 'Jobs running on the workers connected to this control plane: calls, analyses and agent tests.',
    read: sum(({ calls }) => calls),
  });
  meters.gauge({
    name: 'parley_worker_free_slots',
    help:
      'Jobs that the workers connected to this control plane could still take; 0 for one that ' +
      'drains or is late.',
    read: sum(({ freeSlots }) => freeSlots),
  });
  meters.gauge({
    name: 'parley_worker_loop_lag_seconds',
    help:
      'Delay of the event loop of the latest worker connected to this control plane, 95th ' +
      'percentile of its last second, with fewer than four jobs the 90th.',
    read: () => Math.max(0, ...workers.describe().map(({ loopLagMs }) => loopLagMs)) / 1000,
  });
}
