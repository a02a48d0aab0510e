/**
 * What other settings would have done to a recorded call. The machine runs on its own timers while the facts
 * about caller, engines and leg stay the recorded ones. After the first noticeable difference these facts
 * belong to a different call, so nothing is claimed beyond it.
 */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { TurnConfig } from '../turn/machine/turn-config.ts';
import type { Decision, Effect } from '../turn/machine/turn-effects.ts';
import type { TimerName, TurnInput } from '../turn/machine/turn-inputs.ts';
import { step } from '../turn/machine/turn-machine.ts';
import { initialState, type TurnState } from '../turn/machine/turn-state.ts';
import type { ReplayedStep } from './replay.ts';

/**
 * Effects that a caller would notice or that go to the model: everything after a difference here may differ.
 */
type NoticeableEffect = Extract<
  Effect,
  { do: 'play' | 'pause' | 'resume' | 'clear' | 'transfer' | 'hangUp' | 'generate' }
>;
const NOTICEABLE: readonly Effect['do'][] = [
  'play',
  'pause',
  'resume',
  'clear',
  'transfer',
  'hangUp',
  'generate',
];

/** The first difference; times are ms since the call's first input. */
export interface Divergence {
  readonly was: { readonly atMs: number; readonly did: NoticeableEffect } | null;
  readonly wouldBe: { readonly atMs: number; readonly did: NoticeableEffect } | null;
  /** Share of the call before the difference, which is the part that could be judged. */
  readonly judged: number;
}

/** The machine on its own timers. */
class FreeRun {
  state: TurnState;
  readonly #timers = new Map<TimerName, number>();

  constructor(state: TurnState, timers: ReadonlyMap<TimerName, number> = new Map()) {
    this.state = state;
    this.#timers = new Map(timers);
  }

  get timers(): ReadonlyMap<TimerName, number> {
    return this.#timers;
  }

  /** Applies one input of the log, after every timer due before it. The log's own timers are skipped. */
  *take(input: TurnInput): Generator<ReplayedStep> {
    for (let due = this.#nextTimer(); due && due[1] <= input.atMs; due = this.#nextTimer()) {
      this.#timers.delete(due[0]);
      yield this.#step({ type: 'timer.fired', name: due[0], atMs: due[1] });
    }
    if (input.type !== 'timer.fired') yield this.#step(input);
  }

  #nextTimer(): [TimerName, number] | undefined {
    return [...this.#timers].sort(([, a], [, b]) => a - b)[0];
  }

  #step(input: TurnInput): ReplayedStep {
    const { state, effects } = step(this.state, input);
    this.state = state;
    for (const effect of effects) {
      if (effect.do === 'startTimer') this.#timers.set(effect.name, Math.max(effect.atMs, input.atMs));
      else if (effect.do === 'stopTimer') this.#timers.delete(effect.name);
    }
    return { input, effects };
  }
}

/** Runs a call again on its own timers. */
function* freeRun(log: ReadFlightLog, changes: Partial<TurnConfig>): Generator<ReplayedStep> {
  const run = new FreeRun(initialState({ ...log.header.config, ...changes }));
  for (const input of log.inputs) yield* run.take(input);
}

function* noticeableEffects(
  log: ReadFlightLog,
  changes: Partial<TurnConfig>,
): Generator<{ atMs: number; did: NoticeableEffect }> {
  for (const { input, effects } of freeRun(log, changes))
    for (const effect of effects)
      if (NOTICEABLE.includes(effect.do)) yield { atMs: input.atMs, did: effect as NoticeableEffect };
}

/** The first difference; null without one. */
export function firstDivergence(log: ReadFlightLog, changes: Partial<TurnConfig>): Divergence | null {
  const [originMs, endMs] = [log.inputs[0]?.atMs ?? 0, log.inputs.at(-1)?.atMs ?? 0];
  const [before, after] = [noticeableEffects(log, {}), noticeableEffects(log, changes)];
  for (;;) {
    const [was, wouldBe] = [before.next().value ?? null, after.next().value ?? null];
    if (!was && !wouldBe) return null;
    if (
      was &&
      wouldBe &&
      was.atMs === wouldBe.atMs &&
      was.did.do === wouldBe.did.do &&
      textOf(was.did) === textOf(wouldBe.did)
    )
      continue;
    const atMs = Math.min(was?.atMs ?? endMs, wouldBe?.atMs ?? endMs);
    const since = (moment: typeof was) => moment && { ...moment, atMs: moment.atMs - originMs };
    return {
      was: since(was),
      wouldBe: since(wouldBe),
      judged: endMs === originMs ? 1 : (atMs - originMs) / (endMs - originMs),
    };
  }
}

