import { describe, expect, it } from 'vitest';
import type { ReferListener, ReferRequest } from '#telephony/signalling.ts';
import { type ReferInput, type ReferOutcome, referCall, referStep, SENT } from '#telephony/transfer.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const response = (status: number): ReferInput => ({ is: 'response', status });
const notify = (status: number | null, isLast = false): ReferInput => ({ is: 'notify', status, isLast });

/** Processes the facts in order; null while the REFER is still pending. */
function outcomeOf(facts: readonly ReferInput[]): ReferOutcome | null {
  let { state } = SENT;
  for (const fact of facts) {
    const step = referStep(state, fact);
    if ('outcome' in step) return step.outcome;
    state = step.state;
  }
  return null;
}

describe('RFC 3515 what becomes of a REFER', () => {
  it.each<[string, ReferInput[], ReferOutcome | null]>([
    ['accepted, trying, ringing', [response(202), notify(100), notify(180)], null],
    [
      'accepted and answered',
      [response(202), notify(100), notify(180), notify(200, true)],
      { is: 'transferred' },
    ],
    ['answered before the response was there', [notify(200, true)], { is: 'transferred' }],
    [
      'accepted, and the carrier hangs up on us',
      [response(202), notify(100), { is: 'ended' }],
      { is: 'transferred' },
    ],
    [
      'accepted without a word, and the carrier hangs up on us',
      [response(202), { is: 'ended' }],
      { is: 'transferred' },
    ],
    ['not allowed', [response(405)], { is: 'refused', status: 405 }],
    ['forbidden', [response(403)], { is: 'refused', status: 403 }],
    ['not implemented', [response(501)], { is: 'refused', status: 501 }],
    ['declined', [response(603)], { is: 'refused', status: 603 }],
    ['could not be sent', [response(0)], { is: 'refused', status: 0 }],
    ['no response', [{ is: 'timeout' }], { is: 'refused', status: 408 }],
    ['hung up before the response', [{ is: 'ended' }], { is: 'refused', status: 408 }],
    [
      'accepted and nothing done about it',
      [response(202), { is: 'timeout' }],
      { is: 'refused', status: 408 },
    ],
    ['rang too long', [response(202), notify(180), { is: 'timeout' }], { is: 'failed', status: 408 }],
    ['busy', [response(202), notify(100), notify(486, true)], { is: 'failed', status: 486 }],
    ['declined by the one called', [response(202), notify(603, true)], { is: 'failed', status: 603 }],
    [
      'the subscription ended in the middle',
      [response(202), notify(180), notify(null, true)],
      { is: 'failed', status: 408 },
    ],
  ])('%s', (_, facts, outcome) => {
    expect(outcomeOf(facts)).toEqual(outcome);
  });

  it('gives an accepted REFER ten seconds for its first NOTIFY, and the callee 45 to ring', async () => {
    const clock = new ManualClock();
    let listener: ReferListener | null = null;
    const refer = (_: ReferRequest, next: ReferListener) => {
      listener = next;
    };
    const outcome = referCall({ clock, refer }, { target: 'sip:a@b', headers: {}, credentials: null });
    const carrier = listener as unknown as ReferListener;
    carrier.onResponse(202);
    await clock.advance(9_999);
    carrier.onNotify(180, false);
    await clock.advance(44_999);
    carrier.onNotify(180, false);
    await clock.advance(45_000);
    expect(await outcome).toEqual({ is: 'failed', status: 408 });
    // Too late to have any effect.
    carrier.onNotify(200, true);
  });
});
