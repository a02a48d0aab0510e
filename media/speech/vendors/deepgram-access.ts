/** Access to Deepgram, for recognition and synthesis. */
import type { SpeechVendorOptions } from './speech-access.ts';

/** The authorisation header. */
export function authorization({ apiKey }: SpeechVendorOptions): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Token ${apiKey}` };
}
