/** How OpenAI, or a server that speaks its protocols, is reached for listening and speaking. */
import type { Clock } from '#base/clock.ts';

/** With a base address set the key may be absent. */
export interface OpenaiSpeechOptions {
  /** Ends in `/v1`; http or ws scheme alike. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
}

/** The header of every request and connection. */
export function authorization({ apiKey }: OpenaiSpeechOptions): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}
