/** Asks the control plane a question by HTTP, for which somebody waits. */
import type { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { request } from '#base/undici.ts';

/** How to reach the control plane. */
export interface ControlPlaneAccess {
  /** Its address. */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  readonly clock: Clock;
}

/** A question. */
export interface ControlPlaneQuestion<Answer extends z.ZodType> {
  /** Below the address. */
  readonly path: string;
  readonly body: object;
  readonly answer: Answer;
  readonly withinMs: number;
}

/** Rejects if no such answer comes in time. */
export async function askControlPlane<Answer extends z.ZodType>(
  { url, token, clock }: ControlPlaneAccess,
  { path, body, answer: shape, withinMs }: ControlPlaneQuestion<Answer>,
): Promise<z.output<Answer>> {
  const tooLong = new AbortController();
  const timer = clock.after(withinMs, () => tooLong.abort(new Error('no answer in time')));
  try {
    const response = await request(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: tooLong.signal,
    });
    const answer = parseJson(shape, await response.body.text());
    if (!answer) throw new Error(`answered ${response.statusCode}`);
    return answer;
  } finally {
    timer.cancel();
  }
}
