/** The comparison's recogniser, which knows the script of a scene and whose connection is whose. */
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CallsOfSockets } from '#bench/comparison/calls-of-sockets.ts';
import { type CuedRecogniser, startCuedRecogniser } from '#bench/comparison/recogniser.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

describe('the connections of a recogniser', () => {
  it('belong to the calls in the order in which these were announced', () => {
    const calls = new CallsOfSockets('nothing');
    calls.expect('first');
    calls.expect('second');
    expect([calls.connected(), calls.connected()]).toEqual(['first', 'second']);
    calls.cue('second', 'Good morning.');
    expect([calls.cueOf('first'), calls.cueOf('second')]).toEqual(['nothing', 'Good morning.']);
  });

  it('that nothing announced replace the one that closed last', () => {
    const calls = new CallsOfSockets('nothing');
    calls.expect('first');
    const call = calls.connected();
    calls.cue('first', 'Good morning.');
    calls.closed(call);
    expect(calls.connected()).toBe('first');
    expect(calls.cueOf('first')).toBe('Good morning.');
  });

  it('are all of one kind after a cue for every call', () => {
    const calls = new CallsOfSockets('nothing');
    calls.expect('first');
    calls.closed(calls.connected());
    calls.cue(null, 'All say this.');
    expect(calls.connected()).toBeNull();
    expect([calls.cueOf(null), calls.cueOf('first')]).toEqual(['All say this.', 'All say this.']);
  });
});

describe('the scripted recogniser', () => {
  it('returns the words spoken so far at once, and the remaining words after the requested silence', async () => {
    const recogniser = await start({ delayMs: 0 });
    recogniser.expect('call');
    const { socket, messages } = await listen(recogniser, '&vad_events=true');
    recogniser.cue('call', {
      words: [
        { text: 'Good', endMs: 300 },
        // The end of the word is too soft to count as voice.
        { text: 'morning.', endMs: 950 },
      ],
      isStanding: false,
    });
    socket.send(audio(400, 3_000));
    await expect
      .poll(() => messages.at(-1)?.channel?.alternatives[0].transcript, { timeout: 20_000 })
      .toBe('Good');
    expect(messages[0].type).toBe('SpeechStarted');
    socket.send(audio(400, 3_000));
    socket.send(audio(400, 0));
    await expect
      .poll(() => messages.at(-1), { timeout: 20_000 })
      .toMatchObject({ is_final: true, speech_final: true });
    expect(messages.at(-1).channel.alternatives[0].transcript).toBe('Good morning.');
    const finals = messages.length;
    socket.send(JSON.stringify({ type: 'Finalize' }));
    await expect
      .poll(() => messages.slice(finals)[0], { timeout: 20_000 })
      .toMatchObject({ from_finalize: true });
    expect(messages.at(-1).channel.alternatives[0].transcript).toBe('');
  });
});

it('recognises a late line from the start of its voice, and rejects the vendor’s voice', async () => {
  const recogniser = await start({ delayMs: 0 });
  recogniser.expect('call');
  const { socket, messages } = await listen(recogniser);
  socket.send(audio(400, 3_000));
  await expect.poll(() => messages.length, { timeout: 20_000 }).toBeGreaterThan(1);
  recogniser.cue('call', { words: [{ text: 'Good', endMs: 700 }], isStanding: false });
  socket.send(audio(300, 3_000));
  socket.send(audio(400, 0));
  await expect.poll(() => messages.at(-1)?.speech_final, { timeout: 20_000 }).toBe(true);
  expect(messages.at(-1).channel.alternatives[0].transcript).toBe('Good');
  const voice = new WebSocket(`${recogniser.url}/v1/speak`);
  const status = await new Promise((resolve) =>
    voice.once('unexpected-response', (_request, response) => resolve(response.statusCode)),
  );
  expect(status).toBe(400);
  voice.on('error', () => undefined).terminate();
});

it('does not take what is softer than the caller for a voice', async () => {
  const connected: string[] = [];
  const recogniser = await start({ delayMs: 0, onConnected: (call) => connected.push(call) });
  recogniser.expect('call', 800);
  const { socket, messages } = await listen(recogniser);
  expect(connected).toEqual(['call']);
  recogniser.cue('call', { words: [{ text: 'Good', endMs: 300 }], isStanding: false });
  expect(recogniser.unheard).toBe(1);
  socket.send(audio(400, 3_000));
  // A television goes on behind the caller.
  socket.send(audio(400, 700));
  await expect.poll(() => messages.at(-1)?.speech_final, { timeout: 20_000 }).toBe(true);
  expect(messages.at(-1).channel.alternatives[0].transcript).toBe('Good');
  expect(recogniser.unheard).toBe(0);
});

async function start(options: Parameters<typeof startCuedRecogniser>[0]): Promise<CuedRecogniser> {
  const recogniser = await startCuedRecogniser(options);
  cleanups.push(() => recogniser.close());
  return recogniser;
}

/** Connects to the recogniser and collects its messages. */
async function listen({ url }: CuedRecogniser, options = '') {
  const socket = new WebSocket(`${url}/v1/listen?sample_rate=16000&endpointing=300${options}`);
  cleanups.push(() => socket.terminate());
  // biome-ignore lint/suspicious/noExplicitAny: whatever came
  const messages: any[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  await new Promise((resolve) => socket.once('open', resolve));
  return { socket, messages };
}

function audio(ms: number, peak: number): Buffer {
  const samples = Int16Array.from({ length: 16 * ms }, (_, index) => peak * Math.sin(index / 5));
  return Buffer.from(samples.buffer);
}
