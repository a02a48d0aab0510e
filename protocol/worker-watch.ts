/**
 * How signalling watches workers, so that the loss of a machine is noticed where its supervisor is lost with
 * it: signalling asks each connected worker for a sign of life, reports who answers to the control plane
 * (`POST /internal/sip/workers`, `Authorization: Bearer <WORKER_TOKEN>`), and tells the workers that it heard
 * them. docs/decisions/031 has the reasons.
 */
import { createHmac } from 'node:crypto';
import { z } from 'zod';

/**
 * A watched worker falls silent by itself when for this long no control plane has heard it, and a signalling
 * server that may say so has not heard it either, ms.
 */
export const SPEAKING_LEASE_MS = 4_000;
/**
 * A worker without a sign of life for this long is dead, ms. Longer than the lease: it is silent by then,
 * whatever became of it.
 */
export const DEATH_MS = 5_000;
/** A signalling server is known to hear a worker for this long after a control plane took its report, ms. */
export const REPORT_TAKEN_MS = 2_000;
/** Signalling reports a silent worker for this long, ms. */
export const SILENCE_REPORTED_MS = 60_000;

/** Asks for a sign of life: number and key of the question. */
export const PROBE_HEADER = 'X-Parley-Probe';
/**
 * Number of the last question whose answer has arrived, and `REPORTED` after it if a control plane knows that
 * this server hears the worker.
 */
export const PROBE_ACKNOWLEDGED_HEADER = 'X-Parley-Acknowledged';
export const REPORTED = 'reported';
/** Answer of a worker that falls silent by itself. Other workers do not send it, and are not watched. */
export const LEASED_HEADER = 'X-Parley-Leased';
/** Answer of a worker whose supervisor reports its death. It need not be asked again over this connection. */
export const SUPERVISED_HEADER = 'X-Parley-Supervised';

/**
 * Marks the re-INVITE of a worker that connects anew and takes its own dialog along: it must not take one
 * that another connected worker has by now. Sent to the embedded server only, which does not pass it on.
 */
export const REBIND_HEADER = 'X-Parley-Rebind';

/** Proves that a question comes from the signalling server itself and not from a caller. */
export function probeKey(secret: string): string {
  return createHmac('sha256', secret).update('parley worker watch').digest('hex').slice(0, 32);
}

const worker = z.string().min(1).max(200);

/** What one signalling server knows of its workers, once a second. */
export const signallingReport = z.object({
  /** New for every process. */
  signalling: z.string().min(1).max(100),
  /** Counts the reports. */
  seq: z.number().int(),
  /** Workers that have answered lately, by their tag, which is the name of their instance. */
  connected: z.array(worker).max(10_000),
  /** Workers that answered once and no longer do, and the time since their last answer. */
  silent: z.array(z.object({ worker, for_ms: z.number().min(0) })).max(10_000),
  /** Age of the report when one replica passes it on to another, ms. */
  age_ms: z.number().min(0).optional(),
});
export type SignallingReport = z.infer<typeof signallingReport>;
