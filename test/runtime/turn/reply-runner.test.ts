import { expect, it } from 'vitest';
import type { LegCommand } from '#media/leg.ts';
import { resample } from '#media/pcm.ts';
import { ReplyRunner, type ReplyRunnerOptions } from '#runtime/turn/reply-runner.ts';
import type { TurnFact } from '#runtime/turn/turn-inputs.ts';

it('supplement 5 a fixed text for who asked for no audio is shown, and no sound of it is made', () => {
  const [sent, facts, events]: [LegCommand[], TurnFact[], unknown[]] = [[], [], []];
  const runner = new ReplyRunner({
    synthesizer: {
      id: 'none',
      voices: [],
      synthesise: () => {
        throw new Error('nothing is to be spoken');
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    accept: (fact: TurnFact) => void facts.push(fact),
    send: (command: LegCommand) => void sent.push(command),
    hasLeg: () => true,
    event: (event: unknown) => void events.push(event),
  } as unknown as ReplyRunnerOptions);
  runner.say({ do: 'say', replyId: 'r1', text: 'I had a problem. Please try again.', isSpoken: false });
  expect([sent, facts, events]).toEqual([[], [], []]);
  runner.play('r1');
  expect(events).toEqual([{ type: 'transcript', role: 'agent', segmentId: 'r1', text: 'I had a problem. Please try again.', final: true }]);
  expect(facts.map(({ type }) => type)).toEqual(['reply.audible', 'playout.finished']);
  expect(sent).toEqual([]);
});

it('a voice that comes in chunks at another rate is heard as if it had come at once: nothing clicks where a chunk ends', async () => {
  const sent: LegCommand[] = [];
  const voice = Int16Array.from({ length: 24_000 }, (_, n) => Math.round(16_000 * Math.sin((2 * Math.PI * 440 * n) / 24_000)));
  const runner = new ReplyRunner({
    synthesizer: {
      id: 'chunks',
      voices: [],
      async *synthesise() {
        for (let at = 0; at < voice.length; at += 1_365) yield { samples: voice.subarray(at, at + 1_365), sampleRateHz: 24_000, words: null };
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    isFixed: () => false,
    accept: () => undefined,
    send: (command: LegCommand) => void sent.push(command),
    hasLeg: () => true,
    event: () => undefined,
  } as unknown as ReplyRunnerOptions);
  runner.say({ do: 'say', replyId: 'r1', text: 'Hello.', isSpoken: true });
  runner.play('r1');
  await expect.poll(() => sent.some((command) => command.do === 'play' && command.last)).toBe(true);
  const played = sent.flatMap((command) => (command.do === 'play' ? [...command.samples] : []));
  expect(played).toEqual([...resample(voice, 24_000, 8_000)]);
});
