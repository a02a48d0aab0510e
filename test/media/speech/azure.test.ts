import { describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import type { RecognitionOptions } from '#media/speech/speech.ts';
import { createAzureRecognizer } from '#media/speech/vendors/azure.ts';
import { type AzureServer, startAzureServer } from '#test/fakes/azure-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { buzz, expectVendorsTurnOnce, Recording, recognizerConforms, silence } from './conformance.ts';
import {
  expectEndlessTurnStalls,
  expectSilenceStalls,
  expectUnopenedStalls,
  patientClock,
  recognizerFailuresConform,
  vendorsOf,
} from './vendor-conformance.ts';

const RATE = 8_000;
const vendor = vendorsOf(startAzureServer);

const recognizerAt = (
  server: AzureServer,
  clock: Clock = patientClock,
  apiKey?: string,
  model = 'conversation',
) => createAzureRecognizer(model, { baseUrl: server.url, apiKey, clock });
const listen = (server: AzureServer, clock?: Clock, apiKey?: string, rateHz = RATE) =>
  new Recording(recognizerAt(server, clock, apiKey), rateHz, ['Parley']);
const opened = (server: AzureServer) => expect.poll(() => server.connections.length, { timeout: 20_000 });
const pathsOf = (server: AzureServer, index = 0) =>
  server.connections[index]?.messages.map(({ path }) => path) ?? [];

/** Path and parameters of the connection that is opened for an agent. */
async function requested(model: string, agent: Partial<RecognitionOptions>) {
  const server = await vendor();
  const stream = recognizerAt(server, patientClock, undefined, model).open({
    sampleRateHz: RATE,
    language: 'en',
    multilingual: false,
    keyterms: [],
    onEvent: () => {},
    ...agent,
  });
  await opened(server).toBe(1);
  stream.close();
  const [{ path, query } = { path: '', query: new URLSearchParams() }] = server.connections;
  return { path, query: Object.fromEntries(query) };
}

describe('conformance', () => {
  for (const delayMs of [0, 30]) {
    describe(`answers ${delayMs} ms late`, () => {
      recognizerConforms(async () => {
        const phrases = ['what are your opening hours', 'please transfer me'];
        const server = await vendor({ lines: phrases, delayMs });
        const recognizer = recognizerAt(server);
        return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 900), buzz(RATE, 700)], phrases };
      });
    });
  }
});

