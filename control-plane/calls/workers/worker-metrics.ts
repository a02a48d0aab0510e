/** Load of the connected workers as metrics, read from the hub at each scrape. */
import { Gauge, type Registry } from 'prom-client';
import type { WorkerLoad } from './connected-workers.ts';

/** Adds the workers' meters to a registry. */
export function addWorkerMetrics(registry: Registry, workers: { describe(): readonly WorkerLoad[] }): void {
  const meters = [
    {
      name: 'parley_worker_calls',
      help: 'Jobs running on a worker: calls and analyses.',
      read: (load: WorkerLoad) => load.calls,
    },
    {
      name: 'parley_worker_free_slots',
      help: 'Jobs a worker could still take.',
      read: (load: WorkerLoad) => load.freeSlots,
    },
    {
      name: 'parley_worker_loop_lag_seconds',
      help: 'Delay of a worker’s event loop, 95th percentile of its last second.',
      read: (load: WorkerLoad) => load.loopLagMs / 1000,
    },
  ];
  for (const { name, help, read } of meters) {
    new Gauge({
      name,
      help,
      labelNames: ['worker'] as const,
      registers: [registry],
      collect() {
        this.reset();
        for (const load of workers.describe()) this.set({ worker: load.instanceId }, read(load));
      },
    });
  }
}
