/** One request that a tenant sends to their own server to try it: a tool's or a test event of a webhook. */
import { z } from 'zod';
import { EgressRefused, EgressTimeout, type GuardedResponse } from '#base/egress.ts';
import type { Context } from '../context.ts';

/** The result; without a response, `error` gives the reason and the response fields are empty. */
export const triedRequest = z.object({
  status_code: z.number().int().nullable(),
  latency_ms: z.number().int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  response_truncated: z.boolean(),
  error: z.string().nullable(),
});

/** Sends the request and reports its outcome. Never rejects. */
export async function tryRequest(
  { clock }: Pick<Context, 'clock'>,
  send: () => Promise<GuardedResponse>,
): Promise<z.output<typeof triedRequest>> {
  const startedMs = clock.now();
  const latency = () => ({ latency_ms: Math.round(clock.now() - startedMs) });
  try {
    const response = await send();
    return {
      status_code: response.status,
      ...latency(),
      headers: { ...response.headers },
      body: response.body.toString('utf8'),
      response_truncated: response.isTruncated,
      error: null,
    };
  } catch (error) {
    return {
      status_code: null,
      ...latency(),
      headers: {},
      body: '',
      response_truncated: false,
      error: wordsFor(error),
    };
  }
}

/**
 * Returns only text that cannot contain a credential, because HTTP clients may quote an invalid header in
 * their errors.
 */
function wordsFor(error: unknown): string {
  if (error instanceof EgressRefused || error instanceof EgressTimeout) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? `The request failed (${code})` : 'The request could not be sent';
}
