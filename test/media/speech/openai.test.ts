import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createOpenaiRecognizer, createOpenaiSynthesizer } from '#media/speech/vendors/openai.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type OpenaiServer, type OpenaiServerOptions, startOpenaiServer } from '#test/fakes/openai-server.ts';
import {
  buzz,
  expectStalled,
  Recording,
  recognizerConforms,
  silence,
  synthesizerConforms,
} from './conformance.ts';

const RATE = 8_000;
const opened: OpenaiServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

async function vendor(options: OpenaiServerOptions = {}): Promise<OpenaiServer> {
  const server = await startOpenaiServer(options);
  opened.push(server);
  return server;
}

const at = (server: OpenaiServer, clock = systemClock, apiKey?: string) => ({
  baseUrl: server.url,
  apiKey,
  clock,
});
const options = {
  voiceId: null,
  language: 'en',
  speed: 1,
  sampleRateHz: 24_000,
  signal: new AbortController().signal,
};

describe('recognition conformance', () => {
  recognizerConforms(async () => {
    // The test for separate streams uses the first phrase twice.
    const phrases = ['hello there', 'hello there'];
    const recognizer = createOpenaiRecognizer(
      'whisper-1',
      at(await vendor({ transcripts: phrases, firstByteMs: 10 })),
    );
    return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 600), buzz(RATE, 600)], phrases };
  });
});

describe('synthesis conformance', () => {
  synthesizerConforms(async () => createOpenaiSynthesizer(at(await vendor({ wordMs: 50, pieceMs: 5 }))));
});

describe('openai recognition', () => {
  it('sends each utterance as a WAV with the model, the language, the keyterms and the key', async () => {
    const server = await vendor({ transcripts: ['hello'], apiKey: 'k' });
    const heard = new Recording(createOpenaiRecognizer('whisper-1', at(server, systemClock, 'k')), RATE, [
      'Parley',
      'table',
    ]);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    const body = server.requests[0]!.body.toString('latin1');
    for (const part of ['whisper-1', 'Parley, table', 'RIFF', 'name="language"'])
      expect(body).toContain(part);
    expect(heard.of('final')).toMatchObject([{ text: 'hello', startMs: expect.any(Number) }]);
    heard.stream.close();
  });

  it('ends an utterance by itself after a long silence, and never sends silence', async () => {
    const server = await vendor({ transcripts: ['one', 'two'] });
    const heard = new Recording(createOpenaiRecognizer('whisper-1', at(server)), RATE);
    heard.write(silence(RATE, 3_000));
    for (let count = 0; count < 2; count++) {
      heard.write(buzz(RATE, 600));
      heard.write(silence(RATE, 2_000));
    }
    await heard.until('final', 2);
    expect(heard.finals).toBe('one two');
    expect(server.requests).toHaveLength(2);
    heard.stream.close();
  });

  it('a half-open server fails as stalled', async () => {
    const server = await vendor();
    server.fault = { halfOpen: 'headers' };
    const clock = new ManualClock();
    const heard = new Recording(createOpenaiRecognizer('whisper-1', at(server, clock)), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await expect.poll(() => server.requests.length).toBe(1);
    await expectStalled(heard, () => clock.advance(8_001));
    expect(clock.pendingTimers).toBe(0);
  });

  it('a refusal and a broken connection each fail the stream once, in their own category', async () => {
    const server = await vendor();
    for (const [fault, category] of [
      [{ status: 401 }, 'authentication'],
      [{ status: 429 }, 'overloaded'],
      [{ cut: 'headers' }, 'connectivity'],
    ] as const) {
      server.fault = fault;
      const heard = new Recording(createOpenaiRecognizer('whisper-1', at(server)), RATE);
      heard.write(buzz(RATE, 600));
      heard.stream.finalise();
      await heard.until('failed');
      expect(heard.events).toMatchObject([{ type: 'failed', error: { category } }]);
    }
  });
});

describe('openai synthesis', () => {
  it('requests PCM with the voice and the speed, and passes it on as it arrives', async () => {
    const server = await vendor({ wordMs: 100 });
    const chunks = await collect(
      createOpenaiSynthesizer(at(server)).synthesise('one two three', {
        ...options,
        voiceId: 'nova',
        speed: 1.25,
      }),
    );
    expect(server.requests[0]?.json).toMatchObject({
      input: 'one two three',
      voice: 'nova',
      response_format: 'pcm',
      speed: 1.25,
    });
    expect(chunks.reduce((sum, chunk) => sum + chunk.samples.length, 0)).toBe(3 * 2_400);
    expect(chunks[0]).toMatchObject({ sampleRateHz: 24_000, words: null });
  });

  it.each(['headers', 'body'] as const)(
    'a server that stalls before its %s fails as stalled',
    async (place) => {
      const server = await vendor();
      server.fault = { halfOpen: place };
      const clock = new ManualClock();
      let chunks = 0;
      const run = async () => {
        for await (const _ of createOpenaiSynthesizer(at(server, clock)).synthesise('one two three', options))
          chunks++;
      };
      const failed = run().catch((error: unknown) => error);
      await expect.poll(() => (place === 'headers' ? server.requests.length : chunks)).toBe(1);
      await clock.advance(5_001);
      expect(await failed).toMatchObject({ name: 'SpeechError', category: 'stalled' });
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('an abort closes the request', async () => {
    const server = await vendor();
    server.fault = { halfOpen: 'body' };
    const abort = new AbortController();
    const run = async () => {
      for await (const _ of createOpenaiSynthesizer(at(server)).synthesise('one two', {
        ...options,
        signal: abort.signal,
      }))
        abort.abort(new Error('stop'));
    };
    await expect(run()).rejects.toThrow('stop');
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });
});
