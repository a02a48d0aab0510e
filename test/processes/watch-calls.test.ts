import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { watchCalls } from '#processes/watch-calls.ts';

function watched() {
  const [http, internal] = [new EventEmitter(), new EventEmitter()];
  const workers = { isIdle: true };
  const calls = watchCalls(workers, [http, internal] as never);
  const request = (method: string, server = http) => {
    const response = new EventEmitter();
    server.emit('request', { method }, response);
    return () => response.emit('close');
  };
  return { calls, workers, internal, request };
}

describe('the calls of a control plane', () => {
  it('are those of its workers', () => {
    const { calls, workers } = watched();
    expect(calls.isIdle).toBe(true);
    workers.isIdle = false;
    expect(calls.isIdle).toBe(false);
  });

  it('are also those that a request may be creating, until it is answered', () => {
    const { calls, request, internal } = watched();
    const answers = [request('POST'), request('POST', internal)];
    expect(calls.isIdle).toBe(false);
    answers[0]?.();
    expect(calls.isIdle).toBe(false);
    answers[1]?.();
    expect(calls.isIdle).toBe(true);
  });

  it('are not those requests that read, such as an open stream of events', () => {
    const { calls, request } = watched();
    request('GET');
    expect(calls.isIdle).toBe(true);
  });
});
