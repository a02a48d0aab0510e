/** The moments of a recorded call at which a quantity can be measured, with its values as they were. */
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import type { TurnInput } from '../../turn/machine/turn-inputs.ts';
import type { FreeRun } from '../free-run.ts';
import { machineOf } from '../machines/machine-of.ts';
import type { TurnMachine } from '../machines/turn-machine.ts';
import type { ReplayedStep } from '../replay.ts';
import { wallMs } from '../wall-ms.ts';
import { isTaken, runOf } from '../what-if.ts';
import type { Case, Moment } from './judge.ts';
import { isBad, type Measure, QUANTITIES, type Quantity } from './measure.ts';
import { observe } from './observe.ts';

type OpenMoment = { -readonly [Name in keyof Moment]: Moment[Name] };

/** Time from a place that a person names to the moment meant, at most. */
const NEAR_MS = 10_000;

/** All moments of a quantity in one worker's part of a call, in order. */
function momentsOf(
  { log, machine, beganMs }: Pick<Case, 'log' | 'machine' | 'beganMs'>,
  quantity: Quantity,
): readonly Moment[] {
  const run = runOf(log, {}, machine);
  const turns = new TurnsOfMoments();
  const originMs = (log.inputs[0]?.atMs ?? 0) - beganMs;
  const moments: OpenMoment[] = [];
  log.inputs.forEach((input, index) => {
    if (begins(quantity, run, input)) {
      const value = observe(quantity, { run: run.fork(), inputs: log.inputs, index });
      const moment: OpenMoment = { index, atMs: input.atMs - originMs, turn: null, restMs: 0, value };
      moments.push(moment);
      turns.begin(moment);
    }
    for (const step of run.take(input)) turns.follow(step);
  });
  if (quantity === 'reply_ms')
    // Without a sound afterwards there was no silence to hear the end of.
    return moments.map((one) => ({
      ...one,
      value: one.value === null || one.restMs === 0 ? null : one.value + one.restMs,
    }));
  return moments;
}

/** Whether a moment of the quantity begins with this input, which the run has not yet taken. */
function begins(quantity: Quantity, { state }: FreeRun, input: TurnInput): boolean {
  if (QUANTITIES[quantity].at === 'overlap')
    return input.type === 'voice.started' && state.phase.is === 'speaking';
  return input.type === 'voice.stopped' && state.phase.is === 'listening' && state.caller.is === 'talking';
}

/** Follows a call to learn which turn was taken after a moment, and when it was answered. */
class TurnsOfMoments {
  readonly #turns = new Map<string, number>();
  #last: OpenMoment | null = null;
  #takenAtMs: number | null = null;

  begin(moment: OpenMoment): void {
    this.#last = moment;
    this.#takenAtMs = null;
  }

  follow(step: ReplayedStep): void {
    const { input, effects } = step;
    if (this.#takenAtMs === null && isTaken(step)) this.#takenAtMs = input.atMs;
    for (const effect of effects) {
      if (effect.do === 'generate') this.#turns.set(effect.replyId, effect.turnId);
      const isReply = effect.do === 'commit' || (effect.do === 'generate' && !effect.isSpeculative);
      if (isReply && this.#last && this.#takenAtMs !== null)
        this.#last.turn ??= this.#turns.get(effect.replyId) ?? null;
    }
    if (input.type === 'playout.started' && this.#last && this.#takenAtMs !== null) {
      if (this.#last.restMs === 0) this.#last.restMs = Math.max(1, input.wireMs - this.#takenAtMs);
      this.#last = null;
    }
  }
}

/**
 * The moment of a call that a measure means, in the part of the worker that ran it; null if the call has
 * none. Throws when no machine of a part's version is known.
 */
export function caseOf(
  parts: readonly ReadFlightLog[],
  measure: Measure,
  machineFor: (version: number) => TurnMachine = machineOf,
): Case | null {
  const [first] = parts;
  const all = parts.flatMap((log) => {
    const beganMs = first ? beginningOf(log) - beginningOf(first) : 0;
    const part = { log, measure, machine: machineFor(log.header.machine_version), beganMs };
    return momentsOf(part, measure.quantity).map((moment) => ({ ...part, moment }));
  });
  const meant = momentMeant(
    all.map(({ moment }) => moment),
    measure,
  );
  return all.find(({ moment }) => moment === meant) ?? null;
}

/** Wall-clock time of a part's first input. */
function beginningOf(log: ReadFlightLog): number {
  return wallMs(log, log.inputs[0]?.atMs ?? 0);
}

/**
 * The moment that a measure means: at the turn or time it names, otherwise the first bad one, and of bad
 * times the longest. Null if the call has none.
 */
function momentMeant(moments: readonly Moment[], measure: Measure): Moment | null {
  const { place, quantity } = measure;
  const measured = moments.filter(({ value }) => value !== null);
  if (place !== null && 'turn' in place) return measured.find(({ turn }) => turn === place.turn) ?? null;
  if (place !== null) {
    const farMs = (moment: Moment) => Math.abs(moment.atMs - place.atMs);
    return (
      measured.filter((moment) => farMs(moment) <= NEAR_MS).sort((a, b) => farMs(a) - farMs(b))[0] ?? null
    );
  }
  const bad = measured.filter(({ value }) => isBad(measure, value ?? 0));
  if (bad.length > 0 && QUANTITIES[quantity].unit === null) return bad[0] ?? null;
  const sign = measure.operator.startsWith('>') ? -1 : 1;
  return measured.toSorted((a, b) => sign * ((a.value ?? 0) - (b.value ?? 0)))[0] ?? null;
}
