import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { resample } from '#media/dsp/pcm.ts';
import type { RtpCodec } from '#media/leg/rtp-remote.ts';
import { CodecStream } from '#media/rtp/codec-stream.ts';
import { parseRtp } from '#media/rtp/packet.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { itNeeds } from '#test/needs.ts';

const FRAMES = 50;

/** RTP payloads of a 1 s tone of 700 Hz as sent by ffmpeg. */
async function payloadsOfFfmpeg(encoder: readonly string[]): Promise<Uint8Array[]> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const payloads: Uint8Array[] = [];
  socket.on('message', (datagram) => {
    const packet = parseRtp(datagram);
    if (packet) payloads.push(packet.payload.slice());
  });
  const source = ['-f', 'lavfi', '-i', 'sine=frequency=700:sample_rate=16000:duration=1'];
  await promisify(execFile)('ffmpeg', [
    '-loglevel',
    'error',
    ...source,
    ...encoder,
    '-f',
    'rtp',
    `rtp://127.0.0.1:${socket.address().port}`,
  ]);
  await expect.poll(() => payloads.length, { timeout: 5_000 }).toBeGreaterThanOrEqual(FRAMES);
  socket.close();
  return payloads;
}

function decodeAll(codec: RtpCodec, payloads: readonly Uint8Array[], rateHz: number): Int16Array {
  const stream = new CodecStream(codec, rateHz);
  return Int16Array.from(payloads.flatMap((payload) => [...stream.decode(payload)]));
}

function encodeAll(
  codec: RtpCodec,
  samples: Int16Array,
  rateHz: number,
  maxBitRate: number | null = null,
): Uint8Array[] {
  const stream = new CodecStream(codec, rateHz);
  stream.limitBitRate(maxBitRate);
  const frame = rateHz / 50;
  return Array.from({ length: samples.length / frame }, (_, n) => {
    const bytes = new Uint8Array(1_300);
    return bytes.slice(12, stream.encode(samples.subarray(n * frame, (n + 1) * frame), bytes, 12));
  });
}

/** Share of the power in the tone, measured at 8 kHz. */
function purity(samples: Int16Array, rateHz: number): number {
  const heard = resample(samples, rateHz, 8_000);
  const middle = heard.subarray(2_000, 6_000);
  return (
    (4 * power(middle, 700)) / (2 * (middle.reduce((sum, sample) => sum + sample ** 2, 0) / middle.length))
  );
}

describe('codecs of an RTP stream', () => {
  it.each([
    ['PCMU', 8_000],
    ['PCMA', 16_000],
    ['G722', 16_000],
    ['G722', 8_000],
    ['opus', 16_000],
    ['opus', 8_000],
  ] as const)('%s carries a tone on a leg of %i Hz, one frame per packet', (codec, rateHz) => {
    const payloads = encodeAll(codec, resample(tone(700, 1_000), 8_000, rateHz), rateHz);
    expect(payloads).toHaveLength(FRAMES);
    const heard = decodeAll(codec, payloads, rateHz);
    expect(heard).toHaveLength(rateHz);
    expect(purity(heard, rateHz)).toBeGreaterThan(0.98);
  });

  itNeeds(['ffmpeg']).each([
    ['G722', ['-c:a', 'g722', '-b:a', '64000']],
    ['opus', ['-c:a', 'libopus', '-ar', '48000', '-frame_duration', '20']],
  ] as const)('%s is decoded as ffmpeg sends it', async (codec, encoder) => {
    const heard = decodeAll(codec, await payloadsOfFfmpeg(encoder), 16_000);
    expect(heard.length).toBeGreaterThanOrEqual(16_000);
    expect(purity(heard, 16_000)).toBeGreaterThan(0.98);
  });

  it('Opus keeps to the bit rate that the other end takes', () => {
    const noise = Int16Array.from({ length: 32_000 }, (_, n) => 8_000 * Math.sin(n * n));
    const bitsASecond = (limit: number | null) =>
      (8 * encodeAll('opus', noise, 16_000, limit).reduce((sum, { length }) => sum + length, 0)) / 2;
    expect(bitsASecond(12_000)).toBeLessThan(13_000);
    expect(bitsASecond(null)).toBeGreaterThan(18_000);
  });

  it('decode an empty or damaged payload as nothing, and continue after it', () => {
    const payloads = encodeAll('opus', resample(tone(700, 1_000), 8_000, 16_000), 16_000);
    const stream = new CodecStream('opus', 16_000);
    expect(stream.decode(new Uint8Array(0))).toHaveLength(0);
    expect(stream.decode(Uint8Array.of(255))).toHaveLength(0);
    expect(stream.decode(payloads[0] ?? new Uint8Array(0))).toHaveLength(320);
  });
});
