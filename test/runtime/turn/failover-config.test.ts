import { describe, expect, it } from 'vitest';
import { automatedLinesSection } from '#config/automated-lines.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { ReportedPerson } from '#protocol/worker-link.ts';
import { failoverConfig } from '#runtime/turn/loop/failover-config.ts';
import { type TurnConfig, turnConfig } from '#runtime/turn/machine/turn-config.ts';
import { testPlan } from '../test-plan.ts';
import { TurnScript } from './turn-script.ts';

const at = '2026-01-01T00:00:00.000Z';
const message = (role: 'user' | 'assistant', content: string): SessionItem => ({
  type: 'message',
  role,
  content,
  turn_id: 1,
  id: 'm',
  created_at: at,
});
const HEARS = { has: 'interims', finalWithinMs: 1_000 } as const;
const asked: SessionItem = {
  type: 'tool_call',
  call_id: 'c1',
  tool_name: '_transfer_call',
  tool_source: 'builtin',
  input: '{}',
  turn_id: 1,
  created_at: at,
};
const settled = (status: 'completed' | 'failed'): SessionItem => ({
  type: 'tool_result',
  call_id: 'c1',
  tool_name: '_transfer_call',
  tool_source: 'builtin',
  status,
  output: 'The caller was transferred.',
  output_truncated: false,
  error: null,
  latency_ms: 0,
  turn_id: 1,
  created_at: at,
});

/**
 * The settings of a call that continues from these items, with its caller connected to the agent or to a
 * person.
 */
function afterFailover(
  items: readonly SessionItem[],
  person: ReportedPerson | null = null,
  how: { readonly is_handed_over?: true } = {},
  plan = testPlan(),
): TurnConfig {
  const failoverState = {
    items: [...items],
    was_cut_off: false,
    elapsed_ms: 5_000,
    lost_at: at,
    dialog: null,
    person,
    ...how,
  };
  return failoverConfig(
    turnConfig(plan, null, (text) => text),
    failoverState,
  );
}

/** What the agent owes the caller when the call continues from these items. */
function owed(...items: SessionItem[]): string | null | undefined {
  return afterFailover(items).resumed?.owed;
}

const wish = [message('assistant', 'Hello.'), message('user', 'a person please'), asked];

