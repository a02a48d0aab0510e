/**
 * A call over a network that drops 5 % of the packets in both directions, some in pairs, delays each by up to
 * 60 ms, which reorders a quarter of them, and duplicates some. Every caller sentence must be recognised word
 * for word, every key reported once, and the agent understood at the far end. Runs in each codec, on a
 * simulated clock.
 */
import { describe, expect, vi } from 'vitest';
import type { LegEvent } from '#media/leg/leg.ts';
import type { RtpCodec } from '#media/leg/rtp-remote.ts';
import { CodecStream, MAX_ENCODED_BYTES } from '#media/rtp/codec-stream.ts';
import { CODECS } from '#media/rtp/codec-table.ts';
import { DigitSender } from '#media/rtp/dtmf.ts';
import { fates } from '#test/fakes/lossy-path.ts';
import { transcribe } from '#test/journeys/ear.ts';
import { record } from '#test/journeys/microphone.ts';
import { itNeeds } from '#test/needs.ts';
import { openManualSession } from './manual-session.ts';

const CLEAN = { lossShare: 0, jitterMs: 0, duplicateShare: 0 };
const ROUGH: typeof CLEAN = { lossShare: 0.05, jitterMs: 60, duplicateShare: 0.02 };
const SENTENCES = [
  'please transfer me to a human agent',
  'what are your opening hours',
  'i would like to book a table for two',
  'i want to change my address',
];
const KEYS = '4711#';
const PACKET_MS = 20;
/** The line is open for a while before anyone speaks, which is enough to measure the delay it needs. */
const OPEN_SECONDS = 1.5;
/**
 * Leading silence withheld from the recogniser: after a long silence it assumes a loud line and loses the
 * first sentence.
 */
const SPARED_SECONDS = 1;

interface Packet {
  readonly payloadType: number;
  readonly payload: Uint8Array;
  readonly header: { readonly marker: boolean; readonly timestamp: number; readonly sequence: number };
}

/** What a phone sends: microphone audio, then keys in place of silence. */
function* packetsOf(codec: RtpCodec, payloadType: number, samples: Int16Array): Generator<Packet> {
  const { clockHz, rateHz } = CODECS[codec];
  const [encoder, keys] = [new CodecStream(codec, rateHz), new DigitSender()];
  const length = (rateHz * PACKET_MS) / 1_000;
  let keyTimestamp = 0;
  for (let sequence = 0; sequence * length < samples.length || keys.isSending; sequence++) {
    const timestamp = (sequence * clockHz * PACKET_MS) / 1_000;
    if ((sequence + 1) * length >= samples.length && sequence * length < samples.length) keys.enqueue(KEYS);
    const key = keys.isSending ? keys.next(clockHz) : null;
    if (key?.isFirst) keyTimestamp = timestamp;
    const [voice, payload] = [new Int16Array(length), new Uint8Array(MAX_ENCODED_BYTES)];
    voice.set(samples.subarray(sequence * length, (sequence + 1) * length));
    yield key
      ? {
          payloadType: 101,
          payload: key.payload,
          header: { marker: key.isFirst, timestamp: keyTimestamp, sequence },
        }
      : {
          payloadType,
          payload: payload.subarray(0, encoder.encode(voice, payload, 0)),
          header: { marker: false, timestamp, sequence },
        };
  }
}

/** A whole call: what the product heard, and what the phone heard of an agent that says the same. */
async function call(codec: RtpCodec, network: typeof CLEAN, seed: number) {
  const session = await openManualSession(codec);
  const { clock, peer, leg, port, rateHz } = session;
  try {
    const voice = record([OPEN_SECONDS, ...SENTENCES.flatMap((sentence) => [sentence, 0.8])], rateHz);
    const fateOf = fates({ ...network, seed });
    const sent = [...packetsOf(codec, peer.remote.payloadType, voice)];
    const arrivals = sent.flatMap((packet, n) =>
      fateOf().map((delayMs) => ({ packet, atMs: n * PACKET_MS + delayMs })),
    );
    arrivals.sort((one, other) => one.atMs - other.atMs);
    leg.command({
      do: 'play',
      replyId: 'r',
      pieceId: 0,
      samples: voice,
      marks: new Int32Array(0),
      last: true,
    });
    for (const { packet, atMs } of arrivals) {
      await clock.advance(atMs - clock.now());
      peer.send(port, packet.payloadType, packet.payload, packet.header);
      // The socket is real, and so is the time a packet takes.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await clock.advance(500);
    leg.command({ do: 'close' });
    const events = session.report();
    const of = <T extends LegEvent['type']>(type: T) =>
      events.filter((event): event is Extract<LegEvent, { type: T }> => event.type === type);
    await vi.waitFor(() => expect(peer.heard.length).toBe(of('closed')[0]?.stats.packetsSent), {
      timeout: 10_000,
    });
    const backwards = fates({ ...network, seed: seed + 1 });
    const arrived = peer.heard.filter(() => backwards().length > 0);
    const heard = Int16Array.from(of('audio').flatMap(({ samples }) => [...samples]));
    const [heardWords, understoodWords] = await Promise.all([
      wordsOf(heard, rateHz),
      wordsOf(peer.audio(arrived), 8_000),
    ]);
    return {
      heardWords,
      understoodWords,
      keys: of('digit')
        .map(({ digit }) => digit)
        .join(''),
      stats: of('closed')[0]?.stats,
    };
  } finally {
    await session.close();
  }
}

function wordsOf(samples: Int16Array, rateHz: number): Promise<string[]> {
  return transcribe(samples.subarray(SPARED_SECONDS * rateHz), SENTENCES, rateHz);
}

describe('a call with 5 % loss and 60 ms of jitter', { concurrent: true }, () => {
  for (const [n, codec] of (['PCMU', 'PCMA', 'G722', 'opus'] as const).entries())
    itNeeds(['pocketsphinx_continuous'])(
      `keeps every word and every key in ${codec}`,
      { timeout: 120_000 },
      async () => {
        const { heardWords, understoodWords, keys, stats } = await call(codec, ROUGH, 10 * n + 1);
        expect(heardWords).toEqual(SENTENCES);
        expect(understoodWords).toEqual(SENTENCES);
        expect(keys).toBe(KEYS);
        // As deep as the jitter requires and no deeper; losses were concealed, and little else.
        expect(stats?.jitterBufferMs).toBeGreaterThan(45);
        expect(stats?.jitterBufferMs).toBeLessThan(80);
        expect(stats?.concealedShare).toBeGreaterThan(0.02);
        expect(stats?.concealedShare).toBeLessThan(0.1);
        expect(stats?.mos).toBeLessThan(4.2);
        expect(stats?.mos).toBeGreaterThan(3);
      },
    );

  itNeeds(['pocketsphinx_continuous'])(
    'conceals something; a clean network conceals nothing and sounds best',
    { timeout: 120_000 },
    async () => {
      const { heardWords, keys, stats } = await call('PCMU', CLEAN, 1);
      expect([heardWords, keys]).toEqual([SENTENCES, KEYS]);
      expect(stats?.packetsLost).toBe(0);
      // The only gap is at the end, where the phone stops sending.
      expect(stats?.concealedShare).toBeLessThan(0.01);
      expect(stats?.jitterBufferMs).toBeLessThan(40);
      expect(stats?.mos).toBeGreaterThan(4.3);
    },
  );
});
