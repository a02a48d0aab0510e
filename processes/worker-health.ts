/** Health of a worker that was started alone. */
import type { Worker } from '#runtime/worker/worker.ts';
import type { Health } from './health-server.ts';

/** The readiness and the meters of a worker. */
export function healthOf(worker: Worker): Health {
  return {
    missing: () => worker.missing(),
    meters: [
      {
        name: 'parley_jobs',
        help: 'Jobs running on this worker: calls and analyses.',
        read: () => worker.state().calls,
      },
      {
        name: 'parley_free_slots',
        help: 'Jobs this worker could still take.',
        read: () => worker.state().freeSlots,
      },
      {
        name: 'parley_loop_lag_seconds',
        help: 'Delay of the event loop, 95th percentile of its last second.',
        read: () => worker.state().loopLagMs / 1000,
      },
      {
        name: 'parley_sip_connected',
        help: '1 while a SIP server is connected: without one this worker takes no phone calls.',
        read: () => Number(worker.state().hasSip),
      },
      {
        name: 'parley_waiting_reports',
        help: 'Reports of calls that no control plane has stored yet.',
        read: () => worker.state().waitingReports,
      },
    ],
  };
}
