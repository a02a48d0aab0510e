import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFirstEvent } from '#control-plane/calls/outbox/payload.ts';
import {
  type SessionChange,
  type SessionEvent,
  type SessionFacts,
  step,
} from '#control-plane/calls/sessions/session-machine.ts';
import { isLive } from '#control-plane/platform/store/session-status.ts';
import { endReason } from '#protocol/session-record.ts';

const T0 = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(T0 + seconds * 1000);
const worker = { instance_id: 'w', supervisor_run: null, sip_tag: null };
const PRICE = 60_000;

function session(over: Partial<SessionFacts> = {}): SessionFacts {
  return {
    status: 'creating',
    status_at: at(0),
    direction: 'inbound',
    is_preview: false,
    dial_status: null,
    started_at: null,
    worker: null,
    epoch: 0,
    billing: { state: 'hold_due', at: at(0), price_per_minute: PRICE, hold: PRICE, due: 0 },
    analysis: { state: 'none', at: at(0), job_id: '', losses: {}, runs: 0, finished_at: null, result: null },
    ...over,
  };
}

const pending = session({ status: 'pending', billing: { ...session().billing, state: 'held' } });
const active = { ...pending, status: 'active' as const, started_at: at(10) };

/** Applies events in order and skips those that change nothing. */
function run(
  start: SessionFacts,
  events: readonly SessionEvent[],
): { session: SessionFacts; events: string[] } {
  const lives = history(start, events);
  return { session: lives.at(-1)?.session ?? start, events: lives.flatMap((life) => life.events) };
}

const hasEnded = ({ status }: SessionFacts) => status === 'completed' || status === 'failed';

/** Each change the events make, in order, with the resulting session. */
function history(start: SessionFacts, events: readonly SessionEvent[]) {
  const lives: { event: string; session: SessionFacts; events: SessionChange['events'] }[] = [];
  for (const event of events) {
    const now = lives.at(-1)?.session ?? start;
    const change = step(now, event);
    if (change) lives.push({ event: event.type, session: { ...now, ...change.set }, events: change.events });
  }
  return lives;
}

const EVENTS: readonly SessionEvent[] = [
  { type: 'hold.posted', at: at(20) },
  { type: 'hold.voided', at: at(20), held: 0 },
  { type: 'creation.refused', at: at(20) },
  { type: 'joined', at: at(20) },
  { type: 'link.lost', at: at(20) },
  { type: 'link.back', at: at(20) },
  { type: 'unknown.expired', since: at(0), at: at(0) },
  { type: 'failed_over', at: at(20), successor: { worker, epoch: 2 } },
  { type: 'dialled', at: at(20), dialStatus: 'answered' },
  { type: 'ended', at: at(20), reason: 'user_hangup' },
  { type: 'settled', at: at(20) },
  { type: 'analysis.requested', at: at(20) },
  { type: 'analysis.started', at: at(20), worker, epoch: 1, jobId: 'j' },
  { type: 'analysis.lost', at: at(20), loss: 'silent' },
  { type: 'analysis.finished', at: at(20), outcome: 'completed', result: null },
];

