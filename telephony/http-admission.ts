/** Asks the control plane over HTTP to admit a new INVITE, as drachtio-server's request handlers do. */
import { request } from '#base/undici.ts';
import { type AdmissionAnswer, type AdmissionRequest, admissionAnswer } from '#protocol/sip-admission.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';

/**
 * Admission charges, creates the session and finds a worker, which has up to 6 s to accept; the init webhook
 * is not part of it. The INVITE was answered with 100 and is not retransmitted meanwhile. A short wait is
 * better for the caller than a refusal.
 */
const TIMEOUT_MS = 12_000;
/** An answer is a tag, or a status and a few headers. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * Creates the admission function. It rejects if the control plane cannot be reached or does not answer in
 * time.
 */
export function createHttpAdmission(
  controlPlaneUrl: string,
  workerToken: string,
): (question: AdmissionRequest) => Promise<AdmissionAnswer> {
  return async (question) => {
    const response = await request(`${controlPlaneUrl}/internal/sip/admit`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workerToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(question),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await textOf(response.body);
    if (response.statusCode !== 200) throw new Error(`admission answered ${response.statusCode}`);
    return admissionAnswer.parse(JSON.parse(text));
  };
}

/** Throws if the answer is longer than any valid one. */
async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES)
      throw new Error(`admission answered with more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A control plane only notes the report; while none is there, it is worth nothing a moment later. */
const REPORT_TIMEOUT_MS = 2_000;

/** Creates the function that reports the state of the workers; it rejects if no control plane takes it. */
export function createHttpWorkerReports(
  controlPlaneUrl: string,
  workerToken: string,
): (report: SignallingReport) => Promise<void> {
  return async (report) => {
    const response = await request(`${controlPlaneUrl}/internal/sip/workers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workerToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(report),
      signal: AbortSignal.timeout(REPORT_TIMEOUT_MS),
    });
    await response.body.dump();
    if (response.statusCode !== 204) throw new Error(`the report was answered ${response.statusCode}`);
  };
}
