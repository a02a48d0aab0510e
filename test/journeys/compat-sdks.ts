/**
 * Runs the vendors' own client libraries against the product; only the base address and the key differ from
 * their documentation.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { ElevenLabsClient, ElevenLabsError, RealtimeEvents } from '@elevenlabs/elevenlabs-js';
import { OpenRouter } from '@openrouter/sdk';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { beforeAll, describe, expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import type { Product } from './product.ts';
import { HEARD, type VendorStage } from './vendor-stage.ts';

/** Threads start and engines warm up, which takes time on a loaded machine. */
const LIMIT = { timeout: 180_000 };

const SPOKEN = speak(HEARD, { rateHz: 16_000, afterMs: 200 });
const WAV = toWav(SPOKEN.samples, 16_000);
const PCM = Buffer.from(SPOKEN.samples.buffer, SPOKEN.samples.byteOffset, SPOKEN.samples.byteLength);
let product: Product;

/** Describes them on a shared product. */
export function describeCompatSdks(stage: VendorStage): void {
  describe('libraries of other vendors', LIMIT, () => {
    beforeAll(() => {
      product = stage.product;
    });

    describe('the general vendor’s SDK', () => {
      const client = () =>
        new OpenAI({ baseURL: `${product.url}/compat/v1`, apiKey: product.rootKey, maxRetries: 0 });
      const file = () => new File([new Uint8Array(WAV)], 'said.wav', { type: 'audio/wav' });

      it('speaks, also with the vendor’s own model name', async () => {
        const answer = await client().audio.speech.create({
          model: 'tts-1',
          voice: 'default',
          input: 'Hello.',
          response_format: 'wav',
        });
        expect(answer.headers.get('x-generation-id')).toMatch(/^[0-9a-f]{16}$/);
        expect(
          Buffer.from(await answer.arrayBuffer())
            .subarray(0, 4)
            .toString(),
        ).toBe('RIFF');
      });

      it('transcribes, with words and subtitles', async () => {
        expect(
          (await client().audio.transcriptions.create({ model: 'parley/transcribe-1', file: file() })).text,
        ).toBe(HEARD);
        const verbose = await client().audio.transcriptions.create({
          model: 'whisper-1',
          file: file(),
          language: 'en',
          response_format: 'verbose_json',
          timestamp_granularities: ['word'],
        });
        expect(verbose).toMatchObject({ text: HEARD, language: 'en' });
        expect(verbose.words?.map(({ word }) => word).join(' ')).toBe(HEARD);
        expect(
          await client().audio.transcriptions.create({
            model: 'whisper-1',
            file: file(),
            response_format: 'srt',
          }),
        ).toContain('-->');
      });

      it('speaks and listens in chat completions', async () => {
        const audio = { voice: 'default', format: 'pcm16' } as const;
        const messages = [{ role: 'user' as const, content: 'Good morning.' }];
        const whole = await client().chat.completions.create({
          model: 'parley/s2.1-pro',
          modalities: ['text', 'audio'],
          audio,
          messages,
        });
        expect(whole.choices[0]?.message.audio?.transcript).toBe('Good morning.');
        const wholeBytes = Buffer.from(whole.choices[0]?.message.audio?.data ?? '', 'base64').length;
        expect(wholeBytes).toBeGreaterThan(10_000);
        let streamed = 0;
        for await (const chunk of await client().chat.completions.create({
          model: 'parley/s2.1-pro',
          modalities: ['text', 'audio'],
          audio,
          messages,
          stream: true,
        }))
          streamed += Buffer.from(
            (chunk.choices[0]?.delta as { audio?: { data?: string } } | undefined)?.audio?.data ?? '',
            'base64',
          ).length;
        expect(streamed).toBe(wholeBytes);
        const heard = await client().chat.completions.create({
          model: 'parley/transcribe-1',
          messages: [
            {
              role: 'user',
              content: [
                { type: 'input_audio', input_audio: { data: WAV.toString('base64'), format: 'wav' } },
              ],
            },
          ],
        });
        expect(heard.choices[0]?.message.content).toBe(HEARD);
      });

      it('lists the models and reports errors as its own', async () => {
        const models = (await client().models.list()).data.map(({ id }) => id);
        expect(models).toContain('parley/s2.1-pro');
        const unknown = client().audio.speech.create({ model: 'gpt-9', voice: 'default', input: 'Hello.' });
        await expect(unknown).rejects.toBeInstanceOf(OpenAI.BadRequestError);
        const unauthorised = new OpenAI({
          baseURL: `${product.url}/compat/openai/v1`,
          apiKey: 'nope',
          maxRetries: 0,
        });
        await expect(
          unauthorised.audio.speech.create({ model: 'tts-1', voice: 'default', input: 'a' }),
        ).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
      });

      it('speaks and listens over the realtime socket', async () => {
        // The SDK always uses wss. The product has no certificate here, so the underlying connection is plain
        // TCP.
        const createConnection = () => connect(Number(new URL(product.url).port), '127.0.0.1');
        const realtime = new OpenAIRealtimeWS(
          { model: 'parley/s2.1-pro', options: { createConnection } as object },
          client(),
        );
        const types: string[] = [];
        let audioBytes = 0;
        realtime.on('event', (event) => types.push(event.type));
        realtime.on(
          'response.output_audio.delta',
          ({ delta }) => (audioBytes += Buffer.from(delta, 'base64').length),
        );
        await once(realtime.socket, 'open');
        const item = {
          type: 'message' as const,
          role: 'user' as const,
          content: [{ type: 'input_text' as const, text: 'Good morning.' }],
        };
        realtime.send({ type: 'conversation.item.create', item });
        const done = new Promise<string | undefined>((resolve) =>
          realtime.on('response.done', ({ response }) => resolve(response.status)),
        );
        realtime.send({ type: 'response.create' });
        expect(await done).toBe('completed');
        expect(audioBytes).toBeGreaterThan(10_000);
        expect(types).toEqual(
          expect.arrayContaining([
            'session.created',
            'conversation.item.added',
            'response.created',
            'response.output_audio.done',
          ]),
        );
        const format = { type: 'audio/pcm', rate: 16_000 } as unknown as { type: 'audio/pcm' };
        realtime.send({
          type: 'session.update',
          session: { type: 'realtime', audio: { input: { format } } },
        });
        realtime.send({ type: 'input_audio_buffer.append', audio: PCM.toString('base64') });
        const heard = new Promise<string>((resolve) =>
          realtime.on('conversation.item.input_audio_transcription.completed', ({ transcript }) =>
            resolve(transcript),
          ),
        );
        realtime.send({ type: 'input_audio_buffer.commit' });
        expect(await heard).toBe(HEARD);
        realtime.close();
      });
    });

    describe('the model router’s SDK', () => {
      const client = () =>
        new OpenRouter({
          serverURL: `${product.url}/compat/api/v1`,
          apiKey: product.rootKey,
          retryConfig: { strategy: 'none' },
        });

      it('speaks, transcribes and lists models', async () => {
        const audio = await client().tts.createSpeech({
          speechRequest: { model: 'parley/s2.1-pro', input: 'Hello.', voice: '', responseFormat: 'mp3' },
        });
        expect((await new Response(audio as ReadableStream).bytes()).length).toBeGreaterThan(1_000);
        const inputAudio = { data: WAV.toString('base64'), format: 'wav' };
        expect(
          (
            await client().stt.createTranscription({
              sttRequest: { model: 'parley/transcribe-1', inputAudio },
            })
          ).text,
        ).toBe(HEARD);
        for await (const { result } of await client().models.list())
          expect(result.data.map(({ id }) => id)).toContain('parley/transcribe-1');
        const unknown = client().tts.createSpeech({
          speechRequest: { model: 'nobody/nothing', input: 'Hello.' },
        });
        await expect(unknown).rejects.toMatchObject({ statusCode: 400 });
      });
    });

    describe('the voice vendor’s SDK', () => {
      const client = () =>
        new ElevenLabsClient({
          baseUrl: `${product.url}/compat/elevenlabs`,
          apiKey: product.rootKey,
          maxRetries: 0,
        });
      const bytesOf = async (stream: unknown) =>
        (await new Response(stream as ReadableStream).bytes()).length;

      it('generates speech in all four forms', async () => {
        const text = 'Good morning.';
        const whole = await bytesOf(
          await client().textToSpeech.convert('default', {
            text,
            modelId: 'eleven_multilingual_v2',
            outputFormat: 'pcm_16000',
          }),
        );
        expect(whole).toBeGreaterThan(10_000);
        expect(
          await bytesOf(await client().textToSpeech.stream('default', { text, outputFormat: 'pcm_16000' })),
        ).toBe(whole);
        const timed = await client().textToSpeech.convertWithTimestamps('default', {
          text,
          outputFormat: 'pcm_16000',
        });
        expect(Buffer.from(timed.audioBase64, 'base64').length).toBe(whole);
        expect(timed.alignment?.characters.join('')).toMatch(/^Good morning/);
        let streamed = 0;
        const characters: string[] = [];
        for await (const chunk of await client().textToSpeech.streamWithTimestamps('default', {
          text,
          outputFormat: 'pcm_16000',
        })) {
          streamed += Buffer.from(chunk.audioBase64, 'base64').length;
          characters.push(...(chunk.alignment?.characters ?? []));
        }
        expect([streamed, characters]).toEqual([whole, timed.alignment?.characters]);
      });

      it('transcribes a file', async () => {
        const heard = await client().speechToText.convert({
          modelId: 'scribe_v1',
          file: new Blob([new Uint8Array(WAV)]),
          languageCode: 'en',
        });
        expect(heard).toMatchObject({ text: HEARD, languageCode: 'en' });
        expect(
          'words' in heard &&
            heard.words
              .filter(({ type }) => type === 'word')
              .map(({ text }) => text)
              .join(' '),
        ).toBe(HEARD);
      });

      it('transcribes over its socket when the client commits', async () => {
        const options = { modelId: 'scribe_v2_realtime', audioFormat: 'pcm_16000', sampleRate: 16_000 };
        const connection = await client().speechToText.realtime.connect(
          options as Parameters<ReturnType<typeof client>['speechToText']['realtime']['connect']>[0],
        );
        const heard = new Promise<string>((resolve) =>
          connection.on(RealtimeEvents.COMMITTED_TRANSCRIPT, (message: { text: string }) =>
            resolve(message.text),
          ),
        );
        await new Promise<void>((resolve) => connection.on(RealtimeEvents.SESSION_STARTED, () => resolve()));
        connection.send({ audioBase64: PCM.toString('base64') });
        connection.commit();
        expect(await heard).toBe(HEARD);
        connection.close();
      });

      it('lists voices and models, returns the user, and reports errors as its own', async () => {
        const { voices } = await client().voices.getAll();
        expect(voices.map(({ voiceId }) => voiceId)).toContain('local:slt');
        expect((await client().voices.search({ pageSize: 2 })).voices).toHaveLength(2);
        expect((await client().voices.get('local:slt')).name).toContain('Slt');
        expect((await client().models.list()).map(({ modelId }) => modelId)).toContain('parley/s2.1-pro');
        expect((await client().user.get()).subscription.status).toBe('active');
        const unknown = client().textToSpeech.convert('f'.repeat(32), { text: 'a' });
        await expect(unknown).rejects.toSatisfy(
          (error) =>
            error instanceof ElevenLabsError && JSON.stringify(error.body).includes('voice_not_found'),
        );
      });
    });
  });
}
