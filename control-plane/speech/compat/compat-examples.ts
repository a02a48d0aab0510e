/**
 * Example requests and answers of the compatible APIs, for the API description; a test sends each of them and
 * compares the answers.
 */
import type { CompatAnswers } from '../../platform/http/describe-api.ts';
import { vendorUser } from './vendor-user.ts';

/** Request and answer of a route; its errors are in the vendor's format. */
type CompatExample = Omit<CompatAnswers, 'refusal'>;

const JSON_TYPE = 'application/json';
const AUDIO_TYPES = ['audio/pcm', 'audio/wav', 'audio/mpeg', 'audio/ogg; codecs=opus'];
const AUDIO = { description: 'Audio, streamed as it is synthesised', answer: '(audio)' };
const FILE = '(the bytes of a WAV, MP3, FLAC, Ogg or WebM file)';
const MPEG_BASE64 = '//uQxAADkTy7Amyw0YKDmGDFpj04AAAFcOx4BAnD';

const MODEL = {
  id: 'parley/s2.1-pro',
  object: 'model',
  created: 0,
  owned_by: 'parley',
  canonical_slug: 'parley/s2.1-pro',
  name: 'Parley S2.1 Pro',
  description: 'Speech synthesis; recommended',
  context_length: null,
  architecture: {
    modality: 'text->audio',
    input_modalities: ['text'],
    output_modalities: ['speech'],
    tokenizer: 'Other',
    instruct_type: null,
  },
  pricing: { prompt: '0', completion: '0' },
  top_provider: { context_length: null, max_completion_tokens: null, is_moderated: false },
  per_request_limits: null,
  supported_parameters: [],
  supported_voices: ['default', 'local:slt'],
  default_parameters: null,
  links: { details: '/models/parley/s2.1-pro' },
};

/** Below each base address of the general vendor. */
const GENERAL: Readonly<Record<string, CompatExample>> = {
  'POST /audio/speech': {
    body: {
      model: 'parley/s2.1-pro',
      input: 'Your table is ready.',
      voice: 'default',
      response_format: 'mp3',
    },
    types: AUDIO_TYPES,
    ...AUDIO,
  },
  'POST /audio/transcriptions': {
    body: { model: 'parley/transcribe-1', file: FILE, response_format: 'json' },
    description: 'The transcript; response_format selects other formats',
    types: [JSON_TYPE],
    answer: { text: 'A table for two, please.', usage: { type: 'duration', seconds: 3 } },
  },
  'POST /chat/completions': {
    body: {
      model: 'parley/s2.1-pro',
      messages: [{ role: 'user', content: 'Your table is ready.' }],
      modalities: ['text', 'audio'],
      audio: { voice: 'default', format: 'mp3' },
    },
    description: 'The text as speech, or the transcript of the speech',
    types: [JSON_TYPE],
    answer: {
      id: 'chatcmpl-c9ee9b59e455428f',
      created: 1_767_225_600,
      model: 'parley/s2.1-pro',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            refusal: null,
            audio: {
              id: 'audio_c9ee9b59e455428f',
              expires_at: 1_767_229_200,
              data: MPEG_BASE64,
              transcript: 'Your table is ready.',
            },
          },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    },
  },
  'GET /models': {
    description: 'The models',
    types: [JSON_TYPE],
    answer: { object: 'list', data: [MODEL], total_count: 1, links: { next: null } },
  },
};

const SAID = { text: 'Your table is ready.', model_id: 'eleven_flash_v2_5', voice_settings: { speed: 1 } };
const ALIGNMENT = {
  characters: ['Y', 'o'],
  character_start_times_seconds: [0.02, 0.074],
  character_end_times_seconds: [0.074, 0.128],
};
const TIMED = { audio_base64: MPEG_BASE64, alignment: ALIGNMENT, normalized_alignment: ALIGNMENT };
const VOICE = {
  voice_id: 'default',
  name: 'Default',
  category: 'premade',
  labels: { language: 'en' },
  description: '',
  preview_url: null,
  settings: null,
};