/** Distinguishes two effects of the same kind, apart from their time. */
function textOf(effect: NoticeableEffect): string {
  if (effect.do === 'generate') return `${effect.isSpeculative} ${effect.messages.at(-1)?.content}`;
  return 'replyId' in effect ? effect.replyId : '';
}

/** A pause of the caller during their turn, and its outcome under the settings. */
export interface PauseOutcome {
  /** From the end of speech until the turn is taken, in ms; null when the caller continues first. */
  readonly takenAfterMs: number | null;
  /** From the end of speech until the caller speaks again, in ms; null when the agent was heard first. */
  readonly wentOnAfterMs: number | null;
}

/** Pauses of a call under its own settings and under each of others. */
export interface JudgedPauses {
  readonly was: readonly PauseOutcome[];
  /** By candidate; each has the pauses of `was`. */
  readonly wouldBe: readonly (readonly PauseOutcome[])[];
  /** All pauses, including those during agent speech, which are not judged. */
  readonly pauses: number;
}

/** A turn not taken this long after the end of speech will not be taken. */
const LONGEST_WAIT_MS = 15_000;

/**
 * Judges every pause separately, starting from the state of the real call, so that one difference does not
 * affect the rest. The call itself is run once, however many candidates there are.
 */
export function judgePauses(log: ReadFlightLog, candidates: readonly Partial<TurnConfig>[]): JudgedPauses {
  const run = new FreeRun(initialState(log.header.config));
  const was: PauseOutcome[] = [];
  const wouldBe = candidates.map((): PauseOutcome[] => []);
  let pauses = 0;
  log.inputs.forEach((input, index) => {
    if (input.type === 'voice.stopped') {
      pauses += 1;
      if (run.state.phase.is === 'listening' && run.state.caller.is === 'talking') {
        was.push(pauseFrom(run, log.inputs, { index, changes: {} }));
        for (const [at, changes] of candidates.entries())
          wouldBe[at]?.push(pauseFrom(run, log.inputs, { index, changes }));
      }
    }
    for (const _ of run.take(input));
  });
  return { was, wouldBe, pauses };
}

/** Reads the inputs from an index to the end of the pause, and no further. */
function pauseFrom(
  call: FreeRun,
  inputs: readonly TurnInput[],
  { index, changes }: { readonly index: number; readonly changes: Partial<TurnConfig> },
): PauseOutcome {
  const first = inputs[index];
  if (first?.type !== 'voice.stopped') throw new Error('a pause begins with the end of speech');
  const run = new FreeRun({ ...call.state, config: { ...call.state.config, ...changes } }, call.timers);
  const endMs = first.speechEndMs;
  let takenAfterMs: number | null = null;
  for (let next = index; next < inputs.length; next += 1) {
    const input = inputs[next] as TurnInput;
    if (input.atMs > endMs + LONGEST_WAIT_MS || (takenAfterMs !== null && input.type === 'playout.started'))
      break;
    for (const step of run.take(input)) takenAfterMs ??= isTaken(step) ? step.input.atMs - endMs : null;
    if (input.type === 'voice.started')
      return { takenAfterMs, wentOnAfterMs: Math.max(0, input.speechStartMs - endMs) };
  }
  return { takenAfterMs, wentOnAfterMs: null };
}

function isTaken({ effects }: ReplayedStep): boolean {
  return effects.some((effect) => effect.do === 'explain' && isEndpoint(effect.decision));
}

/** True when a turn of speech is taken. */
function isEndpoint({ about, rule }: Decision): boolean {
  return about === 'endpoint' && rule !== 'no_words' && rule !== 'keypad';
}
