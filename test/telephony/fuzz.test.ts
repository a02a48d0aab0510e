import { describe, expect, it } from 'vitest';
import { fuzzDescriptions, fuzzRtp } from '#test/fuzz/sip/fuzz-media.ts';
import { fuzzSip } from '#test/fuzz/sip/fuzz-sip.ts';

const FIXED_SEED = 20_261_122;
const MOST_GROWTH_BYTES = 12 << 20;

/** 5,000 mutated messages; `npm run fuzz:sip` sends 100,000 of each kind, with its own seed. */
describe('under mutated SIP, SDP and RTP', () => {
  it('the server answers after each batch of messages, keeps no state, and still takes a call', async () => {
    const { statuses, heap, calls, metrics } = await fuzzSip({ seed: FIXED_SEED, runs: 3_000 });
    expect(metrics.flooded).toBe(0);
    expect(heap.late - heap.early).toBeLessThan(MOST_GROWTH_BYTES);
    // Messages must also get past the parser.
    for (const status of [100, 200, 400, 405, 481]) expect([...statuses.keys()]).toContain(status);
    expect(calls).toBeGreaterThan(50);
  });

  it('every session description is rejected, or answered with as many media sections as it has', async () => {
    const { answered, heap } = await fuzzDescriptions({ seed: FIXED_SEED, runs: 1_000 });
    expect(answered).toBeGreaterThan(100);
    expect(heap.late - heap.early).toBeLessThan(MOST_GROWTH_BYTES);
  });

  it('a call survives RTP and RTCP datagrams, and receives the audio that follows them', async () => {
    const { heap } = await fuzzRtp({ seed: FIXED_SEED, runs: 1_000 });
    expect(heap.late - heap.early).toBeLessThan(MOST_GROWTH_BYTES);
  });
});
