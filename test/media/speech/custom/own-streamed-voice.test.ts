import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import type { SpeechChunk, Synthesizer } from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';
import { type JambonzServer, startJambonzServer } from '#test/fakes/jambonz-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { synthesizerConforms } from '../conformance.ts';
import { saidTo, speak, vendorsOf } from '../vendor-conformance.ts';
import { ownVoice } from './own-engines.ts';

const vendor = vendorsOf(startJambonzServer);
const TEXT = 'Good morning, how can I help?';
/** Waits of a fifth: the stand-in never pauses within a text. */
const hasty: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 5, run) };
const voiceAt = (server: JambonzServer, clock: Clock = hasty, apiKey: string | null = null) =>
  ownVoice({ url: server.streamUrl, api_key: apiKey, voice: 'ann' }, { clock });
const samplesOf = (chunks: readonly SpeechChunk[]) =>
  Int16Array.from(chunks.flatMap(({ samples }) => [...samples]));

/** Opens a connection in advance, and waits for its greeting. */
async function greeted(server: JambonzServer, voice: Synthesizer): Promise<void> {
  voice.prepare?.({ voiceId: null, language: 'en', speed: 1, sampleRateHz: 16_000 });
  await expect.poll(() => server.connections.length).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 50));
}

for (const isBase64 of [false, true]) {
  describe(`an own streamed voice, base64: ${isBase64}: conformance`, () => {
    synthesizerConforms(async () => voiceAt(await vendor({ isBase64 })));
  });
}

