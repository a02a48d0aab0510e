import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { NO_OTHER_REPLICAS, type OtherReplicas } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import type { TestCallOutcome, TestCallQuestion } from '#protocol/test-call-question.ts';
import type { WorkerAnswer } from '#protocol/worker-link.ts';

const WORKER = { kinds: [], capacity: 4, freeSlots: 4, isWebReady: true };

const QUESTION: TestCallQuestion = {
  ...{ step: 'move', model: 'openai/gpt-4.1', local_models: [], persona: null },
  ...{ goal: 'A table', turns: [], moves_left: 1 },
};

let answer: WorkerAnswer;

/** A replica without workers beside one with these, which answer with `answer`. */
function dispatchTo(asked: string[], ...workers: ReturnType<OtherReplicas['workers']>): WorkerDispatch {
  return new WorkerDispatch({
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
}

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
  beforeEach(() => {
    answer = { ok: true, value: tally };
  });
  it('is asked of a worker that can give it, also of another replica', async () => {
    const asked: string[] = [];
    const newer = { ...WORKER, instanceId: 'newer', judgesPauses: true };
    const dispatch = dispatchTo(asked, { ...WORKER, instanceId: 'older' }, newer);
    expect(await dispatch.judgePauses(['log'])).toEqual(tally);
    expect(asked).toEqual(['newer']);
  });

  it('is refused at once while all workers are of an older version', async () => {
    const asked: string[] = [];
    const dispatch = dispatchTo(asked, { ...WORKER, instanceId: 'older' });
    await expect(dispatch.judgePauses(['log'])).rejects.toMatchObject({ code: 'no_capacity' });
    expect(asked).toEqual([]);
  });

  it('is refused when too many others wait for the worker', async () => {
    const dispatch = dispatchTo([], { ...WORKER, instanceId: 'newer', judgesPauses: true });
    answer = { ok: false, code: 'no_capacity', message: 'busy' };
    await expect(dispatch.judgePauses(['log'])).rejects.toMatchObject({ code: 'no_capacity' });
  });
});

it('a question about a test call is asked only of a worker that answers it', async () => {
  const outcome: TestCallOutcome = { outcome: 'judged', verdicts: [], cost_micros: 0 };
  answer = { ok: true, value: outcome };
  const asked: string[] = [];
  const newer = { ...WORKER, instanceId: 'newer', asksOfTestCalls: true };
  const dispatch = dispatchTo(asked, { ...WORKER, instanceId: 'older' }, newer);
  expect(await dispatch.askOfTestCall(QUESTION)).toEqual(outcome);
  expect(asked).toEqual(['newer']);
});
