/**
 * What other settings would have done to a recorded call. The machine runs on its own timers while the facts
 * about caller, engines and leg stay the recorded ones. After the first noticeable difference these facts
 * belong to a different call, so nothing is claimed beyond it.
 */
import type { Did } from '#protocol/rehearsal.ts';
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { TurnConfig } from '../turn/machine/turn-config.ts';
import type { Decision, Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import { FreeRun } from './free-run.ts';
import type { TurnMachine } from './machines/turn-machine.ts';
import type { ReplayedStep } from './replay.ts';

/**
 * Effects that a caller would notice or that go to the model: everything after a difference here may differ.
 */
export type NoticeableEffect = Extract<
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

/** Something that a caller would notice, at a time of the log's clock. */
export interface NoticedMoment {
  readonly atMs: number;
  readonly did: NoticeableEffect;
}

/** Runs a call again in a machine, mostly its own, on that machine's timers. */
export function* freeRun(
  log: ReadFlightLog,
  changes: Partial<TurnConfig>,
  machine: TurnMachine,
): Generator<ReplayedStep> {
  const run = runOf(log, changes, machine);
  for (const input of log.inputs) yield* run.take(input);
}

/** Everything that a caller would notice of a run. */
function* noticedUnder(...run: Parameters<typeof freeRun>): Generator<NoticedMoment> {
  for (const step of freeRun(...run)) yield* noticedIn(step);
}

/** What a caller would notice of a step. */
export function noticedIn({ input, effects }: ReplayedStep): NoticedMoment[] {
  return effects
    .filter((effect): effect is NoticeableEffect => NOTICEABLE.includes(effect.do))
    .map((did) => ({ atMs: input.atMs, did }));
}

/** A run of a call from its beginning. */
export function runOf(log: ReadFlightLog, changes: Partial<TurnConfig>, machine: TurnMachine): FreeRun {
  return new FreeRun(machine, machine.initialState({ ...log.header.config, ...changes }));
}

/**
 * The first difference under other settings, in the machine of the log or in another; null without one.
 * Throws when no machine of the log's version is known.
 */
export function firstDivergence(
  log: ReadFlightLog,
  changes: Partial<TurnConfig>,
  machine: TurnMachine,
): Divergence | null {
  const [originMs, endMs] = [log.inputs[0]?.atMs ?? 0, log.inputs.at(-1)?.atMs ?? 0];
  const before = noticedUnder(log, {}, machine);
  const after = noticedUnder(log, changes, machine);
  const parting = partingOf(before, after, isSameMoment);
  if (!parting) return null;
  const { was, wouldBe } = parting;
  const atMs = Math.min(was?.atMs ?? endMs, wouldBe?.atMs ?? endMs);
  const since = (moment: typeof was) => moment && { ...moment, atMs: moment.atMs - originMs };
  return {
    was: since(was),
    wouldBe: since(wouldBe),
    judged: endMs === originMs ? 1 : (atMs - originMs) / (endMs - originMs),
  };
}

/**
 * Where two series part: the first of each that is not the same, null for one that is over. Null if they are
 * the same to their ends. Reads no further than that.
 */
export function partingOf<One>(
  before: Iterator<One, unknown>,
  after: Iterator<One, unknown>,
  isSame: (was: One, wouldBe: One) => boolean,
): { readonly was: One | null; readonly wouldBe: One | null } | null {
  for (;;) {
    const [was, wouldBe] = [nextOf(before), nextOf(after)];
    if (was === null && wouldBe === null) return null;
    if (was === null || wouldBe === null || !isSame(was, wouldBe)) return { was, wouldBe };
  }
}

function nextOf<One>(series: Iterator<One, unknown>): One | null {
  const next = series.next();
  return next.done ? null : next.value;
}

/** True if a caller would not notice a difference between the two. */
export function isSameMoment(one: NoticedMoment, other: NoticedMoment): boolean {
  return one.atMs === other.atMs && one.did.do === other.did.do && textOf(one.did) === textOf(other.did);
}

/** The kind of an effect as answers of the API name it. */
export function deedOf({ do: deed }: NoticeableEffect): Did {
  return deed === 'hangUp' ? 'hang_up' : deed;
}

/** Distinguishes two effects of the same kind, apart from their time. */
export function textOf(effect: NoticeableEffect): string {
  if (effect.do === 'generate') return `${effect.isSpeculative} ${effect.messages.at(-1)?.content}`;
  return 'replyId' in effect ? effect.replyId : '';
}

/** A pause of the caller during their turn, and its outcome under the settings. */
export interface PauseOutcome {
  /** From the end of speech until the turn is taken, in ms; null when the caller continues first. */
  readonly takenAfterMs: number | null;
  /** From the end of speech until the caller speaks again, in ms; null when the agent was heard first. */
  readonly wentOnAfterMs: number | null;
  /** The end of the caller's speech, on the clock of the log, in ms. */
  readonly endMs: number;
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
export const LONGEST_WAIT_MS = 15_000;

/**
 * Judges every pause separately, starting from the state of the real call, so that one difference does not
 * affect the rest. The call itself is run once, however many candidates there are. `withMerged`: also pauses
 * of a caller who has gone on after the turn was taken and before the answer was heard.
 */
export function judgePauses(
  log: ReadFlightLog,
  candidates: readonly Partial<TurnConfig>[],
  machine: TurnMachine,
  { withMerged = false }: { readonly withMerged?: boolean } = {},
): JudgedPauses {
  const judged: readonly string[] = withMerged ? ['listening', 'answering'] : ['listening'];
  const run = runOf(log, {}, machine);
  const was: PauseOutcome[] = [];
  const wouldBe = candidates.map((): PauseOutcome[] => []);
  let pauses = 0;
  log.inputs.forEach((input, index) => {
    if (input.type === 'voice.stopped') {
      pauses += 1;
      if (judged.includes(run.state.phase.is) && run.state.caller.is === 'talking') {
        was.push(pauseFrom(run.fork(), log.inputs, index));
        for (const [at, changes] of candidates.entries())
          wouldBe[at]?.push(pauseFrom(run.fork(changes), log.inputs, index));
      }
    }
    for (const _ of run.take(input));
  });
  return { was, wouldBe, pauses };
}

/**
 * The outcome of the pause that begins at an index, an end of speech. The run has taken every input before
 * it, and takes those of the pause. `mayReact`: true to count a caller who goes on after the agent was heard,
 * too, though they may only have reacted to it.
 */
export function pauseFrom(
  run: FreeRun,
  inputs: readonly TurnInput[],
  index: number,
  mayReact = false,
): PauseOutcome {
  const first = inputs[index];
  if (first?.type !== 'voice.stopped') throw new Error('a pause begins with the end of speech');
  const endMs = first.speechEndMs;
  let takenAfterMs: number | null = null;
  for (let next = index; next < inputs.length; next += 1) {
    const input = inputs[next] as TurnInput;
    const isHeard = takenAfterMs !== null && input.type === 'playout.started';
    if (input.atMs > endMs + LONGEST_WAIT_MS || (isHeard && !mayReact)) break;
    for (const step of run.take(input)) takenAfterMs ??= isTaken(step) ? step.input.atMs - endMs : null;
    if (input.type === 'voice.started')
      return { takenAfterMs, wentOnAfterMs: Math.max(0, input.speechStartMs - endMs), endMs };
  }
  return { takenAfterMs, wentOnAfterMs: null, endMs };
}

/** True when a step takes a turn of speech. */
export function isTaken({ effects }: ReplayedStep): boolean {
  return effects.some((effect) => effect.do === 'explain' && isEndpoint(effect.decision));
}

/** True when a step speaks a hold line. */
export function isHoldLine({ effects }: ReplayedStep): boolean {
  return effects.some(
    (effect) =>
      effect.do === 'explain' &&
      effect.decision.about === 'silence' &&
      (effect.decision.rule === 'hold_line' || effect.decision.rule === 'tool_filler'),
  );
}

/** True when a turn of speech is taken. */
function isEndpoint({ about, rule }: Decision): boolean {
  return about === 'endpoint' && rule !== 'no_words' && rule !== 'keypad';
}
