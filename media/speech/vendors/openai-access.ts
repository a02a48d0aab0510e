/** Access to OpenAI, or a server with its protocols, for recognition and synthesis. */
import type { Clock } from '#base/clock.ts';

/** The key may be absent if a base address is set. */
export interface OpenaiSpeechOptions {
  /** Ends in `/v1`; http or ws scheme. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
}

/** The authorisation header. */
export function authorization({ apiKey }: OpenaiSpeechOptions): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}
