/** A call in which the agent presses keys: what the leg, the timeline and the flight log get. */
import { describe, expect, it } from 'vitest';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { FailoverState } from '#protocol/worker-link.ts';
import type { ChatDelta } from '#runtime/llm/llm.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { replay } from '#runtime/replay/replay.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { testPlan, WEB } from '../test-plan.ts';
import { setUp } from './test-call.ts';

const PRESS: ChatDelta = {
  type: 'tool_call',
  call: { callId: 'c1', toolName: '_press_keys', input: '{"keys":"4w711#"}' },
};
const SILENT = { prompt: { first_message_mode: 'off' }, conversation: { keypad_input: { enabled: true } } };

/** An agent that may press keys. */
const plan = (hide_keys: boolean, changes: Partial<CallPlan> = {}) =>
  testPlan(SILENT, { press_keys: { hide_keys }, ...changes });

/** A call in which the model presses keys once the caller has entered 1. */
async function pressing(of: CallPlan, deltas: readonly ChatDelta[] = [PRESS]) {
  const call = setUp(of);
  call.reply.splice(0, 1, ...deltas);
  const leg = call.openLeg();
  await call.run(100);
  for (const digit of ['1', '#'])
    leg.emit({ type: 'digit', atMs: call.world.now(), digit, durationMs: 100, source: 'rfc4733' });
  await call.run(5_000);
  const items = call.reports.flatMap((report) => (report.type === 'items' ? report.items : []));
  return { ...call, leg, items };
}

const inputOf = (items: readonly SessionItem[]) =>
  items.flatMap((item) => (item.type === 'tool_call' ? [item.input] : []));

describe('an agent that may press keys', () => {
  it('has the tool on a phone, and neither on a page nor without the section', async () => {
    const tools = async (of: CallPlan) =>
      (await pressing(of)).requests[0]?.tools.map(({ name }) => name).includes('_press_keys');
    expect(await tools(plan(false))).toBe(true);
    expect(await tools(testPlan(SILENT))).toBe(false);
    expect(await tools(plan(false, WEB))).toBeFalsy();
  });

  it('presses them on the leg, and both call and result are on the timeline', async () => {
    const { leg, items, requests } = await pressing(plan(false));
    expect(leg.pressed.map(({ keys }) => keys)).toEqual(['4w711#']);
    expect(inputOf(items)).toEqual(['{"keys":"4w711#"}']);
    expect(items.at(-1)).toMatchObject({ type: 'tool_result', status: 'completed', tool_source: 'builtin' });
    expect(leg.violations).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  it('does not say that it presses keys when it does not: the model is asked again', async () => {
    const { leg, requests, asked } = await pressing(plan(false), [{ type: 'text', text: 'I pressed 4.' }]);
    expect(leg.pressed).toEqual([]);
    expect(asked.map(({ text }) => text)).not.toContain('I pressed 4.');
    expect(requests.at(1)?.messages.at(-1)?.content).toContain('it pressed none');
  });

  it('says so when it does', async () => {
    const { leg, messages } = await pressing(plan(false), [{ type: 'text', text: 'I press four.' }, PRESS]);
    expect(messages().at(-1)).toBe('assistant: I press four.');
    expect(leg.pressed).toHaveLength(1);
  });

  it('says so, and presses them, when the reply was complete before it could be said', async () => {
    const { openLeg, messages, reply, run } = setUp(
      testPlan({ prompt: { first_message_mode: 'prompt' } }, { press_keys: { hide_keys: false } }),
    );
    reply.splice(0, 1, { type: 'text', text: 'I press four. One moment.' }, PRESS);
    await run(1_000);
    const leg = openLeg();
    await run(5_000);
    expect(messages()).toEqual(['assistant: I press four. One moment.']);
    expect(leg.pressed.map(({ keys }) => keys)).toEqual(['4w711#']);
  });
});

describe('hidden keys', () => {
  it('reach the leg, and nothing else: not the timeline, the flight log, nor the model', async () => {
    const { call, leg, items, flightLog, requests, run, world } = await pressing(plan(true));
    expect(leg.pressed.map(({ keys }) => keys)).toEqual(['4w711#']);
    expect(inputOf(items)).toEqual(['{"keys":"•w••••"}']);
    for (const digit of ['2', '#'])
      leg.emit({ type: 'digit', atMs: world.now(), digit, durationMs: 100, source: 'rfc4733' });
    await run(2_000);
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain('•w••••');
    call.end('agent_hangup');
    await run(5_000);
    const kept = JSON.stringify([requests, items]) + Buffer.concat(flightLog).toString('utf8');
    expect(kept).not.toContain('711');
  });

  it('are replayed from the flight log with the same effects', async () => {
    const { call, flightLog, run } = await pressing(plan(true));
    call.end('agent_hangup');
    await run(5_000);
    const [part] = readFlightLog(flightLog);
    const effects = [...replay(part, CURRENT_MACHINE)].flatMap((step) => step.effects);
    expect(effects).toContainEqual(expect.objectContaining({ do: 'pressKeys', keys: '•w••••' }));
  });

  it('hide an extension, too', async () => {
    const transport: CallPlan['transport'] = {
      type: 'sip_outbound',
      to_uri: 'sip:x@127.0.0.1',
      guard: null,
      from_number: '',
      to_number: '',
      headers: {},
      username: null,
      password: null,
      extension: ',4711#',
      ring_seconds: 30,
    };
    const { leg, items, flightLog, call, run } = await pressing(
      plan(true, { channel: 'phone_outbound', transport }),
    );
    expect(leg.pressed[0]?.keys).toBe(',4711#');
    expect(inputOf(items)[0]).toBe('{"keys":",•••••"}');
    call.end('agent_hangup');
    await run(5_000);
    expect(Buffer.concat(flightLog).toString('utf8')).not.toContain('4711');
  });
});

describe('keys that were being sent when the worker died', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const state: FailoverState = {
    items: [
      { type: 'message', role: 'user', content: 'enter the code', turn_id: 1, id: 'm1', created_at: at },
      {
        type: 'tool_call',
        call_id: 'c1',
        tool_name: '_press_keys',
        tool_source: 'builtin',
        input: '{"keys":"4711#"}',
        turn_id: 1,
        created_at: at,
      },
    ],
    was_cut_off: false,
    elapsed_ms: 5_000,
    lost_at: at,
    dialog: null,
    person: null,
  };

  it('are not sent again: the model reads that some of them may have been', async () => {
    const { openLeg, requests, run } = setUp(plan(false), null, null, state);
    const leg = openLeg();
    await run(8_000);
    expect(leg.pressed).toEqual([]);
    expect(JSON.stringify(requests[0]?.messages)).toContain('some of them may have been sent');
  });
});
