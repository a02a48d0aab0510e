import { afterEach, beforeEach, expect, it } from 'vitest';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { startTestSignalling } from '#test/fakes/signalling.ts';
import { runSipp } from '#test/fakes/sipp.ts';
import { describeNeeds } from '#test/needs.ts';

/** Burst limit of a source; it does not refill while the clock is stopped. */
const SHARE = 1_200;

describeNeeds(['sipp'])('a flood by sipp', () => {
  let server: EmbeddedSignalling;

  beforeEach(async () => {
    server = await startTestSignalling({
      clock: new ManualClock(),
      admit: async () => ({ action: 'reject', data: { status: 404, reason: 'Not Found' } }),
    });
  });
  afterEach(() => server.close());

  it('is answered up to the limit of its source and then ignored, while another source is served', {
    timeout: 60_000,
  }, async () => {
    const { screen } = await runSipp('options', server.sipPort, [
      '-m',
      '4000',
      '-r',
      '2000',
      '-l',
      '4000',
      '-recv_timeout',
      '1000',
    ]);
    const answered = Number(/Successful call *\| +\d+ +\| +(\d+)/.exec(screen)?.[1]);
    expect(answered, screen).toBeGreaterThan(0);
    expect(answered).toBeLessThanOrEqual(SHARE);
    const { flooded } = server.metrics();
    expect(flooded).toBeGreaterThan(0);
    const again = await runSipp('options', server.sipPort, ['-m', '1', '-recv_timeout', '1000']);
    expect(again.code, again.screen).not.toBe(0);
    expect(server.metrics().flooded).toBeGreaterThan(flooded);
    const other = await runSipp('options', server.sipPort, ['-m', '1', '-i', '127.0.0.2']);
    expect(other.code, other.screen).toBe(0);
  });
});
