import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createDeepgramRecognizer } from '#media/speech/vendors/deepgram.ts';
import { startDeepgramServer } from '#test/fakes/deepgram-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import type { VendorServer } from '#test/fakes/vendor-sockets.ts';
import { buzz, expectStalled, Recording, recognizerConforms, silence } from './conformance.ts';
import { vendorsOf } from './vendor-conformance.ts';

const RATE = 8_000;
const vendor = vendorsOf(startDeepgramServer);

const typesOf = (server: VendorServer) => server.connections[0]?.messages.map(({ type }) => type) ?? [];
const listen = (server: VendorServer, clock = systemClock, apiKey?: string) =>
  new Recording(createDeepgramRecognizer('nova-3', { baseUrl: server.url, apiKey, clock }), RATE, ['Parley']);

describe('conformance', () => {
  for (const delayMs of [0, 30]) {
    describe(`answers ${delayMs} ms late`, () => {
      recognizerConforms(async () => {
        const phrases = ['hello there', 'book a table'];
        const server = await vendor({ lines: phrases, delayMs });
        const recognizer = createDeepgramRecognizer('nova-3', {
          baseUrl: server.url,
          apiKey: undefined,
          clock: systemClock,
        });
        return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 600), buzz(RATE, 600)], phrases };
      });
    });
  }
});

describe('deepgram', () => {
  it('accepts a replay of twenty seconds of wideband audio while the connection opens', async () => {
    const server = await vendor({ lines: ['hello'] });
    const heard: string[] = [];
    const recognizer = createDeepgramRecognizer('nova-3', {
      baseUrl: server.url,
      apiKey: undefined,
      clock: systemClock,
    });
    const stream = recognizer.open({
      sampleRateHz: 16_000,
      language: 'en',
      multilingual: false,
      keyterms: [],
      onEvent: (event) => heard.push(event.type === 'final' ? event.text : event.type),
    });
    for (let second = 1; second <= 20; second++)
      stream.write(second === 10 ? buzz(16_000, 1_000) : silence(16_000, 1_000));
    stream.finalise();
    await expect.poll(() => heard, { timeout: 20_000 }).toContain('finalised');
    expect(heard.filter((event) => event !== 'interim')).toEqual(['hello', 'finalised']);
    stream.close();
  });

  it('opens the stream with the key, the format of the audio and the keyterms', async () => {
    const server = await vendor({ apiKey: 'dg-key' });
    const heard = listen(server, systemClock, 'dg-key');
    heard.write(buzz(RATE, 300));
    heard.stream.finalise();
    await heard.until('finalised');
    const query = Object.fromEntries(server.connections[0]!.query);
    expect(query).toMatchObject({
      model: 'nova-3',
      encoding: 'linear16',
      sample_rate: '8000',
      interim_results: 'true',
      keyterm: 'Parley',
      language: 'en',
    });
    heard.stream.close();
    await expect.poll(() => server.connections[0]!.isOpen).toBe(false);
    expect(typesOf(server)).toEqual(['Finalize', 'CloseStream']);
  });

  it('reports interims while the caller speaks, and an unrequested final after silence', async () => {
    const server = await vendor({ lines: ['what are your opening hours'] });
    const heard = listen(server);
    heard.write(buzz(RATE, 1_500));
    heard.write(silence(RATE, 500));
    await heard.until('final');
    expect(heard.of('interim').length).toBeGreaterThan(2);
    expect(heard.events.at(-1)).toMatchObject({
      type: 'final',
      text: 'what are your opening hours',
      startMs: 0,
    });
    heard.stream.close();
  });

  it('loses no audio written while the connection opens', async () => {
    const server = await vendor();
    const heard = listen(server);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(server.connections[0]!.audioBytes).toBe(RATE * 2);
    heard.stream.close();
  });

  it.each([
    [401, 'authentication', false],
    [402, 'quota', false],
    [429, 'overloaded', true],
    [500, 'unavailable', false],
  ])('a refusal with HTTP %i is %s, retryable: %s', async (status, category, retryable) => {
    const server = await vendor();
    server.fault = { status };
    const heard = listen(server);
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ type: 'failed', error: { category, retryable } }]);
  });

  it('a broken connection fails the stream once, as connectivity', async () => {
    const server = await vendor();
    const heard = listen(server);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    server.cut();
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([{ error: { category: 'connectivity', retryable: true } }]);
  });

  it('an unreachable address is a connectivity failure', async () => {
    const server = await vendor();
    await server.close();
    const heard = listen(server);
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ type: 'failed', error: { category: 'connectivity' } }]);
  });

  it('a half-open socket fails as stalled before the upgrade', async () => {
    const server = await vendor();
    server.fault = { halfOpen: 'upgrade' };
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(buzz(RATE, 600));
    await expectStalled(heard, () => clock.advance(3_001));
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([true, false])(
    'a half-open socket that accepts audio fails as stalled, finalised %s',
    async (finalises) => {
      const server = await vendor();
      server.fault = { halfOpen: 'answers' };
      const clock = new ManualClock();
      const heard = listen(server, clock);
      heard.write(buzz(RATE, 600));
      if (finalises) heard.stream.finalise();
      await expect.poll(() => server.connections[0]?.audioBytes).toBe(RATE * 2);
      await expectStalled(heard, () => clock.advance(finalises ? 2_001 : 6_001));
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('a server that does not respond to silence is not stalled, finalised or not', async () => {
    const server = await vendor();
    server.fault = { halfOpen: 'answers' };
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(silence(RATE, 500));
    await expect.poll(() => server.connections[0]?.audioBytes).toBe(RATE);
    await clock.advance(20_000);
    heard.stream.finalise();
    await clock.advance(2_001);
    expect(heard.events).toEqual([{ type: 'finalised' }]);
    heard.stream.close();
  });

  it('keeps an idle connection alive', async () => {
    const server = await vendor();
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(buzz(RATE, 300));
    heard.stream.finalise();
    await heard.until('finalised');
    await clock.advance(4_000);
    await clock.advance(8_000);
    await expect.poll(() => typesOf(server).filter((type) => type === 'KeepAlive').length).toBe(2);
    expect(heard.of('failed')).toEqual([]);
    heard.stream.close();
  });
});
