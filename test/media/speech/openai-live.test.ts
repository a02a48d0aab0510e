import { describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { createOpenaiRecognizer } from '#media/speech/vendors/openai.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type OpenaiLiveServer, startOpenaiLiveServer } from '#test/fakes/openai-live-server.ts';
import { buzz, expectStalled, Recording, recognizerConforms, silence } from './conformance.ts';
import { patientClock, recognizerFailuresConform, vendorsOf } from './vendor-conformance.ts';

const RATE = 8_000;
const MODEL = 'gpt-live-transcribe';
const vendor = vendorsOf(startOpenaiLiveServer);

const recognizerAt = (server: OpenaiLiveServer, clock: Clock, apiKey?: string, model = MODEL) =>
  createOpenaiRecognizer(model, { baseUrl: `${server.url}/v1`, apiKey, clock });
const listen = (server: OpenaiLiveServer, clock: Clock = patientClock, apiKey?: string) =>
  new Recording(recognizerAt(server, clock, apiKey), RATE, ['Parley']);
const connected = (server: OpenaiLiveServer) =>
  expect.poll(() => server.connections[0]?.messages.length ?? 0, { timeout: 20_000 }).toBeGreaterThan(0);

describe('conformance', () => {
  recognizerConforms(async () => {
    const phrases = ['what are your opening hours', 'please transfer me'];
    const recognizer = recognizerAt(await vendor({ lines: phrases }), patientClock);
    return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 900), buzz(RATE, 700)], phrases };
  });
});

describe('OpenAI, live', () => {
  it('interim words arrive during speech, and the full text when it is finalised', async () => {
    const server = await vendor({ lines: ['book a table'] });
    const heard = listen(server);
    expect(recognizerAt(server, patientClock).givesInterims).toBe(true);
    heard.write(buzz(RATE, 1_200));
    await heard.until('interim', 2);
    heard.stream.finalise();
    await heard.until('finalised');
    const texts = heard.of('interim').map((event) => (event as { text: string }).text);
    for (const [index, text] of texts.entries()) expect(text.startsWith(texts[index - 1] ?? '')).toBe(true);
    expect(heard.of('final')).toEqual([
      { type: 'final', text: 'book a table', startMs: null, endMs: null, language: null },
    ]);
    heard.stream.close();
  });

  it('requests a transcription at the vendor’s rate, in the language, with keyterms if supported', async () => {
    const server = await vendor({ apiKey: 'k' });
    const heard = listen(server, patientClock, 'k');
    await connected(server);
    const input = { format: { type: 'audio/pcm', rate: 24_000 }, turn_detection: null };
    expect(server.connections[0]?.messages[0]).toEqual({
      type: 'session.update',
      session: {
        type: 'transcription',
        audio: { input: { ...input, transcription: { model: MODEL, language: 'en', keywords: ['Parley'] } } },
      },
    });
    heard.stream.close();
    const other = new Recording(recognizerAt(server, patientClock, 'k', 'gpt-realtime-whisper'), RATE, [
      'Parley',
    ]);
    await expect
      .poll(() => server.connections[1]?.messages[0], { timeout: 20_000 })
      .toMatchObject({
        session: {
          audio: { input: { ...input, transcription: { model: 'gpt-realtime-whisper', language: 'en' } } },
        },
      });
    expect(JSON.stringify(server.connections[1]?.messages[0])).not.toContain('Parley');
    other.stream.close();
  });

  it('silence is never committed, and a word below the vendor’s minimum length is padded', async () => {
    const server = await vendor({ lines: ['yes'] });
    const heard = listen(server);
    heard.write(silence(RATE, 2_000));
    heard.stream.finalise();
    await heard.until('finalised');
    const commits = () =>
      server.connections[0]!.messages.filter(({ type }) => type === 'input_audio_buffer.commit');
    heard.write(buzz(RATE, 400));
    heard.stream.finalise();
    await heard.until('finalised', 2);
    expect(commits()).toHaveLength(1);
    heard.write(buzz(RATE, 400).subarray(RATE / 4, RATE / 4 + 480));
    heard.stream.finalise();
    await heard.until('finalised', 3);
    expect(commits()).toHaveLength(2);
    expect(heard.of('failed')).toEqual([]);
    heard.stream.close();
  });

  it('turns finalised out of order are reported in order', async () => {
    const server = await vendor({ lines: ['first', 'second'] });
    server.settlesBackwards = true;
    const heard = listen(server);
    for (let count = 0; count < 2; count++) {
      heard.write(buzz(RATE, 600));
      heard.stream.finalise();
    }
    await heard.until('finalised', 2);
    const order = heard.events.flatMap((event) =>
      event.type === 'interim' ? [] : event.type === 'final' ? [event.text] : [event.type],
    );
    expect(order).toEqual(['first', 'finalised', 'second', 'finalised']);
    heard.stream.close();
  });

  it('a turn that is never finalised is a stall, and so is a socket that never opens', async () => {
    const server = await vendor();
    server.isEndless = true;
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(buzz(RATE, 900));
    await heard.until('interim');
    heard.stream.finalise();
    await expectStalled(heard, () => clock.advance(4_001));
    expect(clock.pendingTimers).toBe(0);
    server.fault = { halfOpen: 'upgrade' };
    await expectStalled(listen(server, clock), () => clock.advance(3_001));
  });

  it.each([
    ['invalid_request_error', 'invalid_api_key', 'authentication'],
    ['tokens', 'rate_limit_exceeded', 'overloaded'],
    ['insufficient_quota', 'insufficient_quota', 'quota'],
    ['invalid_request_error', 'session_expired', 'connectivity'],
    ['invalid_request_error', 'invalid_value', 'bad_request'],
    ['server_error', null, 'unavailable'],
  ])('error %s, %s is %s', async (type, code, category) => {
    const server = await vendor();
    const heard = listen(server);
    await connected(server);
    server.complain({ type, code, message: 'a fault' });
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([{ error: { category } }]);
  });

  recognizerFailuresConform(vendor, (server, apiKey) =>
    listen(server as OpenaiLiveServer, patientClock, apiKey),
  );
});
