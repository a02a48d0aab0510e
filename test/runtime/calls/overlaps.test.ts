import { expect, it } from 'vitest';
import { testPlan } from '../test-plan.ts';
import { FIXED, setUp } from './test-call.ts';

it('a caller who speaks while the agent goes on is reported as talked over, once', async () => {
  const plan = testPlan({ ...FIXED, conversation: { interruptible: false } });
  const { openLeg, run, reports, world } = setUp(plan);
  const leg = openLeg();
  await run(300);
  const startedAt = new Date(world.wallTime()).toISOString();
  leg.emit({ type: 'voice.onset', atMs: world.now(), decidedAtMs: world.now() });
  await run(700);
  leg.emit({ type: 'voice.offset', atMs: world.now(), decidedAtMs: world.now(), voicedMs: 700 });
  await run(5_000);
  expect(reports.filter(({ type }) => type === 'overlap')).toEqual([
    { type: 'overlap', overlap: { started_at: startedAt, duration_ms: 700, begun_by: 'caller' } },
  ]);
});
