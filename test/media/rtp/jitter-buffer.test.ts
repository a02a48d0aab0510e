import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FrameKind } from '#media/dsp/frame.ts';
import { JitterBuffer } from '#media/rtp/jitter-buffer.ts';

interface Packet {
  readonly timestamp: number;
  readonly arrivalMs: number;
}

/**
 * Frame `n` of the test signal: every sample identifies its frame and is loud, because skipping it would be
 * audible.
 */
const voice = (n: number) => new Int16Array(160).fill(1000 + n);

interface Slot {
  readonly kind: FrameKind;
  /** Frame of the signal that was played, or null when the slot has no audio of its own. */
  readonly frame: number | null;
}

/** Plays packets through a buffer, one slot every 20 ms from `firstSlotMs`. */
function run(
  packets: readonly Packet[],
  options: {
    slots: number;
    firstSlotMs?: number;
    firstTimestamp?: number;
    signal?: (n: number) => Int16Array;
  },
): Slot[] {
  const buffer = new JitterBuffer(8000, 8000);
  const waiting = [...packets].sort((a, b) => a.arrivalMs - b.arrivalMs);
  const out = new Int16Array(160);
  const first = options.firstTimestamp ?? 0;
  return Array.from({ length: options.slots }, (_, slot) => {
    const nowMs = (options.firstSlotMs ?? 3) + slot * 20;
    while (waiting[0] && waiting[0].arrivalMs <= nowMs) {
      const packet = waiting.shift() as Packet;
      const signal = options.signal ?? voice;
      buffer.push((first + packet.timestamp) % 2 ** 32, signal(packet.timestamp / 160), packet.arrivalMs);
    }
    const kind = buffer.pull(out, nowMs);
    return { kind, frame: kind === 'audio' ? (out[0] ?? 0) - 1000 : null };
  });
}

const regular = (count: number, delayMs: (n: number) => number = () => 0): Packet[] =>
  Array.from({ length: count }, (_, n) => ({ timestamp: n * 160, arrivalMs: 100 + n * 20 + delayMs(n) }));

const played = (slots: readonly Slot[]) =>
  slots.filter((slot) => slot.frame !== null).map((slot) => slot.frame);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('the jitter buffer', () => {
  it('plays a steady stream completely and in order, at most 40 ms late', () => {
    const slots = run(regular(50), { slots: 70 });
    expect(played(slots)).toEqual(upTo(50));
    const firstSlotMs = 3 + slots.findIndex((slot) => slot.kind === 'audio') * 20;
    expect(firstSlotMs - 100).toBeLessThanOrEqual(40);
  });

  it('continues when the timestamp wraps', () => {
    expect(played(run(regular(50), { slots: 70, firstTimestamp: 2 ** 32 - 1600 }))).toEqual(upTo(50));
  });

  it('puts reordered packets back in order', () => {
    const packets = regular(50, (n) => (n % 10 === 5 ? 18 : 0));
    expect(played(run(packets, { slots: 70 }))).toEqual(upTo(50));
  });

  it('conceals one lost packet, and fades to silence when more are lost', () => {
    const one = run(
      regular(30).filter((packet) => packet.timestamp !== 1600),
      { slots: 40 },
    );
    const whole = one.slice(
      0,
      one.findIndex((slot) => slot.frame === 29),
    );
    expect(whole.filter((slot) => slot.kind === 'concealed')).toHaveLength(1);
    expect(played(one)).toEqual(upTo(30).filter((n) => n !== 10));
    const gap = run(
      regular(30).filter(({ timestamp }) => timestamp < 1600 || timestamp >= 3200),
      { slots: 40 },
    );
    const kinds = gap.map((slot) => slot.kind);
    const start = gap.findIndex((slot) => slot.frame === 9) + 1;
    expect(kinds.slice(start, start + 10)).toEqual([
      ...Array(3).fill('concealed'),
      ...Array(7).fill('absent'),
    ]);
    expect(gap[start + 10]).toEqual({ kind: 'audio', frame: 20 });
  });

  it('increases the delay on a rough network, and then loses nothing', () => {
    const delays = [0, 35, 10, 55, 5, 25, 45];
    const packets = regular(300, (n) => (n > 50 ? (delays[n % delays.length] ?? 0) : 0));
    const slots = run(packets, { slots: 330 });
    const lateHalf = slots.slice(160, 290);
    expect(lateHalf.filter((slot) => slot.kind !== 'audio')).toEqual([]);
  });

  it('reduces the delay once the network is calm and the caller pauses', () => {
    const quiet = () => new Int16Array(160).fill(10);
    const packets = regular(1500, (n) => (n > 50 && n < 100 ? (n % 3) * 30 : 0));
    const buffer = new JitterBuffer(8000, 8000);
    const out = new Int16Array(160);
    let peakMs = 0;
    for (const [slot, packet] of packets.entries()) {
      buffer.push(packet.timestamp, quiet(), packet.arrivalMs);
      buffer.pull(out, 103 + slot * 20);
      peakMs = Math.max(peakMs, buffer.delayMs);
    }
    expect(peakMs).toBeGreaterThan(50);
    expect(buffer.delayMs).toBeLessThan(25);
  });

  it('marks the silence a sender announces, and the audio after it', () => {
    const buffer = new JitterBuffer(8000, 8000);
    const out = new Int16Array(160);
    const kinds: FrameKind[] = [];
    for (let n = 0; n < 40; n++) {
      if (n < 10 || n >= 30) buffer.push(n * 160, voice(n), 100 + n * 20);
      if (n === 10) buffer.pushSilence(n * 160, 100 + n * 20);
      kinds.push(buffer.pull(out, 103 + n * 20));
    }
    expect(kinds.filter((kind) => kind === 'silent').length).toBeGreaterThan(15);
    expect(kinds).not.toContain('concealed');
    expect(kinds.at(-1)).toBe('audio');
  });

  it('follows a sender whose timeline jumps or stalls', () => {
    const forward = regular(60).map(({ timestamp, arrivalMs }, n) => ({
      timestamp: n < 30 ? timestamp : timestamp + 8_000_000,
      arrivalMs,
    }));
    const jumped = run(forward, { slots: 80, signal: () => voice(0) });
    expect(jumped.filter((slot) => slot.kind === 'audio').length).toBeGreaterThan(55);
    const paused = regular(60, (n) => (n < 30 ? 0 : 3000));
    const resumed = run(paused, { slots: 240 });
    expect(resumed.slice(-30 - 25).filter((slot) => slot.kind === 'audio').length).toBeGreaterThan(18);
  });

  it('follows a drifting sender without underrun or growing delay', () => {
    const packets = Array.from({ length: 3000 }, (_, n) => ({
      timestamp: n * 160,
      arrivalMs: 100 + n * 20.01,
    }));
    const slots = run(packets, {
      slots: 3000,
      signal: (n) => new Int16Array(160).fill(n % 10 === 0 ? 0 : 1000),
    });
    expect(slots.filter((slot) => slot.kind === 'audio').length).toBeGreaterThan(2970);
  });

  it('plays no frame twice or out of order, whatever the network does', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ delayMs: fc.nat(120), isLost: fc.boolean() }), { minLength: 5, maxLength: 80 }),
        (fates) => {
          const packets = fates.flatMap((fate, n) =>
            fate.isLost ? [] : [{ timestamp: n * 160, arrivalMs: 100 + n * 20 + fate.delayMs }],
          );
          const frames = played(run(packets, { slots: fates.length + 20 }));
          expect(frames.every((frame, n) => n === 0 || (frame ?? 0) > (frames[n - 1] ?? 0))).toBe(true);
        },
      ),
    );
  });
});
