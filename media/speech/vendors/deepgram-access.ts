/** Access to Deepgram, for recognition and synthesis. */
import type { SpeechVendorOptions } from './speech-access.ts';

/** Languages of the vendor's multilingual models (`language=multi`, `flux-general-multi`). */
export const MULTILINGUAL: ReadonlySet<string> = new Set([
  'en',
  'es',
  'fr',
  'de',
  'hi',
  'ru',
  'pt',
  'ja',
  'it',
  'nl',
]);

/** The authorisation header. */
export function authorization({ apiKey }: SpeechVendorOptions): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Token ${apiKey}` };
}
