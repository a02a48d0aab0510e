import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { NO_OTHER_REPLICAS, type OtherReplicas } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import type { WorkerAnswer } from '#protocol/worker-link.ts';

describe('an announcement of speech models', () => {
  it('reaches the other workers if one cannot be reached, and then fails', () => {
    const reached: string[] = [];
    const dispatch = new WorkerDispatch({
      workers: new ConnectedWorkers(createLogger({ level: 'silent', name: 'test' })),
      others: {
        ...NO_OTHER_REPLICAS,
        instanceIds: () => ['first', 'lost', 'last'],
        tell(instanceId) {
          if (instanceId === 'lost') throw fault('gateway_unreachable');
          reached.push(instanceId);
        },
      },
      speaking: new SpeakingAgents(systemClock),
    });
    expect(() => dispatch.announceSpeechModels(['tiny-en'])).toThrow('workers not reached: 1');
    expect(reached).toEqual(['first', 'last']);
  });
});

describe('the judgement of pauses', () => {
  const tally = { calls: 1, pauses: 2, judged: 2, settings: [] };
  let answer: WorkerAnswer;
  beforeEach(() => {
    answer = { ok: true, value: tally };
  });
  const dispatchTo = (asked: string[], ...workers: ReturnType<OtherReplicas['workers']>) =>
    new WorkerDispatch({
      workers: new ConnectedWorkers(createLogger({ level: 'silent', name: 'test' })),
      others: {
        ...NO_OTHER_REPLICAS,
        workers: () => workers,
        async ask(instanceId) {
          asked.push(instanceId);
          return answer;
        },
      },
      speaking: new SpeakingAgents(systemClock),
    });
  const worker = { kinds: [], capacity: 4, freeSlots: 4, isWebReady: true };

  it('is asked of a worker that can give it, also of another replica', async () => {
    const asked: string[] = [];
    const newer = { ...worker, instanceId: 'newer', judgesPauses: true };
    const dispatch = dispatchTo(asked, { ...worker, instanceId: 'older' }, newer);
    expect(await dispatch.judgePauses(['log'])).toEqual(tally);
    expect(asked).toEqual(['newer']);
  });

  it('is refused at once while all workers are of an older version', async () => {
    const asked: string[] = [];
    const dispatch = dispatchTo(asked, { ...worker, instanceId: 'older' });
    await expect(dispatch.judgePauses(['log'])).rejects.toMatchObject({ code: 'no_capacity' });
    expect(asked).toEqual([]);
  });

  it('is refused when too many others wait for the worker', async () => {
    const dispatch = dispatchTo([], { ...worker, instanceId: 'newer', judgesPauses: true });
    answer = { ok: false, code: 'no_capacity', message: 'busy' };
    await expect(dispatch.judgePauses(['log'])).rejects.toMatchObject({ code: 'no_capacity' });
  });
});
