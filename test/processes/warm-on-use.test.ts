import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { warmOnUse } from '#processes/warm-on-use.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

function waiting() {
  const [http, clock] = [new EventEmitter(), new ManualClock()];
  let warmed = 0;
  const timer = warmOnUse(http as never, clock, () => {
    warmed += 1;
  });
  return {
    http,
    clock,
    timer,
    request: (url: string) => http.emit('request', { url }),
    warmed: () => warmed,
  };
}

describe('what is warmed up on use', () => {
  it('is warmed up once, after the first requests of the API or the console', async () => {
    const { clock, http, request, warmed } = waiting();
    request('/v1/agent/agents');
    request('/console');
    expect(warmed()).toBe(0);
    await clock.advance(10_000);
    request('/v1/agent/sessions');
    await clock.advance(10_000);
    expect({ warmed: warmed(), listeners: http.listenerCount('request') }).toEqual({
      warmed: 1,
      listeners: 0,
    });
  });

  it.each(['/healthz', '/readyz', '/metrics', '/internal/sip/workers', '/v10'])(
    'is left alone by %s',
    async (url) => {
      const { clock, request, warmed } = waiting();
      request(url);
      await clock.advance(10_000);
      expect(warmed()).toBe(0);
    },
  );

  it('leaves no timer and no listener behind once it is cancelled', () => {
    const { clock, http, request, timer } = waiting();
    request('/v1/agent/agents');
    timer.cancel();
    expect([clock.pendingTimers, http.listenerCount('request')]).toEqual([0, 0]);
  });
});
