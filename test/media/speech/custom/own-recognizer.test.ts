import { afterEach, describe, expect, it } from 'vitest';
import { startJambonzServer } from '#test/fakes/jambonz-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type OpenaiServer, startOpenaiServer } from '#test/fakes/openai-server.ts';
import type { VendorServer } from '#test/fakes/vendor-sockets.ts';
import { buzz, expectStalled, Recording, recognizerConforms, silence } from '../conformance.ts';
import { recognizerFailuresConform, vendorsOf } from '../vendor-conformance.ts';
import { ownRecognizer } from './own-engines.ts';

const RATE = 8_000;
const vendor = vendorsOf(startJambonzServer);
const openai: OpenaiServer[] = [];
afterEach(async () => {
  for (const server of openai.splice(0)) await server.close();
});

const typesOf = (server: VendorServer) =>
  server.connections.map(({ messages }) => messages.map(({ type }) => type));

describe('an own recogniser with jambonz’ protocol: conformance', () => {
  for (const delayMs of [0, 30]) {
    describe(`answers ${delayMs} ms late`, () => {
      recognizerConforms(async () => {
        // The test for separate streams uses the first phrase twice.
        const phrases = ['hello there', 'hello there'];
        const { sttUrl: url } = await vendor({ lines: phrases, delayMs });
        return {
          recognizer: ownRecognizer({ url }),
          sampleRateHz: RATE,
          speech: [buzz(RATE, 600), buzz(RATE, 600)],
          phrases,
        };
      });
    });
  }
  recognizerFailuresConform(
    vendor,
    (server, api_key) => new Recording(ownRecognizer({ url: `${server.url}/stt`, api_key }), RATE),
  );
});

describe('an own recogniser with OpenAI’s protocol: conformance', () => {
  recognizerConforms(async () => {
    const phrases = ['hello there', 'hello there'];
    const server = await startOpenaiServer({ transcripts: phrases, firstByteMs: 10 });
    openai.push(server);
    return {
      recognizer: ownRecognizer({ protocol: 'openai', url: server.url }),
      sampleRateHz: RATE,
      speech: [buzz(RATE, 600), buzz(RATE, 600)],
      phrases,
    };
  });
});

