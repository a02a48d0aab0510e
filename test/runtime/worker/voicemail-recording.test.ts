/** A recorded file in place of the voice, for mailboxes. */
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createServer } from '#base/node-http.ts';
import { type Recording, recordedVoice } from '#media/speech/recorded-voice.ts';
import type { Synthesizer } from '#media/speech/speech.ts';
import { fetchRecording } from '#runtime/worker/voicemail-recording.ts';

const RATE_HZ = 8_000;
const SECONDS = 3;
const TONE = Int16Array.from({ length: RATE_HZ * SECONDS }, (_, n) => Math.round(9_000 * Math.sin(n / 3)));

/** Mono 16-bit PCM. */
function wavOf(samples: Int16Array): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE_HZ, 24);
  head.writeUInt32LE(RATE_HZ * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer)]);
}

const FILES: Readonly<Record<string, Buffer>> = {
  '/message.wav': wavOf(TONE),
  '/long.wav': wavOf(new Int16Array(RATE_HZ * 121)),
  '/large.wav': wavOf(new Int16Array(RATE_HZ * 200)),
  '/page.html': Buffer.from('<html>'),
};
const server = createServer((request, response) => {
  const file = FILES[request.url ?? ''];
  response.writeHead(file ? 200 : 404).end(file);
});
const logger = pino({ level: 'silent' });
const allowing = (allow: string[]) => ({ egress: createEgressGuard({ allow, clock: systemClock }), logger });
let base: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const fetched = (path: string) => fetchRecording(`${base}${path}`, allowing(['127.0.0.1']));

describe('the recording for mailboxes', () => {
  it('is fetched and decoded', async () => {
    const recording = await fetched('/message.wav');
    expect(recording?.rateHz).toBe(RATE_HZ);
    expect(recording?.samples).toHaveLength(TONE.length);
    const differences = recording?.samples.map((sample, n) => Math.abs(sample - (TONE[n] ?? 0))) ?? [];
    expect(Math.max(...differences)).toBeLessThanOrEqual(1);
  });

  it.each(['/none.wav', '/page.html', '/long.wav', '/large.wav'])('is none if it is %s', async (path) => {
    expect(await fetched(path)).toBeNull();
  });

  it('is not fetched from an address that is not public', async () => {
    expect(await fetchRecording(`${base}/message.wav`, allowing([]))).toBeNull();
  });
});

describe('the voice of a recording', () => {
  const other: Synthesizer = {
    id: 'other',
    voices: [],
    async *synthesise() {
      yield { samples: new Int16Array(10).fill(7), sampleRateHz: RATE_HZ, words: null };
    },
  };

  async function said(recording: Recording | null, sampleRateHz = RATE_HZ): Promise<number[]> {
    const voice = recordedVoice(Promise.resolve(recording), other);
    const signal = new AbortController().signal;
    const samples: number[] = [];
    for await (const chunk of voice.synthesise('Text.', {
      ...{ voiceId: null, language: 'en', speed: 1 },
      sampleRateHz,
      signal,
    }))
      samples.push(...chunk.samples);
    return samples;
  }

  it('plays the file, whatever the text is', async () => {
    expect(await said({ samples: TONE, rateHz: RATE_HZ })).toEqual([...TONE]);
  });

  it('plays it at the rate of the line', async () => {
    const samples = await said({ samples: TONE, rateHz: RATE_HZ }, 24_000);
    expect(Math.abs(samples.length - 3 * TONE.length)).toBeLessThan(1_000);
  });

  it('lets another voice say the text without a file', async () => {
    expect(await said(null)).toEqual(new Array(10).fill(7));
  });
});
