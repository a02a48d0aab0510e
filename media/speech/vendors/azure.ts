/**
 * Live recognition by Azure's Speech service: phrases with interim words.
 *
 * Source: Microsoft's page "Speech Service WebSocket protocol".
 */
import type { RecognitionOptions, Recognizer } from '../speech.ts';
import { authorization, partAddress } from './azure-access.ts';
import { AzureConnection } from './azure-connection.ts';
import { transcribeRecording } from './azure-recording.ts';
import { TurnStream, turnRateHz } from './connection/turn-stream.ts';
import { socketUrl } from './connection/vendor-socket.ts';
import { localeOf } from './locales.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** At most 8,192 bytes of audio may be sent in one message. */
const MESSAGE_MS = 60;
/** The vendor's recognition modes; any other model is the deployment of a custom one. */
const MODES: readonly string[] = ['conversation', 'dictation', 'interactive'];

/** Creates the recogniser of a mode, or of a custom model by the id of its deployment. */
export function createAzureRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  const { clock } = options;
  return {
    id: `azure:${model}`,
    givesInterims: true,
    expectedFinalMs: 500,
    open(recognition) {
      const { keyterms, sampleRateHz } = recognition;
      const connection = {
        url: listenUrl(options.baseUrl, model, recognition),
        headers: authorization(options),
        rateHz: turnRateHz(sampleRateHz),
        keyterms,
        clock,
      };
      return new TurnStream(
        {
          vendor: 'Azure',
          clock,
          messageMs: MESSAGE_MS,
          connect: (onEvent) => new AzureConnection({ ...connection, onEvent }),
        },
        recognition,
      );
    },
    // Another service, which has no custom models.
    transcribe: (request) => transcribeRecording(options, request),
  };
}

function listenUrl(baseUrl: string, model: string, { language }: RecognitionOptions): URL {
  const isMode = MODES.includes(model);
  const path = `/speech/recognition/${isMode ? model : 'conversation'}/cognitiveservices/v1`;
  return socketUrl(partAddress(baseUrl, 'stt'), path, {
    // A custom model has its own language.
    language: isMode ? localeOf(language) : undefined,
    cid: isMode ? undefined : model,
    format: 'simple',
  });
}
