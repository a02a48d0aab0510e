/**
 * How many people one call may ring (docs/limits.md), in virtual time: a caller presses a key, the agent
 * attempts a transfer, the person is busy, and the cycle repeats.
 */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { DurableReport, FailoverState } from '#protocol/worker-link.ts';
import { startCall } from '#runtime/calls/call.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan } from '../test-plan.ts';
import { transferRoute } from './transfer-route.ts';

const BUSY = 'The person is busy.';

/**
 * Results of `tries` transfers as reported to the model, and the number of calls placed. `earlier` transfers
 * were attempted by another worker, which died.
 */
async function tryTransfers(of: {
  readonly tries: number;
  /** Errors of earlier attempts by a dead worker; null is an attempt that was still in progress. */
  readonly earlier?: readonly (string | null)[];
  readonly isCounted?: boolean;
  readonly mayTransfer?: () => Promise<boolean>;
}) {
  const world = new SimulatedClock();
  const words = createSpokenWords();
  const reports: DurableReport[] = [];
  let rung = 0;
  const conversation = {
    transfer_destinations: [
      { label: 'Sales', phone_number: '+14155550123', mode: 'cold', announcement_mode: 'off' },
    ],
    keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 },
  };
  const plan = testPlan({ conversation, prompt: { first_message_mode: 'fixed', first_message: 'Hello.' } });
  const routes = [transferRoute({ number: '+14155550123', dial_uri: 'sip:+14155550123@trunk.example.com' })];
  const call = startCall({
    plan: { ...plan, transfer: { from_number: '+15550100001', is_counted: of.isCounted ?? false, routes } },
    clock: world.forCall(),
    logger: pino({ level: 'silent' }),
    random: () => 0.5,
    recognizer: null,
    synthesizer: {
      id: 'test',
      voices: [],
      async *synthesise(text) {
        yield {
          samples: new Int16Array(200).fill(words.add(text, 200)),
          sampleRateHz: SIMULATED_RATE_HZ,
          words: null,
        };
      },
    },
    model: {
      id: 'test/model',
      isCustom: false,
      async *stream({ messages }) {
        if (messages.at(-1)?.role === 'tool') yield { type: 'text', text: 'I am sorry.' };
        else
          yield {
            type: 'tool_call',
            call: { callId: `c${messages.length}`, toolName: '_transfer_call', input: '{}' },
          };
        yield { type: 'finish', usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: null } };
      },
    },
    createTools: () => ({
      runner: {
        definitions: [],
        traits: () => null,
        run: () => Promise.reject(new Error('no tools here')),
        close: () => undefined,
      },
      settle: null,
    }),
    placeCall: async () => {
      rung += 1;
      return { outcome: 'busy', error: null };
    },
    ...(of.mayTransfer ? { mayTransfer: of.mayTransfer } : {}),
    failoverState: of.earlier === undefined ? null : failoverStateAfter(of.earlier),
    report: (report) => reports.push(report),
    live: () => undefined,
    saveRecording: () => undefined,
    saveFlightLog: () => undefined,
  });
  const results = () =>
    reports
      .flatMap((report) => (report.type === 'items' ? report.items : []))
      .flatMap((item) => (item.type === 'tool_result' ? [item.error] : []));
  const leg = new SimulatedLeg({ clock: world, words, latencyMs: 1, kind: 'rtp' });
  call.attach(leg);
  leg.emit({ type: 'connected', atMs: world.now() });
  const run = (ms: number) => world.run(() => false, world.now() + ms);
  await run(2_000);
  for (let tried = 0; tried < of.tries; tried++) {
    leg.emit({ type: 'digit', atMs: world.now(), digit: '1', durationMs: 100, source: 'rfc4733' });
    await run(5_000);
  }
  call.end('agent_hangup');
  await run(5_000);
  return { results: results(), rung };
}

function failoverStateAfter(errors: readonly (string | null)[]): FailoverState {
  const items = errors.map((error, tried) => {
    const about = {
      call_id: `e${tried}`,
      tool_name: '_transfer_call',
      tool_source: 'builtin',
      turn_id: tried + 1,
      created_at: '2026-01-01T00:00:00.000Z',
    };
    const result = {
      ...about,
      type: 'tool_result' as const,
      status: 'failed' as const,
      output: null,
      output_truncated: false,
      error,
      latency_ms: 1,
    };
    const asked = { ...about, type: 'tool_call' as const, input: '{}' };
    return error === null ? [asked] : [asked, result];
  });
  return {
    items: items.flat(),
    was_cut_off: false,
    elapsed_ms: 60_000,
    lost_at: '2026-01-01T00:01:00.000Z',
    dialog: null,
    person: null,
  };
}

describe('transfers of one call', () => {
  it('are attempted five times; after that no call is placed, and the model is notified', async () => {
    const { results, rung } = await tryTransfers({ tries: 7 });
    const refused = 'Nobody else can be called in this conversation.';
    expect(results).toEqual([BUSY, BUSY, BUSY, BUSY, BUSY, refused, refused]);
    expect(rung).toBe(5);
  });

  it('are counted across a failover', async () => {
    // The interrupted attempt is repeated before the caller asks for another.
    const { results, rung } = await tryTransfers({ earlier: [BUSY, BUSY, BUSY, null], tries: 1 });
    expect(results).toEqual([BUSY, 'Nobody else can be called in this conversation.']);
    expect(rung).toBe(1);
  });

  it('are not counted after a failover if they were refused before a call was placed', async () => {
    const asks = 'Not transferred: your words ask the caller something. Wait for the answer first.';
    const earlier = [asks, 'Unknown destination. Use one of: Sales.', asks, BUSY, asks, asks];
    const { results, rung } = await tryTransfers({ earlier, tries: 5 });
    expect(results).toEqual([BUSY, BUSY, BUSY, BUSY, 'Nobody else can be called in this conversation.']);
    expect(rung).toBe(4);
  });

  it('security 4: start from a number bought here only while the control plane permits the account', async () => {
    let asked = 0;
    const { results, rung } = await tryTransfers({
      tries: 3,
      isCounted: true,
      mayTransfer: async () => ++asked <= 2,
    });
    expect(results).toEqual([
      BUSY,
      BUSY,
      'Too many people were called in this minute; nobody can be called now.',
    ]);
    expect([asked, rung]).toEqual([3, 2]);
  });

  it('are not counted from an imported number', async () => {
    const { results, rung } = await tryTransfers({ tries: 2, mayTransfer: async () => false });
    expect(results).toEqual([BUSY, BUSY]);
    expect(rung).toBe(2);
  });
});
