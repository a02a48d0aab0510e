/** design §5: the detector hears every packet, in order, although it listens ahead of the jitter buffer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ArrivalOrder } from '#media/rtp/arrival-order.ts';

const PACKET = new Int16Array(160);
const packet = (index: number) => ({ samples: PACKET, rtpMs: 20 * index, spokenMs: 20 * index });

/** What is given, and when, of packets that arrive at these times; the clock goes on in slots. */
function given(arrivals: readonly { readonly index: number; readonly atMs: number }[]) {
  const heard: { index: number; atMs: number }[] = [];
  let nowMs = 0;
  const order = new ArrivalOrder(8_000, ({ rtpMs }) => heard.push({ index: rtpMs / 20, atMs: nowMs }));
  const coming = [...arrivals].sort((one, other) => one.atMs - other.atMs);
  for (; nowMs < 2_000; nowMs++) {
    for (; coming[0] && coming[0].atMs <= nowMs; coming.shift()) order.push(packet(coming[0].index), nowMs);
    if (nowMs % 20 === 0) order.expire(nowMs);
  }
  return heard;
}

describe('packets ahead of the jitter buffer', () => {
  it('pass at once where none is missing', () => {
    const arrivals = [0, 1, 2, 3].map((index) => ({ index, atMs: 20 * index + 7 }));
    expect(given(arrivals)).toEqual(arrivals);
  });

  it('wait for the one they overtook, and no longer than 60 ms for one that never comes', () => {
    expect(given([0, 2, 1, 3].map((index, place) => ({ index, atMs: 10 * place }))).map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    const lossy = [0, 2, 3, 4, 5].map((index) => ({ index, atMs: 20 * index }));
    const heard = given(lossy);
    expect(heard.map(({ index }) => index)).toEqual([0, 2, 3, 4, 5]);
    for (const { index, atMs } of heard) expect(atMs - 20 * index).toBeLessThanOrEqual(60);
    expect(heard.at(-1)?.atMs).toBe(100);
  });

  it('go on at once after a pause of the sender', () => {
    const arrivals = [0, 1, 20, 21].map((index) => ({ index, atMs: 20 * index }));
    expect(given(arrivals)).toEqual(arrivals);
  });

  it('all are heard, once and in order, under 40 ms of jitter', () => {
    const jitters = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 30, maxLength: 60 });
    fc.assert(
      fc.property(jitters, (delays) => {
        // The first says where the stream begins.
        const heard = given(delays.map((delay, index) => ({ index, atMs: 20 * index + (index === 0 ? 0 : delay) })));
        expect(heard.map(({ index }) => index)).toEqual(delays.map((_, index) => index));
      }),
      { numRuns: 100 },
    );
  });
});
