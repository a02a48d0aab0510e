/** Metrics of a worker's requests to vendors. */
import type { Meters } from '#base/meters.ts';
import { VENDOR_LABELS, vendorOfEngine } from './vendor-labels.ts';

/** Kinds of requests to a vendor. */
export type VendorService = 'recognition' | 'model' | 'synthesis';

/** How a request went wrong. `stalled`: accepted, and then nothing came in time. */
export const VENDOR_FAULTS = [
  'authentication',
  'quota',
  'overloaded',
  'connectivity',
  'stalled',
  'bad_request',
  'unavailable',
] as const;
export type VendorFault = (typeof VENDOR_FAULTS)[number];

/** An engine or model, by its id (`deepgram:nova-3`, `openai/gpt-4.1`). */
export interface VendorMeters {
  /** It has begun to answer, after this time, ms; null if that says nothing about the vendor. */
  began(service: VendorService, engineId: string, afterMs: number | null): void;
  /** `abandoned`: the caller of the vendor cancelled the request. */
  failed(service: VendorService, engineId: string, fault: VendorFault | 'abandoned'): void;
  /** Another engine takes its place. */
  failedOver(service: VendorService, engineId: string): void;
}

/** For processes without metrics. */
export const NO_VENDOR_METERS: VendorMeters = {
  began: () => undefined,
  failed: () => undefined,
  failedOver: () => undefined,
};

/** Adds the metrics. */
export function createVendorMeters(meters: Meters): VendorMeters {
  const labels = {
    service: ['recognition', 'model', 'synthesis'] satisfies VendorService[],
    vendor: VENDOR_LABELS,
  };
  const requests = meters.counter({
    name: 'parley_vendor_requests_total',
    help:
      'Requests to vendors of speech and language models. ok: it began to answer; abandoned: ' +
      'the answer was no longer wanted before it began.',
    labels: { ...labels, outcome: ['ok', 'abandoned', ...VENDOR_FAULTS] },
  });
  const firstBytes = meters.histogram({
    name: 'parley_vendor_first_byte_seconds',
    help:
      'From a request to its first answer: a model’s first token, a voice’s first audio, a ' +
      'recogniser’s final transcript after the end of speech.',
    labels,
    buckets: [0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10],
  });
  const failovers = meters.counter({
    name: 'parley_vendor_failovers_total',
    help: 'Requests of this vendor that another one took over, because it failed or was late.',
    labels,
  });
  return {
    began(service, engineId, afterMs) {
      const vendor = vendorOfEngine(engineId);
      requests.inc({ service, vendor, outcome: 'ok' });
      if (afterMs !== null) firstBytes.observe({ service, vendor }, afterMs / 1000);
    },
    failed: (service, engineId, outcome) =>
      requests.inc({ service, vendor: vendorOfEngine(engineId), outcome }),
    failedOver: (service, engineId) => failovers.inc({ service, vendor: vendorOfEngine(engineId) }),
  };
}
