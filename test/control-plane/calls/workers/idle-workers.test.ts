import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import type { OfferVerdict, WorkerConnection } from '#control-plane/calls/workers/worker-connection.ts';

it.each([
  ['declines', 'full', true],
  ['accepts', 'accepted', false],
] as const)('the workers are not idle while one %s a job', async (_, verdict, isIdle) => {
  const workers = new ConnectedWorkers(createLogger({ level: 'silent', name: 'test' }));
  const answered = Promise.withResolvers<OfferVerdict>();
  const load = { calls: 0, freeSlots: 1, loopLagMs: 0 };
  const worker = {
    registration: { instance_id: 'w1', kinds: ['web'], capacity: 1, supervisor_run: null, sip_tag: null },
    load,
    isWebReady: true,
    sipServers: null,
    send: () => undefined,
    waitForVerdict: () => answered.promise,
  };
  workers.add(worker as unknown as WorkerConnection, []);
  expect(workers.isIdle).toBe(true);
  const placed = workers.placeHere({ sessionId: 's1', epoch: 1, kind: 'web', sipCallId: null });
  expect(workers.isIdle).toBe(false);
  // As its connection does.
  if (verdict === 'accepted') load.calls += 1;
  answered.resolve(verdict);
  await placed;
  expect(workers.isIdle).toBe(isIdle);
});