/** Below that of the voice vendor. */
const VOICE_VENDOR: Readonly<Record<string, CompatExample>> = {
  'POST /v1/text-to-speech/:voice_id': {
    body: SAID,
    types: ['audio/mpeg', 'audio/wav', 'audio/pcm', 'audio/ogg; codecs=opus'],
    ...AUDIO,
  },
  'POST /v1/text-to-speech/:voice_id/stream': {
    body: SAID,
    types: ['audio/mpeg', 'audio/wav', 'audio/pcm', 'audio/ogg; codecs=opus'],
    ...AUDIO,
  },
  'POST /v1/text-to-speech/:voice_id/with-timestamps': {
    body: SAID,
    description: 'The audio with the time of every character',
    types: [JSON_TYPE],
    answer: TIMED,
  },
  'POST /v1/text-to-speech/:voice_id/stream/with-timestamps': {
    body: SAID,
    description: 'The same as one JSON value per line, streamed as it is synthesised',
    types: [JSON_TYPE],
    answer: TIMED,
  },
  'POST /v1/speech-to-text': {
    body: { model_id: 'scribe_v1', file: FILE },
    description: 'The transcript with the time of every word',
    types: [JSON_TYPE],
    answer: {
      language_code: 'en',
      language_probability: 0,
      text: 'A table for two, please.',
      words: [{ text: 'A', start: 0, end: 0.087, type: 'word', logprob: 0 }],
      transcription_id: 'e736f20ef453e65f',
      audio_duration_secs: 2.13,
    },
  },
  'GET /v1/voices': { description: 'The voices', types: [JSON_TYPE], answer: { voices: [VOICE] } },
  'GET /v2/voices': {
    description: 'The voices, page by page',
    types: [JSON_TYPE],
    answer: { voices: [VOICE], has_more: true, total_count: 15, next_page_token: '10' },
  },
  'GET /v1/voices/:voice_id': { description: 'A voice', types: [JSON_TYPE], answer: VOICE },
  'GET /v1/models': {
    description: 'The synthesis models',
    types: [JSON_TYPE],
    answer: [
      {
        model_id: 'parley/s2.1-pro',
        name: 'Parley S2.1 Pro',
        description: 'Speech synthesis; recommended',
        can_do_text_to_speech: true,
        can_do_voice_conversion: false,
        can_be_finetuned: false,
        can_use_style: false,
        can_use_speaker_boost: false,
        serves_pro_voices: false,
        requires_alpha_access: false,
        token_cost_factor: 1,
        languages: [{ language_id: 'en', name: 'en' }],
      },
    ],
  },
  'GET /v1/user': {
    description: 'The account of the key',
    types: [JSON_TYPE],
    answer: vendorUser({
      userId: '3d6b9f1e0c8a4275b1e4d7f92a50c863',
      workspaceId: '7d572aef7d49ca656b36a75b79008a10',
      name: 'Luigi',
    }),
  },
};

const GENERAL_REFUSAL = {
  error: {
    code: 404,
    message: 'Not found',
    type: 'invalid_request_error',
    metadata: { reason: 'not_found' },
  },
};
const VOICE_VENDOR_REFUSAL = { detail: { status: 'not_found', message: 'Not found' } };

/** The examples of a route by `METHOD /path` as registered; null for a route of our own. */
export function compatAnswersOf(name: string): CompatAnswers | null {
  const [, method, vendor, path] =
    /^(\w+) \/compat(\/elevenlabs|\/api\/v1|\/openai\/v1|\/v1)(\/.*)$/.exec(name) ?? [];
  const isVoiceVendor = vendor === '/elevenlabs';
  const example = (isVoiceVendor ? VOICE_VENDOR : GENERAL)[`${method} ${path}`];
  return example ? { ...example, refusal: isVoiceVendor ? VOICE_VENDOR_REFUSAL : GENERAL_REFUSAL } : null;
}