describe('the session machine', () => {
  it('every pair of status and event leads where the table says, and nowhere else', () => {
    const over = (status: 'completed' | 'failed') => ({
      ...active,
      status,
      billing: { ...pending.billing, state: 'settle_due' as const },
      analysis: { ...active.analysis, state: 'queued' as const },
    });
    const table = {
      creating: [session(), { 'hold.posted': 'pending', 'hold.voided': 'failed' }],
      pending: [
        pending,
        { 'creation.refused': 'failed', joined: 'active', failed_over: 'pending', ended: 'failed' },
      ],
      active: [active, { 'link.lost': 'unknown', failed_over: 'active', ended: 'completed' }],
      unknown: [
        { ...active, status: 'unknown' },
        {
          'link.back': 'active',
          'unknown.expired': 'completed',
          failed_over: 'active',
          ended: 'completed',
        },
      ],
      completed: [
        over('completed'),
        { settled: 'completed', 'analysis.started': 'completed', 'analysis.finished': 'completed' },
      ],
      failed: [{ ...over('failed'), analysis: pending.analysis }, { settled: 'failed' }],
    } as const satisfies Record<string, readonly [SessionFacts, Record<string, string>]>;
    const seen = Object.entries(table).map(([name, [facts]]) => [
      name,
      Object.fromEntries(
        EVENTS.flatMap((event) => {
          const change = step(facts, event);
          return change ? [[event.type, change.set.status ?? facts.status]] : [];
        }),
      ),
    ]);
    expect(Object.fromEntries(seen)).toEqual(
      Object.fromEntries(Object.entries(table).map(([name, [, expected]]) => [name, expected])),
    );
  });

  it.each([
    ['web', 30, 60_000 - 30_000],
    ['web', 60, 0],
    ['web', 0, 60_000],
    ['web', 90, -30_000],
    ['web', 61, -1_000],
  ])('charging: a %s call of %d s settles with %d micro-dollars', (_, seconds, due) => {
    const { session: ended } = run(active, [{ type: 'ended', at: at(10 + seconds), reason: 'user_hangup' }]);
    expect([ended.billing.state, ended.billing.due]).toEqual(['settle_due', due]);
  });

  it('a session that was active in between, or became unknown again, is not given up', () => {
    const again = { ...active, status: 'unknown' as const, status_at: at(30) };
    expect(step(again, { type: 'unknown.expired', since: at(20), at: at(20) })).toBeNull();
  });

  it('charging: the duration is rounded up to the second', () => {
    const change = step(active, {
      type: 'ended',
      at: new Date(at(10).getTime() + 29_001),
      reason: 'agent_hangup',
    });
    expect(change?.set).toMatchObject({ duration_seconds: 30, billing: { due: 30_000 } });
  });

  it('charging: a session that never connects gets a full refund and no event', () => {
    const change = step(pending, { type: 'ended', at: at(60), reason: 'room_join_timeout' });
    expect(change).toMatchObject({
      set: { status: 'failed', end_reason: 'room_join_timeout', billing: { due: PRICE } },
      events: [],
    });
    // The joined report arrived just before the deadline.
    for (const reason of ['room_join_timeout', 'agent_join_timeout'] as const)
      expect(step(active, { type: 'ended', at: at(60), reason })).toBeNull();
  });

  it('an unjoined session has end reasons of its own, whatever reason the worker reports', () => {
    const reasons = endReason.options.map((reason) => [
      reason,
      step(pending, { type: 'ended', at: at(1), reason })?.set.end_reason,
    ]);
    expect(Object.fromEntries(reasons)).toEqual({
      user_hangup: 'cancelled',
      agent_hangup: 'cancelled',
      escalated: 'cancelled',
      conversation_timeout: 'cancelled',
      heartbeat_timeout: 'cancelled',
      internal_error: 'cancelled',
      llm_endpoint_failure: 'cancelled',
      cancelled: 'cancelled',
      room_join_timeout: 'room_join_timeout',
      dial_failed: 'dial_failed',
      agent_join_timeout: 'agent_join_timeout',
    });
  });

  it('a caller whom no agent joined has a completed call of zero length', () => {
    const change = step(pending, { type: 'ended', at: at(5), reason: 'agent_join_timeout' });
    expect(change).toMatchObject({
      set: { status: 'completed', duration_seconds: 0, billing: { due: PRICE } },
      events: ['call.ended'],
    });
  });

  it('an unanswered dial emits dial_finished only, an answered one both events', () => {
    const outbound = { ...pending, direction: 'outbound' as const };
    const busy = run(outbound, [
      { type: 'dialled', at: at(5), dialStatus: 'busy' },
      { type: 'ended', at: at(5), reason: 'dial_failed' },
    ]);
    expect([busy.events, busy.session.dial_status, busy.session.status]).toEqual([
      ['phone_call.dial_finished'],
      'busy',
      'failed',
    ]);
    const hungUp = step(
      { ...outbound, dial_status: 'busy' },
      { type: 'ended', at: at(5), reason: 'dial_failed' },
    );
    expect(hungUp, 'its only event comes with the end of the call').toMatchObject({
      set: { status: 'failed', end_reason: 'dial_failed' },
      events: ['phone_call.dial_finished'],
    });
    const answered = run(outbound, [
      { type: 'dialled', at: at(5), dialStatus: 'answered' },
      { type: 'joined', at: at(5) },
      { type: 'ended', at: at(9), reason: 'user_hangup' },
    ]);
    expect(answered.events).toEqual(['phone_call.dial_finished', 'call.ended']);
    const cancelled = run(outbound, [{ type: 'ended', at: at(5), reason: 'cancelled' }]);
    expect([cancelled.events, cancelled.session.dial_status]).toEqual([
      ['phone_call.dial_finished'],
      'no_answer',
    ]);
  });

  it('previews are free and emit no events', () => {
    const preview = {
      ...active,
      is_preview: true,
      billing: { state: 'free' as const, at: at(0), price_per_minute: 0, hold: 0, due: 0 },
    };
    const change = step(preview, { type: 'ended', at: at(100), reason: 'user_hangup' });
    expect([change?.events, change?.set.billing]).toEqual([[], preview.billing]);
  });

  it('an analysis that runs again emits its event again', () => {
    const done = {
      ...active,
      status: 'completed' as const,
      analysis: { ...active.analysis, state: 'error' as const, runs: 1, losses: { suspected: 2 } },
    };
    const again = run(done, [
      { type: 'analysis.requested', at: at(50) },
      { type: 'analysis.started', at: at(51), worker, epoch: 7, jobId: 'x' },
      { type: 'analysis.finished', at: at(52), outcome: 'completed', result: null },
    ]);
    expect([again.events, again.session.analysis.runs, again.session.epoch]).toEqual([
      ['call.analyzed'],
      2,
      7,
    ]);
  });

  it('the worker of the call is known while others have its analysis', () => {
    const done = { ...active, status: 'completed' as const, worker, epoch: 2 };
    const { session } = run({ ...done, analysis: { ...active.analysis, state: 'queued' } }, [
      { type: 'analysis.started', at: at(51), worker: { ...worker, instance_id: 'b' }, epoch: 3, jobId: 'x' },
      { type: 'analysis.lost', at: at(52), loss: 'suspected' },
      { type: 'analysis.started', at: at(53), worker: { ...worker, instance_id: 'c' }, epoch: 4, jobId: 'y' },
    ]);
    expect(session.call_worker).toEqual({ instance_id: worker.instance_id, epoch: 2 });
  });

  it('any event order reports and settles a session once, never revives it, and conserves money', () => {
    const event = fc
      .tuple(
        fc.constantFrom(...EVENTS),
        fc.constantFrom(...endReason.options),
        fc.integer({ min: 0, max: 4_000 }),
      )
      .map(
        ([template, reason, seconds]): SessionEvent =>
          ({
            ...template,
            at: at(seconds),
            ...(template.type === 'ended' ? { reason } : {}),
          }) as SessionEvent,
      );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 25 }), fc.boolean(), (events, isOutbound) => {
        const start = session({ direction: isOutbound ? 'outbound' : 'inbound' });
        const lives = history(start, events);
        const emitted = lives.flatMap((life) => life.events);
        const firstEnded = lives.findIndex((life) => hasEnded(life.session));
        expect(lives.slice(firstEnded).some((life) => firstEnded >= 0 && isLive(life.session.status))).toBe(
          false,
        );
        expect(lives.filter((life) => life.event === 'settled').length).toBeLessThanOrEqual(1);
        expect(lives.every((life) => life.session.billing.due <= PRICE)).toBe(true);
        for (const once of ['call.ended', 'phone_call.dial_finished'])
          expect(emitted.filter((name) => name === once).length).toBeLessThanOrEqual(1);
        // The relay does not look for events before it.
        expect(emitted.findIndex((name) => isFirstEvent(name, start))).toBeLessThanOrEqual(0);
        expect(emitted.includes('call.ended')).toBe(lives.at(-1)?.session.status === 'completed');
      }),
      { numRuns: 2_000 },
    );
  });
});
