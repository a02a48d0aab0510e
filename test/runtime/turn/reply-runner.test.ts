import { expect, it } from 'vitest';
import type { LegCommand } from '#media/leg.ts';
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
