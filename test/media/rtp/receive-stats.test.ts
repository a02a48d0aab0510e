import { expect, it } from 'vitest';
import { ReceiveStats } from '#media/rtp/receive-stats.ts';

const packet = (sequence: number, ssrc = 1) => ({
  marker: false,
  payloadType: 0,
  sequence: sequence % 65_536,
  timestamp: 0,
  ssrc,
  payload: new Uint8Array(0),
});

it('losses, reordering and duplicates are counted when the sequence number wraps', () => {
  const stats = new ReceiveStats();
  for (const sequence of [65_533, 65_534, 65_536, 65_535, 65_540, 65_540]) stats.count(packet(sequence));
  expect(stats.totals).toMatchObject({ packetsReceived: 6, packetsLost: 2 });
});

it('the streams of one leg are added up, and the start of a new one is reported', () => {
  const stats = new ReceiveStats();
  expect([packet(10), packet(12), packet(500, 2), packet(501, 2)].map((each) => stats.count(each))).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(stats.totals).toMatchObject({ packetsReceived: 4, packetsLost: 1 });
});

it('jitter is estimated as in RFC 3550 A.8', () => {
  const stats = new ReceiveStats();
  for (let n = 0; n < 500; n++) stats.time(n * 160, n * 20 + (n % 2) * 10, 8000);
  expect(stats.totals.jitterMs).toBeCloseTo(10, 1);
  const steady = new ReceiveStats();
  for (let n = 0; n < 50; n++) steady.time(n * 160, 7 + n * 20, 8000);
  expect(steady.totals.jitterMs).toBe(0);
});
