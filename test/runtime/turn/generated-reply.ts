/** A reply of a model that writes what it is given at once, by the real runner; its voice never ends. */
import { nameless } from '#runtime/event-loop/session-attribution.ts';
import type { ChatDelta } from '#runtime/llm/llm.ts';
import { ReplyRunner, type ReplyRunnerOptions } from '#runtime/turn/loop/reply-runner.ts';
import type { UsageNote } from '#runtime/turn/loop/reply-usage.ts';
import type { Effect } from '#runtime/turn/machine/turn-effects.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';

/** A request for the reply `r1`. */
export const GENERATE: Extract<Effect, { do: 'generate' }> = {
  do: 'generate',
  replyId: 'r1',
  turnId: 1,
  messages: [],
  isSpeculative: false,
  isSpoken: true,
};

/** The result of a model's answer, and the texts that its voice was asked for. */
export function generated(deltas: readonly ChatDelta[], isSpoken = true) {
  const [facts, events, notes]: [TurnFact[], { readonly text: string }[], UsageNote[]] = [[], [], []];
  const spoken: string[] = [];
  const runner = new ReplyRunner({
    model: {
      id: 'at-once',
      isCustom: true,
      async *stream() {
        yield* deltas;
      },
    },
    synthesizer: {
      id: 'silent',
      voices: [],
      needsWords: true,
      async *synthesise(text: string) {
        spoken.push(text);
        await new Promise(() => undefined);
      },
    },
    voice: { voiceId: null, language: 'en', speed: 1 },
    outRateHz: () => 8_000,
    isFixed: () => false,
    request: async () => ({}),
    within: nameless,
    traits: () => ({ mode: 'unknown', source: 'unknown' }),
    accept: (fact: TurnFact) => void facts.push(fact),
    send: () => undefined,
    hasLeg: () => true,
    event: (event: { readonly text: string }) => void events.push(event),
    noteUsage: (note: UsageNote) => void notes.push(note),
  } as unknown as ReplyRunnerOptions);
  runner.generate({ ...GENERATE, isSpoken });
  runner.play('r1');
  const isDone = () => facts.some(({ type }) => type === 'reply.generated');
  const text = () => facts.flatMap((fact) => (fact.type === 'reply.piece' ? [fact.text] : [])).join(' ');
  return { runner, facts, events, notes, spoken, isDone, text };
}
