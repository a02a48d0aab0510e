import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { NO_OTHER_REPLICAS } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';

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
