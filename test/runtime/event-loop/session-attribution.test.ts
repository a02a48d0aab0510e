import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startCall } from '#runtime/calls/call.ts';
import type { Within } from '#runtime/event-loop/session-attribution.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan } from '../test-plan.ts';

/** One call whose model looks something up, with the work done with and without attribution to the call. */
function namedCall() {
  const world = new SimulatedClock();
  const words = createSpokenWords();
  let isNamed = false;
  const within: Within = (work) => {
    const before = isNamed;
    isNamed = true;
    try {
      return work();
    } finally {
      isNamed = before;
    }
  };
  const named = new Set<string>();
  const nameless = new Set<string>();
  const at = (what: string) => (isNamed ? named : nameless).add(what);
  let asked = 0;
  const call = startCall({
    plan: testPlan({ prompt: { first_message_mode: 'fixed', first_message: 'Hello.' } }),
    clock: world.forCall(),
    logger: pino({ level: 'silent' }),
    random: () => 0.5,
    recognizer: null,
    within,
    onStep: (input) => at(`step: ${input.type}`),
    report: ({ type }) => at(`report: ${type}`),
    synthesizer: {
      id: 'test',
      voices: [],
      async *synthesise(text) {
        const number = words.add(text, 200);
        const word = { textStart: 0, textEnd: text.length, startMs: 0, endMs: 200 };
        yield { samples: new Int16Array(200).fill(number), sampleRateHz: SIMULATED_RATE_HZ, words: [word] };
      },
    },
    model: {
      id: 'test/model',
      isCustom: false,
      async *stream() {
        asked += 1;
        if (asked === 1) yield { type: 'tool_call', call: { callId: 'c', toolName: 'look_up', input: '{}' } };
        else yield { type: 'text', text: 'Found it.' };
        yield { type: 'finish', usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: null } };
      },
    },
    createTools: () => ({
      runner: {
        definitions: [],
        traits: () => ({ mode: 'blocking', source: 'webhook' }),
        run: async () => {
          at('tool: asked');
          await world.sleep(300);
          at('tool: answered');
          return {
            status: 'completed',
            output: '1',
            outputTruncated: false,
            error: null,
            latencyMs: 300,
            modelText: '1',
          };
        },
        close: () => undefined,
      },
      settle: null,
    }),
    live: () => undefined,
    saveRecording: () => undefined,
    saveFlightLog: () => undefined,
  });
  const leg = new SimulatedLeg({ clock: world, words, latencyMs: 1, kind: 'webrtc' });
  call.attach(leg);
  leg.emit({ type: 'connected', atMs: world.now() });
  return {
    call,
    leg,
    world,
    run: (ms: number) => world.run(() => false, world.now() + ms),
    named,
    nameless,
    isNamed: () => isNamed,
  };
}

it('security 3: all work of a call is attributed to it: leg events, timers, model and tools', async () => {
  const { leg, named, nameless, run, world } = namedCall();
  await run(2_000);
  leg.emit({
    type: 'message',
    atMs: world.now(),
    text: JSON.stringify({ type: 'user.message', text: 'look it up', audio: true }),
  });
  await run(5_000);
  // Until the call has reached its maximum duration.
  await run(400_000);
  for (const what of [
    'call.connected',
    'user.message',
    'reply.tool_called',
    'tool.finished',
    'reply.piece',
    'playout.finished',
    'timer.fired',
  ])
    expect(named).toContain(`step: ${what}`);
  expect([...nameless].filter((what) => what.startsWith('step'))).toEqual([]);
  expect(named).toContain('tool: asked');
});

it('security 3: work resumed after a wait is not attributed, nor is work between turns of a call', async () => {
  const { isNamed, leg, nameless, run, world } = namedCall();
  await run(2_000);
  leg.emit({
    type: 'message',
    atMs: world.now(),
    text: JSON.stringify({ type: 'user.message', text: 'look it up', audio: true }),
  });
  expect(isNamed()).toBe(false);
  await run(3_000);
  expect(nameless).toContain('tool: answered');
  expect(isNamed()).toBe(false);
});
