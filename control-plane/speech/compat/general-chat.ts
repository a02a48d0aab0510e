/**
 * `POST …/chat/completions` for speech only: synthesises text or transcribes audio, without a language model.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { hearRecording } from '../requests/heard-recording.ts';
import { startSpeech } from '../requests/spoken-answer.ts';
import { requireListeningModel, speakingModel } from './compat-models.ts';
import { OWN_KEY } from './compat-scope.ts';
import { generalRequest, voiceField, voiceId } from './general-speech.ts';
import { checkedAudio, fromBase64 } from './general-transcription.ts';
import { refuseNative } from './native-options.ts';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  input_audio: z.looseObject({ data: z.string() }).optional(),
});
const chatBody = z.looseObject({
  model: z.string(),
  messages: z
    .array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]).nullish() }))
    .min(1),
  modalities: z.array(z.enum(['text', 'audio'])).nullish(),
  audio: z
    .looseObject({ voice: voiceField, format: z.string().nullish() })
    .nullish()
    .meta({ description: 'format: pcm16 (the default), pcm, wav, mp3 or opus' }),
  n: z.literal(1, 'must be 1').nullish(),
  stream: z.boolean().nullish(),
});
type ChatBody = z.output<typeof chatBody>;

/** How long the vendor would keep the audio for a later turn, s; we do not keep it. */
const AUDIO_EXPIRES_SECONDS = 3_600;
const NO_TOKENS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Registers it. */
export function registerGeneralChat(scope: ApiServer, context: Context): void {
  const schema = {
    tags: ['compatible'],
    description:
      'Speech through chat completions: the last user message is spoken verbatim (modalities text and ' +
      'audio), or its input_audio is transcribed.',
    body: chatBody,
  };
  scope.post(
    '/chat/completions',
    { bodyLimit: LIMITS.compatSpeechBodyBytes, config: { ...OWN_KEY, isAudited: false }, schema },
    async (request, reply) => {
      const { text, audio } = lastWords(request.body);
      const wantsAudio = request.body.modalities?.includes('audio') ?? false;
      if (audio !== null && wantsAudio)
        throw fault('bad_request', {
          detail: 'Audio goes one way in a request: send text for speech, or audio for its text',
        });
      if (audio === null && !wantsAudio)
        throw fault('bad_request', {
          detail:
            'Only speech is served here: ask for modalities ["text","audio"], or send an input_audio part',
        });
      const asked: ChatRequest = {
        body: request.body,
        headers: request.headers,
        caller: callerOf(request),
        requestId: request.id,
        head: {
          id: `chatcmpl-${request.id}`,
          created: Math.floor(context.clock.wallTime() / 1_000),
          model: request.body.model,
        },
      };
      return audio === null
        ? sayInChat(context, reply, asked, text)
        : hearInChat(context, reply, asked, audio);
    },
  );
}

interface ChatRequest {
  readonly body: ChatBody;
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller;
  readonly requestId: string;
  readonly head: CompletionHead;
}

async function hearInChat(
  context: Context,
  reply: FastifyReply,
  { body, headers, head, ...asked }: ChatRequest,
  audio: Buffer,
) {
  requireListeningModel(body.model);
  refuseNative({ headers, body });
  const transcript = await hearRecording(context, reply, {
    ...asked,
    audio: checkedAudio(audio),
    language: null,
  });
  if (body.stream) return sendEvents(reply, heardEvents(head, transcript.text));
  return completion(head, { role: 'assistant', content: transcript.text, refusal: null });
}

async function sayInChat(
  context: Context,
  reply: FastifyReply,
  { body, headers, head, ...asked }: ChatRequest,
  text: string,
) {
  const spoken = generalRequest(
    { text, voice: voiceId(body.audio?.voice), format: body.audio?.format ?? 'pcm16' },
    { headers, body },
  );
  const pieces = await startSpeech(context, reply, {
    ...asked,
    model: speakingModel(body.model, context.clock.wallTime()),
    request: spoken,
  });
  const made = { id: `audio_${asked.requestId}`, expires_at: head.created + AUDIO_EXPIRES_SECONDS };
  if (body.stream) return sendEvents(reply, spokenEvents(head, made, text, pieces));
  const audio: Uint8Array[] = [];
  for await (const piece of pieces) audio.push(piece.bytes);
  const data = Buffer.concat(audio).toString('base64');
  return completion(head, {
    role: 'assistant',
    content: null,
    refusal: null,
    audio: { ...made, data, transcript: text },
  });
}

/** Text of the user's last message. */
function lastWords({ messages }: ChatBody): { text: string; audio: Buffer | null } {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const text = parts
    .flatMap((one) => (one.type === 'text' && one.text !== undefined ? [one.text] : []))
    .join('\n');
  const heard = parts.filter(({ type }) => type === 'input_audio');
  if (heard.length > 1)
    throw fault('bad_request', { detail: 'One input_audio part is transcribed at a time' });
  const [sent] = heard;
  if (!sent) return { text, audio: null };
  const audio = fromBase64('input_audio' in sent ? sent.input_audio?.data : undefined);
  if (!audio) throw fault('bad_request', { detail: 'input_audio has no data' });
  return { text, audio };
}

interface CompletionHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

function completion(head: CompletionHead, message: object) {
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
    usage: NO_TOKENS,
  };
}

function sendEvents(reply: FastifyReply, events: AsyncIterable<string>) {
  return reply.type('text/event-stream').send(Readable.from(events, { objectMode: false }));
}

function event(head: CompletionHead, delta: object, finish_reason: 'stop' | null = null): string {
  const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

async function* heardEvents(head: CompletionHead, text: string) {
  yield event(head, { role: 'assistant', content: text });
  yield event(head, {}, 'stop');
  yield 'data: [DONE]\n\n';
}

async function* spokenEvents(
  head: CompletionHead,
  { id, expires_at }: { id: string; expires_at: number },
  text: string,
  pieces: AsyncIterable<AudioPiece>,
) {
  yield event(head, { role: 'assistant', audio: { id, transcript: text } });
  for await (const { bytes } of pieces)
    if (bytes.length > 0) yield event(head, { audio: { id, data: Buffer.from(bytes).toString('base64') } });
  yield event(head, { audio: { id, expires_at } }, 'stop');
  yield 'data: [DONE]\n\n';
}
