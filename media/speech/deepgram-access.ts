/** How Deepgram is reached, for listening and speaking. */
import type { Clock } from '#base/clock.ts';

/** One address and key for every service. */
export interface DeepgramOptions {
  /** http or ws scheme alike, no path. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
}

/** The header of every request and connection. */
export function authorization({ apiKey }: DeepgramOptions): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Token ${apiKey}` };
}