describe('an own recogniser with jambonz’ protocol', () => {
  it('opens with the documented start message, the key, the model and the keyterms', async () => {
    const { sttUrl: url, connections } = await vendor({ apiKey: 'k' });
    const own = ownRecognizer({ url: `${url}?tenant=7`, api_key: 'k', language: 'en-GB', model: 'm' });
    const heard = new Recording(own, RATE, ['Parley']);
    heard.write(buzz(RATE, 300));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(connections[0]?.query.get('tenant')).toBe('7');
    expect(connections[0]?.messages).toEqual([
      {
        type: 'start',
        language: 'en-GB',
        format: 'raw',
        encoding: 'LINEAR16',
        interimResults: true,
        sampleRateHz: 8_000,
        options: { model: 'm', hints: ['Parley'] },
      },
      { type: 'stop' },
    ]);
    heard.stream.close();
  });

  it.each([
    [16_000, 8_000],
    [8_000, 16_000],
  ] as const)('audio of a call at %i Hz is sent at the configured %i Hz', async (rateHz, sentHz) => {
    const { sttUrl: url, connections } = await vendor();
    const heard = new Recording(ownRecognizer({ url, sample_rate_hz: sentHz }), rateHz);
    heard.write(buzz(rateHz, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('hello');
    // The resampler holds back less than a frame.
    expect(Math.abs((connections[0]?.audioBytes ?? 0) - 2 * sentHz)).toBeLessThan(sentHz / 25);
    heard.stream.close();
  });

  it('reports interims while the caller speaks, and the server’s own finals, on one connection', async () => {
    const server = await vendor({ lines: ['opening hours', 'on friday'] });
    const heard = new Recording(ownRecognizer({ url: server.sttUrl }), RATE);
    for (let count = 1; count <= 2; count++) {
      heard.write(buzz(RATE, 1_500));
      heard.write(silence(RATE, 500));
      await heard.until('final', count);
    }
    expect(heard.finals).toBe('opening hours on friday');
    expect(heard.of('interim').length).toBeGreaterThan(2);
    expect(server.connections).toHaveLength(1);
    heard.stream.close();
    await expect.poll(() => typesOf(server)).toEqual([['start', 'stop']]);
  });

  it('the results of the next utterance wait for those of the one before', async () => {
    const { sttUrl: url, connections } = await vendor({ lines: ['one', 'two'], delayMs: 100 });
    const heard = new Recording(ownRecognizer({ url }), RATE);
    for (let count = 0; count < 2; count++) {
      heard.write(buzz(RATE, 600));
      heard.stream.finalise();
    }
    await heard.until('finalised', 2);
    expect(heard.events.filter(({ type }) => type !== 'interim')).toMatchObject([
      { type: 'final', text: 'one', language: 'en-US' },
      { type: 'finalised' },
      { type: 'final', text: 'two' },
      { type: 'finalised' },
    ]);
    expect(connections).toHaveLength(2);
    heard.stream.close();
  });

  it('silence is not settled by a server that refuses the connection, so a probe finds it', async () => {
    const server = await vendor();
    server.fault = { status: 500 };
    const heard = new Recording(ownRecognizer({ url: server.sttUrl }), RATE);
    heard.write(silence(RATE, 100));
    heard.stream.finalise();
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ type: 'failed', error: { category: 'unavailable' } }]);
  });

  it('silence needs no answer of the server', async () => {
    const server = await vendor();
    server.fault = { halfOpen: 'answers' };
    const clock = new ManualClock();
    const heard = new Recording(ownRecognizer({ url: server.sttUrl }, { clock }), RATE);
    heard.write(silence(RATE, 500));
    await expect.poll(() => server.connections[0]?.audioBytes).toBe(RATE);
    heard.stream.finalise();
    await heard.until('finalised');
    await clock.advance(20_000);
    expect(heard.of('failed')).toEqual([]);
    heard.stream.close();
  });

  it.each(['upgrade', 'answers'] as const)('a half-open server fails as stalled: %s', async (halfOpen) => {
    const server = await vendor();
    server.fault = { halfOpen };
    const clock = new ManualClock();
    const heard = new Recording(ownRecognizer({ url: server.sttUrl }, { clock }), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    if (halfOpen === 'answers') await expect.poll(() => server.connections[0]?.audioBytes).toBe(RATE * 2);
    await expectStalled(heard, () => clock.advance(3_001));
    await expect.poll(() => clock.pendingTimers).toBe(0);
  });
});

describe('an own recogniser with OpenAI’s protocol', () => {
  it('posts each utterance to the base address with the key, the model and the language', async () => {
    const server = await startOpenaiServer({ transcripts: ['hello'], apiKey: 'k' });
    openai.push(server);
    const own = {
      protocol: 'openai',
      url: server.url,
      api_key: 'k',
      model: 'large',
      language: 'de',
    } as const;
    const heard = new Recording(ownRecognizer(own), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('hello');
    expect(server.requests[0]?.path).toBe('/v1/audio/transcriptions');
    const body = server.requests[0]!.body.toString('latin1');
    expect(body).toMatch(/name="model"\r\n\r\nlarge\r\n/);
    expect(body).toMatch(/name="language"\r\n\r\nde\r\n/);
    expect(body).toContain('RIFF');
    heard.stream.close();
  });

  it.each([
    [{ status: 401 }, 'authentication'],
    [{ status: 429 }, 'overloaded'],
    [{ cut: 'headers' }, 'connectivity'],
  ] as const)('after %j the stream fails once, in its own category', async (fault, category) => {
    const server = await startOpenaiServer();
    openai.push(server);
    server.fault = fault;
    const heard = new Recording(ownRecognizer({ protocol: 'openai', url: server.url }), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ type: 'failed', error: { category } }]);
  });
});
