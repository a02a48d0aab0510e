/**
 * Live recognition by Google Cloud's Speech-to-Text, with interim words and times. Google offers it by gRPC
 * only.
 */
import type { Recognizer } from '../speech.ts';
import { TurnStream, turnRateHz } from './connection/turn-stream.ts';
import { apiAddress, GoogleCredentials } from './google-access.ts';
import { GoogleConnection } from './google-connection.ts';
import { localeOf } from './locales.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** The vendor recommends messages of this length. */
const MESSAGE_MS = 100;
/** The vendor's codes for recognition, where they are not the usual ones. */
const LOCALES: Readonly<Record<string, string>> = {
  no: 'no-NO',
  he: 'iw-IL',
  zh: 'cmn-Hans-CN',
  ur: 'ur-PK',
};

/** Creates the recogniser of one of Google's models. */
export function createGoogleRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  const { clock } = options;
  const credentials = new GoogleCredentials(options, 'speech');
  return {
    id: `google_cloud:${model}`,
    givesInterims: true,
    expectedFinalMs: 600,
    open(recognition) {
      const connection = {
        url: apiAddress(options.baseUrl, 'speech'),
        credentials,
        config: {
          rateHz: turnRateHz(recognition.sampleRateHz),
          locale: LOCALES[recognition.language] ?? localeOf(recognition.language),
          model,
          phrases: recognition.keyterms,
        },
        clock,
      };
      return new TurnStream(
        {
          vendor: 'Google',
          clock,
          messageMs: MESSAGE_MS,
          connect: (onEvent) => new GoogleConnection({ ...connection, onEvent }),
        },
        recognition,
      );
    },
  };
}
