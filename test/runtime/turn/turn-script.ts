/**
 * Drives the turn machine manually: facts at given times, timers fired when due, and a leg and engines that
 * answer only with what the test provides. Throws when a step leaves a state without a deadline.
 */

import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { Decision, Effect } from '#runtime/turn/machine/turn-effects.ts';
import type { TimerName, TurnFact, TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { step } from '#runtime/turn/machine/turn-machine.ts';
import { initialState, type TurnState } from '#runtime/turn/machine/turn-state.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { timerFaults } from '../../simulation/deadlines.ts';

const CONFIG: TurnConfig = {
  greeting: { mode: 'off' },
  language: 'en',
  phrases: phrasesFor('en'),
  responseWaitMs: 500,
  responseMaxWaitMs: 1_500,
  eagerness: 'balanced',
  interruptible: true,
  sensitivity: 'balanced',
  ignorePhrases: [],
  speculative: false,
  reengage: false,
  hangupAfterMs: 60_000,
  idleFarewell: false,
  maxDurationMs: 1_800_000,
  hangUpFarewell: { mode: 'generated', message: '' },
  hangUpRefuseQuestions: false,
  keypad: null,
  transfer: null,
  menu: null,
  voicemail: null,
  recognition: { has: 'interims', finalWithinMs: 1_000 },
  generationCapMs: 10_000,
};

/** One call of the machine in isolation. */
export class TurnScript {
  state: TurnState;
  readonly effects: (Effect & { readonly atMs: number })[] = [];
  nowMs = 0;
  readonly #timers = new Map<TimerName, number>();

  readonly #onStep: (input: TurnInput, effects: readonly Effect[]) => void;

  /** `onStep` receives every input with its result. */
  constructor(
    changes: Partial<TurnConfig> = {},
    onStep: (input: TurnInput, effects: readonly Effect[]) => void = () => undefined,
  ) {
    this.state = initialState({ ...CONFIG, ...changes });
    this.#onStep = onStep;
  }

  /** A connected call in the listening state. */
  static listening(changes: Partial<TurnConfig> = {}): TurnScript {
    const script = new TurnScript(changes);
    script.take({ type: 'call.started' }, { type: 'call.connected' });
    return script;
  }

  /** A call in which the agent has been saying `text` since `nowMs`. */
  static speaking(text = 'The table is booked for two.', changes: Partial<TurnConfig> = {}): TurnScript {
    const script = TurnScript.listening(changes);
    script.say('book a table');
    script.answer(text);
    return script;
  }

  take(...facts: readonly TurnFact[]): this {
    for (const fact of facts) this.#step(fact);
    return this;
  }

  /** Moves to `ms` and fires the timers due by then. */
  at(ms: number): this {
    for (;;) {
      const [due] = [...this.#timers].sort(([, a], [, b]) => a - b);
      if (!due || due[1] > ms) break;
      this.#timers.delete(due[0]);
      this.nowMs = Math.max(this.nowMs, due[1]);
      this.#step({ type: 'timer.fired', name: due[0] });
    }
    this.nowMs = ms;
    return this;
  }

  after(ms: number): this {
    return this.at(this.nowMs + ms);
  }

  voice(voicedMs: number): this {
    this.take({ type: 'voice.started', speechStartMs: this.nowMs });
    return this.after(voicedMs).take({ type: 'voice.stopped', speechEndMs: this.nowMs, voicedMs });
  }

  /** The caller says a complete sentence and waits until the turn is taken. */
  say(text: string): this {
    this.voice(600).take({ type: 'transcript.final', text });
    return this.after(1_500);
  }

  /** The last generation writes `text`, and playback starts. */
  answer(text: string): this {
    const replyId = this.last('generate')?.replyId ?? '';
    return this.take(
      { type: 'reply.token', replyId },
      { type: 'reply.piece', replyId, text },
      { type: 'reply.generated', replyId },
      { type: 'reply.audible', replyId },
      { type: 'playout.started', replyId, wireMs: this.nowMs },
    );
  }

  all<D extends Effect['do']>(what: D): readonly (Extract<Effect, { do: D }> & { readonly atMs: number })[] {
    return this.effects.filter((effect) => effect.do === what) as never;
  }

  last<D extends Effect['do']>(
    what: D,
  ): (Extract<Effect, { do: D }> & { readonly atMs: number }) | undefined {
    return this.all(what).at(-1);
  }

  /** The last request to the model, as `role: content` lines, without those before `from`. */
  asked(): string[] {
    return (this.last('generate')?.messages ?? []).map(({ role, content }) => `${role}: ${content}`);
  }

  /** Messages on the timeline. */
  timeline(): string[] {
    return this.all('record').flatMap(({ item }) =>
      item.type === 'message' ? [`${item.role}: ${item.content}`] : [],
    );
  }

  decisions(about: Decision['about']): Decision[] {
    return this.all('explain').flatMap(({ decision }) => (decision.about === about ? [decision] : []));
  }

  #step(fact: TurnFact): void {
    const input = { ...fact, atMs: this.nowMs };
    const { state, effects } = step(this.state, input);
    this.state = state;
    this.#onStep(input, effects);
    for (const effect of effects) {
      this.effects.push({ ...effect, atMs: this.nowMs });
      if (effect.do === 'startTimer') this.#timers.set(effect.name, Math.max(effect.atMs, this.nowMs));
      if (effect.do === 'stopTimer') this.#timers.delete(effect.name);
    }
    const faults = timerFaults(state, new Set(this.#timers.keys()));
    if (faults.length > 0) throw new Error(`after ${fact.type}: ${faults.join('; ')}`);
  }
}
