/** When a registration is refreshed, tried again and left alone. */
import { describe, expect, it } from 'vitest';
import { readRegisterAnswer } from '#telephony/registration/register-answer.ts';
import type { RoundFailure, RoundOutcome } from '#telephony/registration/registration-round.ts';
import {
  afterLostPing,
  afterRound,
  newRegistration,
  purposeOf,
  type RegistrationState,
} from '#telephony/registration/registration-state.ts';

const NOW = 1_000_000;
const planning = (random = 0, nowMs = NOW) => ({ nowMs, random: () => random, keepAliveSeconds: 0 });
const SENT = {
  server: 'sip-1',
  hop: 'sip:192.0.2.7',
  contact: 'sip:t@192.0.2.1:5060',
  address: '192.0.2.7',
  addresses: ['192.0.2.7'],
  transport: 'udp',
};
const VIA = 'SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK1;rport=5060;received=192.0.2.1';

function answerOf(via = VIA) {
  const headers = [{ name: 'Via', value: via }];
  const about = { sourceAddress: '192.0.2.7', contact: SENT.contact, server: 'sip-1' };
  return readRegisterAnswer({ status: 200, reason: 'OK', headers, ...about });
}

const registered = (grantedSeconds: number, via?: string): RoundOutcome => ({
  is: 'registered',
  grantedSeconds,
  askedSeconds: grantedSeconds,
  answer: answerOf(via),
});
const failure = (over: Partial<RoundFailure> = {}): RoundFailure => ({
  is: 'failed',
  status: 500,
  text: 'x',
  retryAfterSeconds: null,
  ...over,
});
const waitOf = (state: RegistrationState, nowMs = NOW) => Math.round((state.dueMs - nowMs) / 1_000);
const step = (state: RegistrationState, outcome: RoundOutcome, random = 0, nowMs = NOW) =>
  afterRound(state, outcome, { sent: SENT, planning: planning(random, nowMs) });
const fresh = () => step(newRegistration(NOW), registered(600));

describe('a registration', () => {
  it.each([
    [0, 300],
    [1, 240],
  ])('is refreshed after half of its time or a little less (chance %d)', (random, seconds) => {
    expect(waitOf(step(newRegistration(NOW), registered(600), random))).toBe(seconds);
  });

  it('registers first, sends signs of life while it is fresh, and registers again', () => {
    const state = fresh();
    expect(purposeOf(newRegistration(NOW), NOW)).toBe('register');
    expect(purposeOf(state, NOW + 299_000)).toBe('ping');
    expect(purposeOf(state, NOW + 300_000)).toBe('register');
  });

  it('that fails waits 30 to 60 s, then twice as long, up to half an hour', () => {
    let state = newRegistration(NOW);
    const waits = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      state = step(state, failure());
      waits.push(waitOf(state));
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 900, 900, 900]);
    expect(waitOf(step(newRegistration(NOW), failure(), 1))).toBe(60);
  });

  it('that fails while it is still valid tries again before it runs out', () => {
    expect(waitOf(step(fresh(), failure(), 1, NOW + 560_000), NOW + 560_000)).toBe(20);
  });

  it('that is refused from the start is left alone for an hour', () => {
    const state = step(newRegistration(NOW), failure({ is: 'refused', status: 403 }), 1);
    expect([state.status, waitOf(state)]).toEqual(['refused', 3_600]);
  });

  it('that is refused after it worked is tried three times first: a PBX may be starting', () => {
    let state = { ...fresh(), registeredUntilMs: NOW };
    const waits = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      state = step(state, failure({ is: 'refused', status: 403 }), 1) as typeof state;
      waits.push(waitOf(state));
    }
    expect(waits).toEqual([60, 120, 3_600]);
  });

  it.each([
    [2, 5],
    [120, 120],
    [86_400, 3_600],
  ])('obeys Retry-After of %i s by waiting %i s', (retryAfterSeconds, seconds) => {
    expect(waitOf(step(newRegistration(NOW), failure({ retryAfterSeconds })))).toBe(seconds);
  });

  it('without signalling asks again in seconds and counts no failure', () => {
    const state = step(newRegistration(NOW), { is: 'unsent' });
    expect([waitOf(state), state.failures, state.status]).toEqual([2, 0, 'registering']);
  });

  it('registers at once with the address at which it is seen, but not again and again', () => {
    const elsewhere = (port: number) =>
      `SIP/2.0/UDP 10.0.0.1:5060;branch=z9hG4bK1;received=198.51.100.9;rport=${port}`;
    let state = newRegistration(NOW);
    const dues = [];
    for (let port = 40_000; port < 40_005; port++) {
      state = step(state, registered(600, elsewhere(port)));
      dues.push(waitOf(state));
    }
    expect(dues).toEqual([0, 0, 0, 300, 300]);
    expect(state.contactPlace).toBe('198.51.100.9:40004');
  });

  it('over a connection keeps its Contact, whatever port the connection has', () => {
    const via = 'SIP/2.0/TCP 192.0.2.1:5060;branch=z9hG4bK1;received=192.0.2.1;rport=53211';
    const sent = { ...SENT, transport: 'tcp' };
    const state = afterRound(newRegistration(NOW), registered(600, via), { sent, planning: planning() });
    expect([state.contactPlace, waitOf(state)]).toEqual([null, 300]);
  });

  it('registers again after an unanswered sign of life, and then knows a PBX that ignores them', () => {
    const doubted = afterLostPing(fresh(), planning());
    expect([purposeOf(doubted, NOW), doubted.pings]).toEqual(['register', 'doubted']);
    const again = step(doubted, registered(600));
    const ignored = afterLostPing(again, planning());
    expect([purposeOf(ignored, NOW), ignored.pings]).toEqual(['ping', 'unanswering']);
  });

  it('registers again when another SIP server has sent its sign of life', () => {
    const outcome: RoundOutcome = { is: 'answered', answer: answerOf() };
    const sent = { ...SENT, server: 'sip-2' };
    const state = afterRound(fresh(), outcome, { sent, planning: planning() });
    expect(purposeOf(state, NOW)).toBe('register');
  });
});
