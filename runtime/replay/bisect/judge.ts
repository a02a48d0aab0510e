/** Judges one moment of a recorded call under another version: good, bad, or not to be judged. */
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import type { TurnInput } from '../../turn/machine/turn-inputs.ts';
import type { FreeRun } from '../free-run.ts';
import type { TurnMachine } from '../machines/turn-machine.ts';
import { isSameMoment, type NoticedMoment, noticedIn, partingOf, runOf } from '../what-if.ts';
import { isBad, type Measure } from './measure.ts';
import { observe } from './observe.ts';

/** A moment of a call. */
export interface Moment {
  /** Index of the input at which it begins. */
  readonly index: number;
  /** Since the call's first input, ms. */
  readonly atMs: number;
  /** The turn that was taken after it; null if none was. */
  readonly turn: number | null;
  /** From the taking of the turn to the first sound, ms; 0 if there was none. */
  readonly restMs: number;
  /** The quantity as it was; null if the moment has none. */
  readonly value: number | null;
}

/** What is judged: a moment of one worker's part of a call. */
export interface Case {
  readonly log: ReadFlightLog;
  /** The machine that ran it. */
  readonly machine: TurnMachine;
  readonly measure: Measure;
  readonly moment: Moment;
  /** How long after the call this part began, ms. */
  readonly beganMs: number;
}

/** A machine, and the settings that differ from the call's. */
export interface Version {
  readonly machine: TurnMachine;
  readonly changes: Partial<TurnConfig>;
}

/** The result for one version. */
export type Verdict =
  | {
      readonly is: 'good' | 'bad';
      /** The measured quantity. */
      readonly value: number;
      /**
       * Since the call's first input, in ms: here the version parts from the call, before the moment, which
       * was therefore judged from the state of the real call. Null if it comes to the moment by itself.
       */
      readonly partsAtMs: number | null;
    }
  /** Another machine cannot take over the state of the real call. */
  | { readonly is: 'unjudged'; readonly partsAtMs: number };

/** Judges the moment under a version. */
export function judge(
  { log, machine: own, measure, moment, beganMs }: Case,
  { machine, changes }: Version,
): Verdict {
  const call = runTo(log, runOf(log, {}, own), moment.index);
  const free = runTo(log, runOf(log, changes, machine), moment.index);
  const partsAtMs = partsAt(call.noticed, free.noticed);
  const sinceMs = partsAtMs === null ? null : partsAtMs - (log.inputs[0]?.atMs ?? 0) + beganMs;
  if (sinceMs !== null && machine !== own) return { is: 'unjudged', partsAtMs: sinceMs };
  const run = sinceMs === null ? free.run : call.run.fork(changes);
  const observed = observe(measure.quantity, { run, inputs: log.inputs, index: moment.index });
  const value = (observed ?? 0) + (measure.quantity === 'reply_ms' ? moment.restMs : 0);
  return { is: isBad(measure, value) ? 'bad' : 'good', value, partsAtMs: sinceMs };
}

function runTo(
  log: ReadFlightLog,
  run: FreeRun,
  index: number,
): { readonly run: FreeRun; readonly noticed: readonly NoticedMoment[] } {
  const noticed: NoticedMoment[] = [];
  for (let next = 0; next < index; next += 1)
    for (const step of run.take(log.inputs[next] as TurnInput)) noticed.push(...noticedIn(step));
  return { run, noticed };
}

/** When two runs first do something different; null if they do not. */
function partsAt(was: readonly NoticedMoment[], wouldBe: readonly NoticedMoment[]): number | null {
  const parting = partingOf(was.values(), wouldBe.values(), isSameMoment);
  return parting && Math.min(parting.was?.atMs ?? Infinity, parting.wouldBe?.atMs ?? Infinity);
}
