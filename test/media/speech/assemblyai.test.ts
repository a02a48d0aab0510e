import { describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { createAssemblyaiRecognizer } from '#media/speech/vendors/assemblyai.ts';
import { type AssemblyaiServer, startAssemblyaiServer } from '#test/fakes/assemblyai-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { buzz, expectVendorsTurnOnce, Recording, recognizerConforms } from './conformance.ts';
import {
  expectEndlessTurnStalls,
  expectUnopenedStalls,
  patientClock,
  recognizerFailuresConform,
  vendorsOf,
} from './vendor-conformance.ts';

const RATE = 8_000;
const MODEL = 'universal-3-5-pro';
const vendor = vendorsOf(startAssemblyaiServer);

const listen = (server: AssemblyaiServer, clock: Clock = patientClock, apiKey?: string) =>
  new Recording(createAssemblyaiRecognizer(MODEL, { baseUrl: server.url, apiKey, clock }), RATE, ['Parley']);

describe('conformance', () => {
  recognizerConforms(async () => {
    const phrases = ['what are your opening hours', 'please transfer me'];
    const server = await vendor({ lines: phrases });
    const recognizer = createAssemblyaiRecognizer(MODEL, {
      baseUrl: server.url,
      apiKey: undefined,
      clock: patientClock,
    });
    return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 900), buzz(RATE, 700)], phrases };
  });
});

describe('AssemblyAI', () => {
  it('reports words as they arrive, and each vendor-ended turn once, with its times', async () => {
    const server = await vendor({ lines: ['book a table'] });
    await expectVendorsTurnOnce(listen(server), RATE);
  });

  it('requests the model, the rate, the language and the keyterms', async () => {
    const server = await vendor({ apiKey: 'k' });
    const heard = listen(server, patientClock, 'k');
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(1);
    expect(Object.fromEntries(server.connections[0]!.query)).toEqual({
      speech_model: MODEL,
      sample_rate: '8000',
      encoding: 'pcm_s16le',
      format_turns: 'true',
      language_codes: '["en"]',
      keyterms_prompt: '["Parley"]',
    });
    // Once the server has answered, the socket is open on both sides.
    heard.write(buzz(RATE, 900));
    heard.stream.finalise();
    await heard.until('finalised');
    heard.stream.close();
    await expect
      .poll(() => server.connections[0]?.messages.at(-1), { timeout: 20_000 })
      .toEqual({ type: 'Terminate' });
  });

  it('uses the unformatted end of a turn when the formatted one does not arrive', async () => {
    const server = await vendor();
    server.isPlain = true;
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(buzz(RATE, 900));
    heard.stream.finalise();
    await heard.until('interim');
    // The end-of-turn message is in transit: advance the clock until it arrives.
    await expect
      .poll(
        async () => {
          await clock.advance(100);
          return heard.finals;
        },
        { timeout: 20_000 },
      )
      .toBe('hello');
    await heard.until('finalised');
    heard.stream.close();
    expect(clock.pendingTimers).toBeLessThanOrEqual(1);
  });

  it('a turn with speech that never ends is reported as stalled', async () => {
    const server = await vendor();
    server.isEndless = true;
    await expectEndlessTurnStalls((clock) => listen(server, clock), RATE);
  });

  it('a socket that never opens is reported as stalled', async () => {
    await expectUnopenedStalls(await vendor(), listen);
  });

  it.each([
    [1008, 'authentication'],
    [3005, 'unavailable'],
    [3007, 'bad_request'],
    [3009, 'overloaded'],
  ])('error %i is %s', async (code, category) => {
    const server = await vendor();
    const heard = listen(server);
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(1);
    server.breakDown(code);
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([{ error: { category } }]);
  });

  recognizerFailuresConform(vendor, (server, apiKey) =>
    listen(server as AssemblyaiServer, patientClock, apiKey),
  );
});
