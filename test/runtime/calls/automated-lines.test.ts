/** Whole calls that are answered by something other than a person. */
import { expect, it } from 'vitest';
import { automatedLinesSection } from '#config/automated-lines.ts';
import { explainSilence } from '#control-plane/calls/sessions/silences.ts';
import { holdMusic } from '#media/leg/hold-music.ts';
import type { Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { createRandom } from '../../simulation/random.ts';
import { createSimulatedRecognizer, type SimulatedRecognizer } from '../../simulation/simulated-engines.ts';
import { SIMULATED_RATE_HZ, type SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan } from '../test-plan.ts';
import { FIXED, setUp } from './test-call.ts';

const MESSAGE = 'Your cake is ready. Please call back.';
const FRAME_MS = 20;
const FRAME_SAMPLES = 160;

/** A call out, its leg, and a far end that says words. */
function calling(recordedVoicemail: Synthesizer | null = null, changes: Partial<CallPlan> = {}) {
  const plan: CallPlan = {
    ...testPlan({
      ...FIXED,
      conversation: {
        hangup_after_seconds: 10,
        outbound: { voicemail: { action: 'leave_message', message: MESSAGE } },
      },
    }),
    channel: 'phone_outbound',
    automated_lines: automatedLinesSection.parse({}),
    ...changes,
  };
  let recognizer: SimulatedRecognizer | null = null;
  const heard = {
    id: 'simulated',
    givesInterims: false,
    expectedFinalMs: 700,
    open: (options: Parameters<SimulatedRecognizer['open']>[0]) =>
      (recognizer as SimulatedRecognizer).open(options),
  };
  const test = setUp(plan, null, { recognizer: heard, recordedVoicemail });
  recognizer = createSimulatedRecognizer({
    clock: test.world,
    random: createRandom(1),
    habits: { givesInterims: false, finalDelayMs: [320, 500], faults: 0 },
  });
  const leg = test.openLeg();
  return {
    ...test,
    leg,
    say: (text: string) => say(text, { ...test, leg, recognizer: recognizer as SimulatedRecognizer }),
  };
}

async function say(
  text: string,
  {
    leg,
    recognizer,
    run,
    world,
  }: Pick<ReturnType<typeof setUp>, 'run' | 'world'> & {
    readonly leg: SimulatedLeg;
    readonly recognizer: SimulatedRecognizer;
  },
): Promise<void> {
  const startMs = world.now();
  const words = text.split(' ').map((word, index) => ({ text: word, endMs: startMs + 300 * (index + 1) }));
  const endMs = words.at(-1)?.endMs ?? startMs;
  recognizer.hear(words);
  leg.emit({ type: 'voice.onset', atMs: startMs, decidedAtMs: startMs });
  await run(endMs - startMs + 100);
  leg.emit({ type: 'voice.offset', atMs: endMs, decidedAtMs: world.now(), voicedMs: endMs - startMs });
  await run(1_800);
}

it('on hold the agent hears music by its frames, is silent, and greets the person; the session tells it', async () => {
  const { leg, messages, reports, run, say } = calling();
  await say('All our agents are busy, please hold.');
  const music = holdMusic(8_000);
  for (let frame = 0; frame < 1_500; frame++) {
    const at = (frame * FRAME_SAMPLES) % (music.length - FRAME_SAMPLES);
    const samples = music.slice(at, at + FRAME_SAMPLES);
    leg.emit({ type: 'audio', slot: frame, atMs: 0, kinds: new Uint8Array(1), samples });
    await run(FRAME_MS);
  }
  expect(leg.played).toEqual([]);
  await say('Hello?');
  await run(3_000);
  expect(messages()).toEqual([
    'user: All our agents are busy, please hold.',
    'user: Hello?',
    'assistant: Hello Ann, how are you?',
  ]);
  const line = reports.flatMap((report) => (report.type === 'line' ? [report.line] : []));
  expect(line).toMatchObject([{ line: 'hold', ended_by: 'person' }]);
  expect(line[0]?.duration_ms).toBeGreaterThan(30_000);
  const silences = reports.flatMap((report) =>
    report.type === 'silence' ? [explainSilence(report.silence)] : [],
  );
  expect(silences.map(({ explanation }) => explanation).join('; ')).toContain('on hold');
});

it('in a menu the agent presses the key that its model chooses, and says none of its words', async () => {
  const { asked, leg, live, messages, reply, reports, requests, run, say } = calling(null, {
    press_keys: { hide_keys: false },
  });
  reply.splice(
    0,
    1,
    { type: 'text', text: 'I am pressing two for support.' },
    { type: 'tool_call', call: { callId: 'c1', toolName: '_press_keys', input: '{"keys":"2"}' } },
  );
  const menu = 'For sales, press 1. For support, press 2.';
  await say(menu);
  await run(3_000);
  expect(leg.pressed.map(({ keys }) => keys)).toEqual(['2']);
  expect(requests).toHaveLength(1);
  await say('All our agents are busy, please hold.');
  await run(20_000);
  await say('Hello?');
  await run(3_000);
  expect(messages()).toEqual([
    `user: ${menu}`,
    'user: All our agents are busy, please hold.',
    'user: Hello?',
    'assistant: Hello Ann, how are you?',
  ]);
  expect(asked.map(({ text }) => text).join(' ')).not.toContain('pressing');
  expect(JSON.stringify(live)).not.toContain('pressing');
  const lines = reports.flatMap((report) => (report.type === 'line' ? [report.line] : []));
  expect(lines.map(({ line, ended_by }) => [line, ended_by])).toEqual([
    ['menu', 'hold'],
    ['hold', 'person'],
  ]);
});

it('a mailbox hears the recording, and the transcript has its text', async () => {
  const sound = new Int16Array(700).fill(3_000);
  const { leg, messages, reports, run, say } = calling({
    id: 'recording',
    voices: [],
    async *synthesise() {
      yield { samples: sound, sampleRateHz: SIMULATED_RATE_HZ, words: null };
    },
  });
  await say('Please leave a message after the tone.');
  await run(8_000);
  expect(leg.played).toMatchObject([{ isOver: true }]);
  expect(messages().at(-1)).toBe(`assistant: ${MESSAGE}`);
  expect(reports.at(-1)).toMatchObject({ type: 'ended', end_reason: 'agent_hangup' });
});
