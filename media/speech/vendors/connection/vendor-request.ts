/** One HTTP request to a speech vendor; every failure is a `SpeechError`. */
import { SpeechError } from '../../speech.ts';
import { refusal } from './vendor-status.ts';

/** The request. */
export interface VendorRequest {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly url: string | URL;
  readonly method: 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: FormData | Uint8Array<ArrayBuffer>;
  /** Advice for the operator when the vendor refuses the key; absent: the message has none. */
  readonly keyAdvice?: string;
  /**
   * If aborted with a `TimeoutError` (`AbortSignal.timeout`) the request is `stalled`; any other reason is
   * thrown unchanged.
   */
  readonly signal: AbortSignal;
}

/** Returns the successful answer with its body unread. */
export async function requestVendor({
  vendor,
  url,
  method,
  headers,
  body,
  keyAdvice,
  signal,
}: VendorRequest): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: { ...headers },
      signal,
      ...(body === undefined ? {} : { body }),
    });
  } catch (cause) {
    throw asSpeechError(vendor, cause, signal);
  }
  if (response.ok) return response;
  await response.body?.cancel();
  throw refusal(response.status, `${vendor} answered HTTP ${response.status}`, keyAdvice);
}

/** The error for a broken request or body. */
export function asSpeechError(vendor: string, cause: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted)
    return cause instanceof SpeechError
      ? cause
      : new SpeechError('connectivity', `${vendor} could not be reached, or the connection broke`, { cause });
  const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  return isTimeout
    ? new SpeechError('stalled', `${vendor} did not answer in time`, { cause })
    : signal.reason;
}
