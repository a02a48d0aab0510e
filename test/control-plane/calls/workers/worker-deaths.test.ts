import { expect, it, vi } from 'vitest';
import { createLogger } from '#base/log.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { MemorySink } from '../../../fakes/memory-sink.ts';
import { createTestHub } from '../../../fakes/test-hub.ts';

it('the calls of a dead worker are settled when the database is back', async () => {
  const clock = new ManualClock();
  const sink = new MemorySink();
  const workerDead = vi.spyOn(sink, 'workerDead').mockRejectedValueOnce(new Error('the database is away'));
  const { hub } = createTestHub({ clock, logger: createLogger({ level: 'silent', name: 'test' }), sink });
  const settled = hub.workerDied('gone', { isReplaced: true });
  // Time for its spool, then the pause between two attempts.
  await clock.advance(1_500);
  await vi.waitFor(() => expect(workerDead).toHaveBeenCalledTimes(1));
  await clock.advance(1_000);
  await settled;
  expect(sink.events).toEqual(['dead gone']);
  await hub.close();
});