describe('an own streamed voice', () => {
  it('sends the documented messages on a connection that names voice, language and rate', async () => {
    const server = await vendor({ apiKey: 'k' });
    await collect(speak(voiceAt(server, hasty, 'k'), TEXT));
    const [said] = saidTo(server);
    expect(Object.fromEntries(said!.query)).toEqual({ voice: 'ann', language: 'en', sampleRate: '16000' });
    await expect
      .poll(() => said!.messages)
      .toEqual([{ type: 'stream', text: TEXT }, { type: 'flush' }, { type: 'stop' }]);
  });

  it('no sample is lost, doubled or swapped, and the rate is the one that the server names', async () => {
    const server = await vendor({ streamRateHz: 24_000 });
    const chunks = await collect(speak(voiceAt(server), TEXT));
    const samples = samplesOf(chunks);
    expect(samples).toHaveLength(24_000 * 0.6);
    expect(samples).toEqual(samples.map((_, index) => Math.round(4_000 * Math.sin(index / 5))));
    expect(new Set(chunks.map(({ sampleRateHz }) => sampleRateHz))).toEqual(new Set([24_000]));
  });

  it('the greeting of a connection that was opened in advance counts', async () => {
    const server = await vendor({ streamRateHz: 24_000 });
    const voice = voiceAt(server);
    await greeted(server, voice);
    const [chunk] = await collect(speak(voice, TEXT));
    expect(chunk?.sampleRateHz).toBe(24_000);
    expect(saidTo(server)).toEqual([server.connections[0]]);
    await voice.close?.();
  });

  it('an interruption stops the server', async () => {
    const server = await vendor({ pieceMs: 20 });
    const stop = new AbortController();
    const run = async () => {
      for await (const _ of speak(voiceAt(server), TEXT.repeat(20), stop.signal))
        stop.abort(new Error('interrupted'));
    };
    await expect(run()).rejects.toThrow('interrupted');
    await expect.poll(() => saidTo(server)[0]?.messages.at(-1)).toEqual({ type: 'stop' });
    await expect.poll(() => saidTo(server)[0]?.isOpen).toBe(false);
  });

  it('a text that is not speech yet is waited for longer', async () => {
    const server = await vendor();
    const clock = new ManualClock();
    let isOver = false;
    const run = collect(speak(voiceAt(server, clock), TEXT)).then(() => {
      isOver = true;
    });
    // Six words of 100 ms are too short for this text: the audio has arrived when nothing else waits.
    await expect.poll(() => saidTo(server)[0]?.messages.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await clock.advance(501);
    expect(isOver).toBe(false);
    await clock.advance(1_001);
    await run;
  });

  it('a server that closes the connection early has failed', async () => {
    const server = await vendor({ closesAfterText: true });
    await expect(collect(speak(voiceAt(server), TEXT))).rejects.toMatchObject({ category: 'connectivity' });
  });

  it.each([{ type: 'error', error: 'no licence' }, { error: 'no licence' }])(
    'an error that the server reports is unavailable: %j',
    async (reported) => {
      const server = await vendor({ insteadOfAudio: [reported] });
      await expect(collect(speak(voiceAt(server), TEXT))).rejects.toMatchObject({
        category: 'unavailable',
        message: 'The agent’s own speech server reported an error: no licence',
      });
    },
  );

  it('a text waits for the greeting of a server that takes none before it', async () => {
    const server = await vendor({ greetingMs: 100 });
    expect(samplesOf(await collect(speak(voiceAt(server), TEXT)))).toHaveLength(16_000 * 0.6);
  });

  it('audio without a sample is no speech', async () => {
    const server = await vendor({ insteadOfAudio: [{ type: 'data', data: { audio: '' } }] });
    await expect(collect(speak(voiceAt(server), TEXT))).rejects.toMatchObject({
      category: 'unavailable',
      message: 'The agent’s own speech server sent no audio for a text',
    });
  });

  it('a server that sends more than speech can be is left', async () => {
    const note = { type: 'note', text: 'x'.repeat(200_000) };
    const server = await vendor({ insteadOfAudio: Array.from({ length: 100 }, () => note) });
    await expect(collect(speak(voiceAt(server, new ManualClock()), TEXT))).rejects.toMatchObject({
      category: 'unavailable',
      message: 'The agent’s own speech server sends too many messages',
    });
  });

  it('a text that never ends is given up, however often a sample comes', async () => {
    const server = await vendor({ pieceBytes: 2, pieceMs: 5 });
    const clock = new ManualClock();
    let heard = 0;
    const run = async () => {
      for await (const _ of speak(voiceAt(server, clock), TEXT)) heard++;
    };
    let failure: unknown = null;
    const over = run().catch((error: unknown) => {
      failure = error;
    });
    for (let before = 0; failure === null; before = heard) {
      await expect.poll(() => failure !== null || heard > before, { timeout: 20_000 }).toBe(true);
      await clock.advance(1_400);
    }
    await over;
    expect(failure).toMatchObject({ category: 'stalled', message: expect.stringContaining('26600 ms') });
    expect(clock.now()).toBeLessThan(29_000);
  });

  it('a rate that speech does not have is refused', async () => {
    const server = await vendor({ streamRateHz: 1_000 });
    await expect(collect(speak(voiceAt(server), TEXT))).rejects.toMatchObject({ category: 'bad_request' });
  });

  it.each(['upgrade', 'answers'] as const)('a half-open socket fails as stalled: %s', async (halfOpen) => {
    const server = await vendor();
    const clock = new ManualClock();
    const voice = voiceAt(server, clock);
    if (halfOpen === 'answers') await greeted(server, voice);
    server.fault = { halfOpen };
    const failed = expect(collect(speak(voice, TEXT))).rejects.toMatchObject({
      category: 'stalled',
    });
    if (halfOpen === 'answers') await expect.poll(() => saidTo(server).length).toBe(1);
    await clock.advance(5_001);
    await failed;
  });

  it('a wrong key and a busy server are distinguished', async () => {
    const server = await vendor({ apiKey: 'k' });
    const spoken = () => collect(speak(voiceAt(server, hasty, 'x'), TEXT));
    await expect(spoken()).rejects.toMatchObject({ category: 'authentication' });
    server.fault = { status: 429 };
    await expect(spoken()).rejects.toMatchObject({ category: 'overloaded' });
  });

  it('an address that may not be reached is refused, on every connection', async () => {
    const server = await vendor();
    const voice = ownVoice({ url: server.streamUrl }, { clock: hasty, allow: [] });
    voice.prepare?.({ voiceId: null, language: 'en', speed: 1, sampleRateHz: 16_000 });
    await expect(collect(speak(voice, TEXT))).rejects.toMatchObject({ category: 'bad_request' });
    expect(server.connections).toEqual([]);
  });
});
