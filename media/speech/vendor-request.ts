/** One HTTP request to a speech vendor; whatever fails is a `SpeechError`. */
import { SpeechError } from './speech.ts';
import { categoryOf } from './vendor-status.ts';

/** What is asked. */
export interface VendorRequest {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly url: string | URL;
  readonly method: 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: FormData | Uint8Array<ArrayBuffer>;
  /**
   * Aborted with a `TimeoutError` (`AbortSignal.timeout`), the request is `stalled`; any other reason is
   * thrown as it is.
   */
  readonly signal: AbortSignal;
}

/** The successful answer, its body unread. */
export async function requestVendor({
  vendor,
  url,
  method,
  headers,
  body,
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
  throw new SpeechError(categoryOf(response.status), `${vendor} answered HTTP ${response.status}`);
}

/** What a broken request or body is thrown as. */
export function asSpeechError(vendor: string, cause: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted)
    return cause instanceof SpeechError
      ? cause
      : new SpeechError('connectivity', `${vendor} could not be reached or broke off`, { cause });
  const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  return isTimeout
    ? new SpeechError('stalled', `${vendor} did not answer in time`, { cause })
    : signal.reason;
}
