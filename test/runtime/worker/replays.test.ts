import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storedLog } from '../replay/logged-call.ts';
import { openTestWorker, type TestWorker } from './open-test-worker.ts';

let bench: TestWorker;
beforeEach(async () => {
  bench = await openTestWorker();
});
afterEach(() => bench.close());

describe('a finished call', () => {
  // A separate thread reloads the turn machine, which takes seconds on a busy machine.
  const patience = { timeout: 60_000 };

  it(
    'is rerun with other settings, and the point of divergence is reported in wall time',
    patience,
    async () => {
      await bench.start();
      const log = await storedLog(1);
      expect(await bench.dispatch.replay(log, {})).toEqual({ divergence: null });
      const { divergence } = await bench.dispatch.replay(log, { hangup_after_seconds: 10 });
      const began = Date.parse(JSON.parse(log.slice(0, log.indexOf('\n'))).wall_time);
      expect(Date.parse(divergence?.was?.at ?? divergence?.would_be?.at ?? '')).toBeGreaterThan(began);
      expect(divergence?.judged).toBeGreaterThan(0);
      expect(divergence?.judged).toBeLessThan(1);
    },
  );

  it('is rerun in the turn machine that ran it, if that was an older one', patience, async () => {
    await bench.start();
    const older = (await storedLog(1)).replace(/"machine_version":\d+/, '"machine_version":18');
    const { divergence } = await bench.dispatch.replay(older, { hangup_after_seconds: 10 });
    expect(divergence?.judged).toBeGreaterThan(0);
    expect((await bench.dispatch.judgePauses([older])).calls).toBe(1);
  });

  it('is rejected if its log has an unknown version or is not a log', patience, async () => {
    await bench.start();
    const log = await storedLog(1);
    const older = log.replace(/"machine_version":\d+/, '"machine_version":0');
    await expect(bench.dispatch.replay(older, {})).rejects.toMatchObject({ code: 'not_replayable' });
    await expect(bench.dispatch.replay('torn', {})).rejects.toMatchObject({ code: 'not_replayable' });
  });

  it('has its pauses judged together with those of others', patience, async () => {
    await bench.start();
    const tally = await bench.dispatch.judgePauses(await Promise.all([1, 2].map(storedLog)));
    expect(tally.calls).toBe(2);
    expect(tally.judged).toBeGreaterThan(0);
    expect(tally.settings[0]?.conversation).toEqual({});
    expect(tally.settings).toContainEqual(
      expect.objectContaining({ conversation: expect.objectContaining({ eagerness: 'eager' }) }),
    );
  });

  it('is rehearsed together with others under a draft', patience, async () => {
    await bench.start();
    const changes = { eagerness: 'eager' } as const;
    const logs = await Promise.all([1, 2].map(storedLog));
    const outcomes = await bench.dispatch.rehearse(
      logs.map((log, index) => ({ session_id: `call-${index}`, log, changes })),
    );
    expect(outcomes.map(({ session_id, outcome }) => [session_id, outcome])).toEqual([
      ['call-0', 'run'],
      ['call-1', 'run'],
    ]);
  });

  it('has its regret measured together with others, also under other settings', patience, async () => {
    await bench.start();
    const candidates = [{ eagerness: 'eager', response_wait_ms: 300 }] as const;
    const logs = [await storedLog(1), 'torn'];
    const outcomes = await bench.dispatch.measureRegret(
      logs.map((log, index) => ({ session_id: `call-${index}`, log, candidates: [...candidates] })),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['measured', 'unreadable']);
    const [first] = outcomes;
    expect(first?.outcome === 'measured' && first.candidates).toHaveLength(1);
  });

  it('does not wait when there is no worker', async () => {
    await expect(bench.dispatch.replay(await storedLog(1), {})).rejects.toMatchObject({
      code: 'no_capacity',
    });
    await bench.start();
  });
});