describe('Azure', () => {
  it('opens the stream with the key, and tells about itself, the keyterms and each turn’s end', async () => {
    const server = await vendor({ apiKey: 'az-key' });
    const heard = listen(server, patientClock, 'az-key');
    heard.write(buzz(RATE, 300));
    heard.stream.finalise();
    await heard.until('finalised');
    await expect
      .poll(() => pathsOf(server), { timeout: 20_000 })
      .toEqual(['speech.config', 'speech.context', 'telemetry']);
    const [, context, telemetry] = server.connections[0]!.messages;
    expect(context?.['body']).toEqual({
      dgi: { groups: [{ type: 'Generic', items: [{ text: 'Parley' }] }], bias: 1 },
    });
    expect(telemetry?.['body']).toMatchObject({
      ReceivedMessages: expect.arrayContaining([{ 'turn.end': expect.any(String) }]),
      Metrics: [{ Name: 'Connection' }, { Name: 'Microphone' }],
    });
    heard.stream.close();
  });

  it('the locale of an agent’s language is asked for, in the mode that is the model’s name', async () => {
    expect(await requested('dictation', { language: 'pt' })).toEqual({
      path: '/speech/recognition/dictation/cognitiveservices/v1',
      query: { language: 'pt-BR', format: 'simple' },
    });
  });

  it('any other model is the deployment of a custom one, which has its own language', async () => {
    expect(await requested('0f1e-77', {})).toEqual({
      path: '/speech/recognition/conversation/cognitiveservices/v1',
      query: { cid: '0f1e-77', format: 'simple' },
    });
  });

  it('reports words as they arrive, and each vendor-ended phrase once, with its times', async () => {
    const server = await vendor({ lines: ['book a table'] });
    await expectVendorsTurnOnce(listen(server), RATE);
  });

  it('times count from the start of the stream, over several turns', async () => {
    const server = await vendor();
    const heard = listen(server);
    for (const count of [1, 2]) {
      heard.write(buzz(RATE, 600));
      heard.stream.finalise();
      await heard.until('finalised', count);
    }
    expect(heard.of('final')).toMatchObject([{ startMs: 0 }, { startMs: 1_000, endMs: 1_150 }]);
    heard.stream.close();
  });

  it('loses no audio written while the connection opens or a turn ends', async () => {
    const server = await vendor({ delayMs: 30 });
    const heard = listen(server);
    for (const ms of [600, 800, 600]) {
      heard.write(buzz(RATE, ms));
      heard.stream.finalise();
    }
    await heard.until('finalised', 3);
    expect(heard.finals).toBe('hello hello hello');
    expect(server.connections[0]!.audioBytes).toBe(3.2 * RATE * 2);
    heard.stream.close();
  });

  it('audio of a browser arrives at 16 kHz', async () => {
    const server = await vendor();
    const heard = listen(server, patientClock, undefined, 48_000);
    heard.write(buzz(48_000, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('hello');
    expect(server.connections[0]!.audioBytes).toBeCloseTo(16_000 * 2, -3);
    heard.stream.close();
  });

  it('words without a phrase count when the turn has ended', async () => {
    const server = await vendor({ lines: ['yes please'], hasNoPhrase: true });
    const heard = listen(server);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('yes');
    heard.stream.close();
  });

  it('a turn that the vendor ends by itself is followed by another one', async () => {
    const server = await vendor({ lines: ['good morning'] });
    const heard = listen(server);
    heard.write(silence(RATE, 400));
    await expect.poll(() => server.connections[0]?.audioBytes, { timeout: 20_000 }).toBeGreaterThan(5_000);
    server.endTurns('well');
    await heard.until('final');
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('well good morning');
    heard.stream.close();
  });

  it('a connection is replaced before the vendor ends it, without losing a word', async () => {
    const server = await vendor();
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(silence(RATE, 300));
    await expect.poll(() => server.connections[0]?.audioBytes, { timeout: 20_000 }).toBeGreaterThan(4_000);
    await clock.advance(540_001);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('hello');
    expect(heard.of('final')).toMatchObject([{ startMs: 300 }]);
    expect(server.connections).toHaveLength(2);
    await expect.poll(() => server.connections[0]?.isOpen, { timeout: 20_000 }).toBe(false);
    heard.stream.close();
  });

  it('a turn that never ends is reported as stalled', async () => {
    const server = await vendor({ isEndless: true });
    await expectEndlessTurnStalls((clock) => listen(server, clock), RATE);
  });

  it('a socket that never opens is reported as stalled', async () => {
    await expectUnopenedStalls(await vendor(), listen);
  });

  it.each([true, false])(
    'a socket that accepts speech and answers nothing stalls, finalised %s',
    async (asks) => {
      await expectSilenceStalls(await vendor(), listen, { rateHz: RATE, asks, sentMs: 960 });
    },
  );

  it('a refused key names the settings to check', async () => {
    const heard = listen(await vendor({ apiKey: 'right' }), patientClock, 'wrong');
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([
      {
        error: { category: 'authentication', message: expect.stringMatching(/AZURE_API_KEY.*AZURE_REGION/) },
      },
    ]);
    expect(JSON.stringify(heard.events)).not.toContain('wrong');
  });

  it.each([
    ['Forbidden', 'quota'],
    ['TooManyRequests', 'overloaded'],
    ['BadRequest', 'bad_request'],
    ['Error', 'unavailable'],
  ])('a phrase of the status %s is %s', async (status, category) => {
    const heard = listen(await vendor({ status }));
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([{ error: { category } }]);
  });

  it.each([
    [1007, 'bad_request'],
    [4429, 'overloaded'],
    [1011, 'connectivity'],
  ])('the close code %i is %s', async (code, category) => {
    const server = await vendor();
    const heard = listen(server);
    await opened(server).toBe(1);
    server.breakDown(code);
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([{ error: { category } }]);
  });

  it('a recording is transcribed by one request, with its speakers if they are wanted', async () => {
    const recognizer = recognizerAt(await vendor({ apiKey: 'k' }), patientClock, 'k');
    const request = {
      samples: silence(RATE, 2_000),
      sampleRateHz: RATE,
      language: 'en',
      diarize: true,
      signal: new AbortController().signal,
    };
    expect(await recognizer.transcribe?.(request)).toEqual({
      stretches: [
        { text: 'Good morning.', startMs: 0, endMs: 800, speaker: 0 },
        { text: 'Hello.', startMs: 1_000, endMs: 1_800, speaker: 1 },
      ],
      language: 'en',
    });
    expect(await recognizer.transcribe?.({ ...request, language: null, diarize: false })).toMatchObject({
      stretches: [{ speaker: null }, { speaker: null }],
      language: 'de',
    });
  });

  it('a refused recording names the settings to check, and a broken one the connection', async () => {
    const server = await vendor({ apiKey: 'k' });
    const transcribe = (apiKey: string) =>
      recognizerAt(server, patientClock, apiKey).transcribe?.({
        samples: silence(RATE, 100),
        sampleRateHz: RATE,
        language: 'en',
        diarize: false,
        signal: new AbortController().signal,
      });
    await expect(transcribe('wrong')).rejects.toMatchObject({
      category: 'authentication',
      message: expect.stringContaining('AZURE_API_KEY'),
    });
    await server.close();
    await expect(transcribe('k')).rejects.toMatchObject({ category: 'connectivity' });
  });

  recognizerFailuresConform(vendor, (server, apiKey) => listen(server as AzureServer, patientClock, apiKey));
});
