/** The voice vendor's API, below `/compat/elevenlabs`. */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { resolveVoices } from '../voices/resolve-voice.ts';
import { requireListeningModel, speakingModel } from './compat-models.ts';
import { registerCompatScope, VOICE_VENDOR_STYLE } from './compat-scope.ts';
import { registerSocket } from './compat-sockets.ts';
import { languageCode } from './general-transcription.ts';
import { isUnset } from './native-options.ts';
import { registerVendorCatalogue } from './vendor-catalogue.ts';
import { DEFAULT_FORMAT, outputFormat } from './vendor-formats.ts';
import { serveVendorInput } from './vendor-input.ts';
import { serveVendorListening } from './vendor-listening.ts';
import { registerVendorSpeech } from './vendor-speech.ts';
import { registerVendorTranscription } from './vendor-transcription.ts';

const PREFIX = '/compat/elevenlabs';

/** Registers it. */
export async function registerVendorRoutes(app: ApiServer, context: Context): Promise<void> {
  await registerCompatScope(app, context, {
    prefix: PREFIX,
    style: VOICE_VENDOR_STYLE,
    routes: (scope) => {
      acceptBodies(scope, {
        kinds: ['multipart'],
        json: true,
        mostBytes: LIMITS.compatVendorBodyBytes,
        mayMiss: true,
      });
      registerVendorSpeech(scope, context);
      registerVendorTranscription(scope, context);
      registerVendorCatalogue(scope, context);
    },
  });

  registerSocket(app, context, {
    path: `${PREFIX}/v1/text-to-speech/*/stream-input`,
    style: VOICE_VENDOR_STYLE,
    read: async (query, segments, caller) => {
      const voiceId = segments.at(-2) ?? '';
      const format = query.get('output_format') ?? DEFAULT_FORMAT;
      outputFormat(format);
      const [voice = null] = await resolveVoices(context, caller, voiceId === '-' ? null : voiceId);
      return {
        voiceId,
        voice,
        format,
        model: speakingModel(query.get('model_id'), context.clock.wallTime()),
        language: languageCode(query.get('language_code')),
        withAlignment: !isUnset(query.get('sync_alignment')),
      };
    },
    serve: (seat, asked) => serveVendorInput(context, seat, asked),
  });

  registerSocket(app, context, {
    path: `${PREFIX}/v1/speech-to-text/realtime`,
    style: VOICE_VENDOR_STYLE,
    read: (query) => {
      requireListeningModel(query.get('model_id'));
      if ((query.get('commit_strategy') ?? 'manual') !== 'manual')
        throw fault('bad_request', {
          detail: 'commit_strategy must be manual: turn detection is not supported',
        });
      const rateHz = Number(
        /^pcm_(8000|16000|22050|24000|44100|48000)$/.exec(query.get('audio_format') ?? 'pcm_16000')?.[1] ?? 0,
      );
      if (rateHz === 0)
        throw fault('bad_request', {
          detail: 'audio_format must be pcm_ and a rate of 8000, 16000, 22050, 24000, 44100 or 48000 Hz',
        });
      const language = query.get('language_code');
      languageCode(language);
      return {
        modelId: query.get('model_id') ?? 'parley/transcribe-1',
        rateHz,
        language,
        withTimestamps: !isUnset(query.get('include_timestamps')),
      };
    },
    serve: (seat, asked) => serveVendorListening(context, seat, asked),
  });
}
