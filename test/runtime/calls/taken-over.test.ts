import { describe, expect, it } from 'vitest';
import { testPlan } from '../test-plan.ts';
import { FIXED, setUp } from './test-call.ts';

const LOST_AT = '2026-01-01T00:00:05.000Z';

function takenOver() {
  const failoverState = {
    items: [],
    was_cut_off: false,
    elapsed_ms: 5_100,
    lost_at: LOST_AT,
    dialog: null,
    person: null,
  };
  const set = setUp(testPlan(FIXED), null, null, failoverState);
  const of = (type: 'joined' | 'ended') => set.reports.filter((report) => report.type === type);
  return { ...set, of };
}

describe('a call that was taken over', () => {
  it('is joined again, once, when its leg connects', async () => {
    const { openLeg, run, of } = takenOver();
    await run(100);
    expect(of('joined')).toEqual([]);
    openLeg('webrtc');
    await run(100);
    openLeg('webrtc');
    await run(100);
    expect(of('joined')).toHaveLength(1);
  });

  it('has ended when its last worker was lost if it ends before its caller is back', async () => {
    const { call, run, of } = takenOver();
    await run(100);
    call.end('agent_hangup');
    await run(1_000);
    expect(of('ended')).toMatchObject([{ at: LOST_AT, end_reason: 'agent_hangup' }]);
  });

  it('ends with its leg once its caller is back', async () => {
    const { openLeg, run, of } = takenOver();
    const leg = openLeg('rtp');
    await run(3_000);
    leg.close('remote');
    await run(100);
    expect(of('ended')).toMatchObject([{ end_reason: 'user_hangup' }]);
    expect(of('ended')).not.toMatchObject([{ at: LOST_AT }]);
  });
});
