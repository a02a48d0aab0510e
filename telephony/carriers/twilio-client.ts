/** Access to an account at Twilio through its SDK. */
import pRetry from 'p-retry';
import twilio from 'twilio';
import { TwilioFailure, type TwilioFailureKind, toFault, toTwilioFailure } from './twilio-failure.ts';

/** An account, and how to reach Twilio. */
export interface TwilioAccess {
  readonly accountSid: string;
  readonly authToken: string;
  /** Replaces `https://*.twilio.com`; paths stay the same. */
  readonly baseUrl?: string | undefined;
  /** Timeout of one request. */
  readonly timeoutMs?: number;
}

/** The SDK's client. */
export type TwilioClient = ReturnType<typeof createTwilioClient>;

/** Calls and messages of numbers that were bought in its console go there. */
const DEMO = 'https://demo.twilio.com/';
const TIMEOUT_MS = 8_000;
const MAX_ANSWER_BYTES = 4_000_000;
// Few attempts: a purchase that takes more than a minute counts as interrupted, and its number is released.
const RETRIES = 1;
const FIRST_WAIT_MS = 250;
/** Failures after which a request is repeated if it is safe to repeat. */
export const PASSING: ReadonlySet<TwilioFailureKind> = new Set(['busy', 'unsent', 'failed', 'silent']);

/** Creates the SDK's client; sends nothing before it is used. */
export function createTwilioClient({ accountSid, authToken, baseUrl, timeoutMs }: TwilioAccess) {
  const httpClient = requestClient(baseUrl, timeoutMs ?? TIMEOUT_MS);
  // Otherwise the SDK could print requests because of an environment variable.
  return twilio(accountSid, authToken, { httpClient, logLevel: 'error' });
}

/**
 * The SDK's own client, with the size of answers limited; sends all requests to another base address if one
 * is set.
 */
function requestClient(baseUrl: string | undefined, timeoutMs: number): twilio.RequestClient {
  const client = new twilio.RequestClient({ timeout: timeoutMs });
  client.axios.defaults.maxContentLength = MAX_ANSWER_BYTES;
  if (baseUrl !== undefined) {
    client.axios.interceptors.request.use((config) => {
      const { pathname, search: query } = new URL(config.url ?? '/', baseUrl);
      config.url = `${baseUrl}${pathname}${query}`;
      return config;
    });
  }
  return client;
}

/**
 * Where the calls or messages of a number go: the first of these settings that is not empty; null if nowhere.
 */
export function targetOf(...settings: readonly (string | null | undefined)[]): string | null {
  const target = settings.find(Boolean) ?? '';
  return target === '' || target.startsWith(DEMO) ? null : target;
}

/** Sends a request and repeats it after failures of these kinds. Throws `TwilioFailure`. */
export function withRetries<Result>(
  again: ReadonlySet<TwilioFailureKind>,
  ask: () => Promise<Result>,
): Promise<Result> {
  const attempt = async () => {
    try {
      return await ask();
    } catch (error) {
      throw toTwilioFailure(error);
    }
  };
  const shouldRetry = ({ error }: { error: Error }) =>
    error instanceof TwilioFailure && again.has(error.kind);
  return pRetry(attempt, { retries: RETRIES, minTimeout: FIRST_WAIT_MS, randomize: true, shouldRetry });
}

/** Does it, and throws the fault of a failure. */
export async function asFault<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof TwilioFailure ? toFault(error) : error;
  }
}
