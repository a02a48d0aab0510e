import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { warmOnUse } from '#processes/warm-on-use.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

/** Of a process that works `workShare` of its time, on a machine of which `freeShare` processors are free. */
function waiting(isUsed = false) {
  const [http, clock] = [new EventEmitter(), new ManualClock()];
  const state = { calls: 0, warmed: 0, workShare: 0.01, freeShare: 1.5, isKnown: true };
  let [nowMs, workMs, freeMs] = [0, 0, 0];
  const timer = warmOnUse({
    http: http as never,
    clock,
    calls: {
      get isIdle() {
        return state.calls === 0;
      },
    },
    isUsed,
    warm: () => {
      state.warmed += 1;
    },
    timeUse: () => {
      const passedMs = clock.now() - nowMs;
      nowMs = clock.now();
      workMs += passedMs * state.workShare;
      freeMs += passedMs * state.freeShare;
      return { workMs, freeMs: state.isKnown ? freeMs : null };
    },
  });
  return { http, clock, timer, state, request: (url: string) => http.emit('request', { url }) };
}

describe('what is warmed up on use', () => {
  it('is warmed up once, after the first requests of the API or the console', async () => {
    const { clock, http, request, state } = waiting();
    request('/v1/agent/agents');
    request('/console');
    expect(state.warmed).toBe(0);
    await clock.advance(20_000);
    request('/v1/agent/sessions');
    await clock.advance(20_000);
    expect({ warmed: state.warmed, listeners: http.listenerCount('request') }).toEqual({
      warmed: 1,
      listeners: 0,
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('takes no CPU from a call that follows the first request, nor from the next one', async () => {
    const { clock, request, state } = waiting();
    request('/v1/agent/phone-calls');
    await clock.advance(3_000);
    state.calls = 1;
    await clock.advance(60_000);
    state.calls = 0;
    await clock.advance(5_000);
    state.calls = 1;
    await clock.advance(9_000);
    expect(state.warmed).toBe(0);
    state.calls = 0;
    await clock.advance(20_000);
    expect(state.warmed).toBe(1);
  });

  it.each([
    ['work that a call may have brought', { workShare: 0.2 }, { workShare: 0.01 }],
    ['others that use the processors', { freeShare: 0.5 }, { freeShare: 1.5 }],
  ])('waits for ten seconds without %s', async (_, busy, quiet) => {
    const { clock, request, state } = waiting();
    request('/console');
    await clock.advance(5_000);
    Object.assign(state, busy);
    await clock.advance(20_000);
    Object.assign(state, quiet);
    await clock.advance(9_000);
    expect(state.warmed).toBe(0);
    await clock.advance(2_000);
    expect(state.warmed).toBe(1);
  });

  it('does not wait for a free processor where nothing is known of them', async () => {
    const { clock, request, state } = waiting();
    state.isKnown = false;
    request('/console');
    await clock.advance(11_000);
    expect(state.warmed).toBe(1);
  });

  it('is warmed up for conversations over a WebSocket, which begin with an upgrade', async () => {
    const { clock, http, state } = waiting();
    http.emit('upgrade', { url: '/v1/agent/sessions/s/socket' });
    await clock.advance(11_000);
    expect(state.warmed).toBe(1);
    expect(http.eventNames()).toEqual([]);
  });

  it.each(['/healthz', '/readyz', '/metrics', '/internal/sip/workers', '/v10'])(
    'is left alone by %s',
    async (url) => {
      const { clock, request, state } = waiting();
      request(url);
      await clock.advance(20_000);
      expect(state.warmed).toBe(0);
    },
  );

  it('is warmed up without a request if it is used anyway', async () => {
    const { clock, state } = waiting(true);
    await clock.advance(1_000);
    expect(state.warmed).toBe(1);
  });

  it('leaves no timer and no listener behind once it is cancelled', () => {
    const { clock, http, request, timer } = waiting();
    request('/v1/agent/agents');
    timer.cancel();
    expect([clock.pendingTimers, http.eventNames()]).toEqual([0, []]);
  });
});
