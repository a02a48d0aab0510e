/** The metrics that a worker updates while it works; docs/metrics.md describes them for operators. */
import { Meters } from '#base/meters.ts';
import { createVendorMeters } from '#config/vendor-meters.ts';

/** The meters of one worker. */
export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>;

/** Creates the metrics of one process. */
export function createWorkerMetrics() {
  const meters = new Meters().addProcess();
  return {
    meters,
    vendors: createVendorMeters(meters),
    interruptions: meters.counter({
      name: 'parley_interruptions_total',
      help:
        'Times the caller spoke over the agent. interrupted: the agent stopped; withdrawn: it ' +
        'had not been heard yet; resumed: it went on, because the words meant no interruption.',
      labels: { outcome: ['interrupted', 'withdrawn', 'resumed'] },
    }),
    mediaLateness: meters.histogram({
      name: 'parley_media_lateness_seconds',
      help:
        'How late audio was sent and read at most, once for each second in which a media thread ' +
        'or process had calls. From 0.02 on a packet was late.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 1, 5],
    }),
    uploadsDropped: meters.counter({
      name: 'parley_uploads_dropped_total',
      help:
        'Parts of recordings and flight logs that are lost: they could not be stored for ten ' +
        'minutes, and the disk has no copy.',
    }),
  };
}
