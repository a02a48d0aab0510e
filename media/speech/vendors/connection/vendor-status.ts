/** Meaning of a speech vendor's HTTP status, the same for every vendor. */
import { SpeechError, type SpeechErrorCategory } from '../../speech.ts';

/** The category of an HTTP status. */
export function categoryOf(status: number): SpeechErrorCategory {
  if (status === 401 || status === 403) return 'authentication';
  if (status === 402) return 'quota';
  if (status === 429 || status === 503) return 'overloaded';
  return status >= 500 ? 'unavailable' : 'bad_request';
}

/** The error for a refusal with an HTTP status; a refused key gets the advice, if there is some. */
export function refusal(status: number, message: string, keyAdvice?: string): SpeechError {
  const category = categoryOf(status);
  const isAdvised = category === 'authentication' && keyAdvice !== undefined;
  return new SpeechError(category, isAdvised ? `${message}: ${keyAdvice}` : message);
}
