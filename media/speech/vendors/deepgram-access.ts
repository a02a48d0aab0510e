/** Access to Deepgram, for recognition and synthesis. */
import type { Clock } from '#base/clock.ts';

/** One address and key for all its services. */
export interface DeepgramOptions {
  /** http or ws scheme, no path. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
}

/** The authorisation header. */
export function authorization({ apiKey }: DeepgramOptions): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Token ${apiKey}` };
}
