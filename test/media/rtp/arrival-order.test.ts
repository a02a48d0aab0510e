/** Decoders and the detector receive packets in order even when packets overtake each other. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ArrivalOrder } from '#media/rtp/arrival-order.ts';

const WAIT_MS = 40;
const packet = (sequence: number) => ({
  marker: false,
  payloadType: 0,
  sequence: sequence & 0xffff,
  timestamp: 160 * sequence,
  ssrc: 1,
  payload: Uint8Array.of(sequence),
});

/**
 * Which packets are released, and when, for these arrival times; every 20 ms, missing packets are given up
 * once later ones have waited 40 ms.
 */
function passed(arrivals: readonly { readonly sequence: number; readonly atMs: number }[]) {
  const heard: { sequence: number; atMs: number }[] = [];
  let nowMs = 0;
  const order = new ArrivalOrder(({ sequence }) => heard.push({ sequence, atMs: nowMs }));
  const coming = [...arrivals].sort((one, other) => one.atMs - other.atMs);
  for (; nowMs < 2_000; nowMs++) {
    for (; coming[0] && coming[0].atMs <= nowMs; coming.shift())
      order.push(packet(coming[0].sequence), nowMs);
    if (nowMs % 20 === 0) order.giveUp((_, arrivedMs) => nowMs - arrivedMs >= WAIT_MS);
  }
  return heard;
}

const numbers = (heard: readonly { readonly sequence: number }[]) => heard.map(({ sequence }) => sequence);

describe('the packets of a stream', () => {
  it('pass at once when none is missing, also when the sequence number wraps', () => {
    const arrivals = [0xfffe, 0xffff, 0x10000, 0x10001].map((sequence, n) => ({
      sequence,
      atMs: 20 * n + 7,
    }));
    expect(passed(arrivals)).toEqual(
      arrivals.map(({ sequence, atMs }) => ({ sequence: sequence & 0xffff, atMs })),
    );
  });

  it('wait for the packet they overtook, and no longer than the limit when it never arrives', () => {
    expect(numbers(passed([0, 2, 1, 3].map((sequence, place) => ({ sequence, atMs: 10 * place }))))).toEqual([
      0, 1, 2, 3,
    ]);
    const heard = passed([0, 2, 3, 4, 5].map((sequence) => ({ sequence, atMs: 20 * sequence })));
    expect(numbers(heard)).toEqual([0, 2, 3, 4, 5]);
    for (const { sequence, atMs } of heard) expect(atMs - 20 * sequence).toBeLessThanOrEqual(WAIT_MS);
    expect(heard.at(-1)?.atMs).toBe(100);
  });

  it('keep their content and arrival time while they wait', () => {
    const heard: unknown[] = [];
    const order = new ArrivalOrder(({ payload }, arrivedMs) => heard.push([...payload, arrivedMs]));
    const early = packet(2);
    order.push(packet(0), 1);
    order.push(early, 5);
    early.payload.fill(0);
    order.push(packet(1), 9);
    expect(heard).toEqual([
      [0, 1],
      [1, 9],
      [2, 5],
    ]);
  });

  it('resume at once when the sender renumbers, ahead or behind', () => {
    const ahead = [0, 1, 2_000, 2_001].map((sequence, n) => ({ sequence, atMs: 20 * n }));
    expect(passed(ahead)).toEqual(ahead);
    const behind = Array.from({ length: 30 }, (_, n) => ({ sequence: n < 10 ? 5_000 + n : n, atMs: 20 * n }));
    expect(numbers(passed(behind)).slice(-10)).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  });

  it('are reported as late when their successors have already passed', () => {
    const order = new ArrivalOrder(() => undefined);
    expect([0, 2, 1, 1, 3].map((sequence) => order.push(packet(sequence), 0))).toEqual([
      true,
      true,
      true,
      false,
      true,
    ]);
  });

  it('all pass, once and in order, under 60 ms of jitter', () => {
    const jitters = fc.array(fc.integer({ min: 0, max: 59 }), { minLength: 30, maxLength: 60 });
    fc.assert(
      fc.property(jitters, (delays) => {
        // The first packet marks the start of the stream.
        const heard = passed(
          delays.map((delay, sequence) => ({ sequence, atMs: 20 * sequence + (sequence === 0 ? 0 : delay) })),
        );
        expect(numbers(heard)).toEqual(delays.map((_, sequence) => sequence));
      }),
      { numRuns: 100 },
    );
  });
});
