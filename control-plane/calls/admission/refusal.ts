/** How signalling is told to refuse a call. */
import type { AdmissionAnswer } from '#protocol/sip-admission.ts';

const REASONS: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  404: 'Not Found',
  407: 'Proxy Authentication Required',
  486: 'Busy Here',
  488: 'Not Acceptable Here',
  500: 'Server Internal Error',
  503: 'Service Unavailable',
};

/** The answer to signalling; `planned` resolves when the plan has been sent or the call was given up. */
export interface Admission {
  readonly answer: AdmissionAnswer;
  readonly planned: Promise<void>;
}

/** Headers added to a refusal; an array is sent as one header line per value. */
export type RefusalHeaders = Record<string, string | string[]>;

/** The answer that refuses a call. */
export function refusal(
  status: number,
  headers?: RefusalHeaders,
  reason: string = REASONS[status] ?? 'Refused',
): Admission {
  const data = { status, reason, ...(headers ? { headers } : {}) };
  return { answer: { action: 'reject', data }, planned: Promise.resolve() };
}