describe('a call resumed after its worker died', () => {
  it('tells the caller so, unless the other worker handed it over', () => {
    const items = [message('assistant', 'Hello.')];
    expect(afterFailover(items).greeting).toMatchObject({ mode: 'say' });
    expect(afterFailover(items, null, { is_handed_over: true }).greeting).toEqual({ mode: 'off' });
    // The person of a transfer was lost on the way.
    const lost = [...wish, settled('completed')];
    expect(afterFailover(lost, null, { is_handed_over: true }).greeting).toMatchObject({ mode: 'say' });
  });

  it('continues from the caller’s last words if they are unanswered, and otherwise says nothing', () => {
    expect(owed(message('assistant', 'Hello.'), message('user', 'book a table'))).toBe('book a table');
    expect(owed(message('user', 'book a table'), message('assistant', 'It is booked.'))).toBeNull();
  });

  it('continues the interrupted transfer: on hold, or while the person is being asked', () => {
    expect(owed(...wish, message('assistant', 'I’ll connect you now.'))).toMatch(
      /while you were connecting the caller .* Connect them again\.\]$/,
    );
    // Not announced: the request itself is unanswered.
    expect(owed(...wish)).toBe('a person please');
    expect(
      owed(
        ...wish,
        message('assistant', 'Sorry, I lost you.'),
        message('user', 'never mind'),
        message('assistant', 'All right.'),
      ),
    ).toBeNull();
  });

  it('says nothing to an automated line, and greets the person who comes', () => {
    const plan = testPlan(
      { prompt: { first_message_mode: 'fixed', first_message: 'Hello, this is Ann.' } },
      { channel: 'phone_outbound', automated_lines: automatedLinesSection.parse({}) },
    );
    const queue = message('user', 'All our agents are busy, please stay on the line.');
    const script = new TurnScript({ ...afterFailover([queue], null, {}, plan), recognition: HEARS }).at(
      700_000,
    );
    script.take({ type: 'call.started' }, { type: 'call.connected' }).after(60_000);
    expect(script.all('play').length + script.all('generate').length).toBe(0);
    script.say('Thanks for holding, how can I help you?').after(1_000);
    expect(script.all('say').map(({ text }) => text)).toEqual(['Hello, this is Ann.']);
    expect(script.all('line')).toMatchObject([
      { stretch: { is: 'hold', fromMs: 700_000, endedBy: 'person' } },
    ]);
  });

  it('is back for a person, who may have been asked to hold before', () => {
    const plan = testPlan(
      {},
      { channel: 'phone_outbound', automated_lines: automatedLinesSection.parse({}) },
    );
    const talked = [message('assistant', 'Hello.'), message('user', 'book a table')];
    expect(afterFailover(talked, null, {}, plan).resumed).toMatchObject({ owed: 'book a table' });
    const held = [message('assistant', 'Hello.'), message('user', 'please hold, I will connect you')];
    const script = new TurnScript({ ...afterFailover(held, null, {}, plan), recognition: HEARS });
    script.take({ type: 'call.started' }, { type: 'call.connected' }).after(30_000);
    expect(script.all('play')).toEqual([]);
    script.say('Hello, this is Maria.').after(1_000);
    expect(script.all('say').map(({ text }) => text)).toEqual([script.state.config.phrases.back]);
  });

  it('reads that keys may have been pressed, until the talk has gone on; an extension is no call of the model', () => {
    const press = (call_id: string) => ({ ...asked, call_id, tool_name: '_press_keys', turn_id: null });
    const asks = message('user', 'enter your code');
    expect(owed(asks, press('c1'))).toMatch(/^enter your code \[.* some of them may have been sent/);
    expect(owed(asks, press('c1'), message('user', 'invalid'), message('assistant', 'Sorry.'))).toBeNull();
    const dialled = { ...settled('completed'), call_id: 'extension', tool_name: '_press_keys' };
    expect(afterFailover([press('extension'), dialled]).resumed?.history).toEqual([]);
  });

  it('offers to reconnect the caller if they were talking with the person', () => {
    expect(owed(...wish, message('assistant', 'I’ll connect you now.'), settled('completed'))).toMatch(
      /that person is gone, .* Offer to connect/,
    );
    expect(owed(...wish, settled('completed'))).toMatch(/that person is gone/);
  });

  it('stays silent if the caller and that person talk on; a hang-up by either ends the session escalated', () => {
    const party = {
      local_tag: 'l',
      remote_tag: 'r',
      local_party: 'l',
      remote_party: 'r',
      remote_target: '',
      local_contact: '',
    };
    const dialog = {
      sip_call_id: 'p',
      ...party,
      route_set: [],
      local_cseq: 1,
      local_sdp: '',
      remote_sdp: '',
    };
    for (const end of [
      { type: 'leg.closed', reason: 'remote' },
      { type: 'transfer.finished', isDone: true, message: '' },
    ] as const) {
      const script = TurnScript.listening(
        afterFailover([...wish, settled('completed')], { dialog, is_joined: true }),
      );
      script.say('can you hear me?').after(3_600_000);
      expect([script.all('generate'), script.all('say'), script.all('hangUp')]).toEqual([[], [], []]);
      expect(script.take(end).last('hangUp')?.reason).toBe('escalated');
    }
  });

  it('does neither if the agent has spoken since, or if the transfer had failed', () => {
    expect(owed(...wish, settled('completed'), message('assistant', 'Sorry, I lost you.'))).toBeNull();
    expect(owed(...wish, settled('failed'), message('assistant', 'They are busy.'))).toBeNull();
  });
});
