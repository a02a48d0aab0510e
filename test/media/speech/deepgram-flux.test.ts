import { describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import type { RecognitionOptions } from '#media/speech/speech.ts';
import { createDeepgramRecognizer } from '#media/speech/vendors/deepgram.ts';
import { type FluxServer, startFluxServer } from '#test/fakes/deepgram-flux-server.ts';
import { buzz, expectVendorsTurnOnce, Recording, recognizerConforms } from './conformance.ts';
import {
  expectEndlessTurnStalls,
  expectSilenceStalls,
  expectUnopenedStalls,
  patientClock,
  recognizerFailuresConform,
  vendorsOf,
} from './vendor-conformance.ts';

const RATE = 8_000;
const ENGLISH = 'flux-general-en';
const MULTILINGUAL = 'flux-general-multi';
const vendor = vendorsOf(startFluxServer);

const recognizerAt = (server: FluxServer, model: string, clock: Clock = patientClock, apiKey?: string) =>
  createDeepgramRecognizer(model, { baseUrl: server.url, apiKey, clock });
const listen = (server: FluxServer, clock?: Clock, apiKey?: string, model = ENGLISH) =>
  new Recording(recognizerAt(server, model, clock, apiKey), RATE, ['Parley']);
const typesOf = (server: FluxServer) => server.connections[0]?.messages.map(({ type }) => type) ?? [];

/** Parameters of the connection that is opened for an agent. */
async function requested(model: string, agent: Partial<RecognitionOptions>): Promise<Record<string, string>> {
  const server = await vendor();
  const stream = recognizerAt(server, model).open({
    sampleRateHz: RATE,
    language: 'en',
    multilingual: false,
    keyterms: [],
    onEvent: () => {},
    ...agent,
  });
  await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(1);
  stream.close();
  return Object.fromEntries(server.connections[0]!.query);
}

describe('conformance', () => {
  for (const delayMs of [0, 30]) {
    describe(`answers ${delayMs} ms late`, () => {
      recognizerConforms(async () => {
        const phrases = ['what are your opening hours', 'please transfer me'];
        const server = await vendor({ lines: phrases, delayMs });
        const recognizer = recognizerAt(server, ENGLISH);
        return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 900), buzz(RATE, 700)], phrases };
      });
    });
  }
});

describe('Flux', () => {
  it('opens the stream with the key, the format of the audio and the keyterms', async () => {
    const server = await vendor({ apiKey: 'dg-key' });
    const heard = listen(server, patientClock, 'dg-key');
    heard.write(buzz(RATE, 300));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(server.connections[0]?.path).toBe('/v2/listen');
    expect(Object.fromEntries(server.connections[0]!.query)).toEqual({
      model: ENGLISH,
      encoding: 'linear16',
      sample_rate: '8000',
      keyterm: 'Parley',
    });
    heard.stream.close();
    await expect.poll(() => typesOf(server).at(-1), { timeout: 20_000 }).toBe('CloseStream');
  });

  it('another language than English is recognised by the multilingual model, with a hint', async () => {
    expect(await requested(ENGLISH, { language: 'de' })).toMatchObject({
      model: MULTILINGUAL,
      language_hint: 'de',
    });
  });

  it('a multilingual agent gets the multilingual model without a hint', async () => {
    const query = await requested(ENGLISH, { multilingual: true });
    expect(query['model']).toBe(MULTILINGUAL);
    expect(query).not.toHaveProperty('language_hint');
  });

  it('a language that the vendor does not know is no hint, which it would refuse', async () => {
    expect(await requested(MULTILINGUAL, { language: 'pl' })).not.toHaveProperty('language_hint');
  });

  it('reports words as they arrive, and each vendor-ended turn once, with its times', async () => {
    const server = await vendor({ lines: ['book a table'] });
    await expectVendorsTurnOnce(listen(server), RATE);
  });

  it('without times of words, a final has those of its audio', async () => {
    const server = await vendor({ hasNoTimes: true });
    const heard = listen(server);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('final');
    expect(heard.of('final')).toMatchObject([{ startMs: 0, endMs: 1_000 }]);
    heard.stream.close();
  });

  it('the multilingual model reports the language of each turn', async () => {
    const server = await vendor({ lines: ['guten tag'], languages: ['de', 'en'] });
    const heard = listen(server, patientClock, undefined, MULTILINGUAL);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('final');
    expect(heard.of('final')).toMatchObject([{ text: 'guten tag', language: 'de' }]);
    heard.stream.close();
  });

  it('words that begin after the request to settle are settled by another request', async () => {
    const server = await vendor({ isLate: true, lines: ['yes'] });
    const heard = listen(server);
    heard.write(buzz(RATE, 300));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('yes');
    expect(typesOf(server)).toEqual(['ForceEndTurn', 'ForceEndTurn']);
    heard.stream.close();
  });

  it('loses no audio written while the connection opens', async () => {
    const server = await vendor();
    const heard = listen(server);
    heard.write(buzz(RATE, 630));
    heard.stream.finalise();
    await heard.until('finalised');
    // 1,030 ms in frames of 20 ms: the last one is padded.
    expect(server.connections[0]!.audioBytes).toBe(1.04 * RATE * 2);
    heard.stream.close();
  });

  it('a turn with words that never ends is reported as stalled', async () => {
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

  it('a model that the vendor does not know is refused for good', async () => {
    const server = await vendor();
    const heard = listen(server, patientClock, undefined, 'flux-general-xx');
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([{ error: { category: 'bad_request', retryable: false } }]);
  });

  it('an error that the vendor reports fails the stream once, with its code', async () => {
    const server = await vendor();
    const heard = listen(server);
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(1);
    server.breakDown();
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([
      { error: { category: 'unavailable', message: 'Deepgram reported INTERNAL_SERVER_ERROR: a fault' } },
    ]);
  });

  it('recordings are not offered to it: it is live only', async () => {
    expect(recognizerAt(await vendor(), ENGLISH).transcribe).toBeUndefined();
  });

  recognizerFailuresConform(vendor, (server, apiKey) => listen(server as FluxServer, patientClock, apiKey));
});
