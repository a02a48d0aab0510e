/** The turn machine of the call, run in this page: its state after each input. */
import type { Did } from '../../protocol/rehearsal.ts';
import { effectsDigest } from '../../runtime/replay/effects-digest.ts';
import { CURRENT_MACHINE } from '../../runtime/replay/machines/turn-machine.ts';
import { deedOf, firstDivergence } from '../../runtime/replay/what-if.ts';
import { type ReadFlightLog, readFlightLogText } from '../../runtime/turn/loop/flight-log.ts';
import type { TurnConfig } from '../../runtime/turn/machine/turn-config.ts';
import type { Decision } from '../../runtime/turn/machine/turn-effects.ts';
import type { TurnInput } from '../../runtime/turn/machine/turn-inputs.ts';
import { step } from '../../runtime/turn/machine/turn-machine.ts';
import { initialState, type TurnState } from '../../runtime/turn/machine/turn-state.ts';

/** The machine after one input. */
export interface Moment {
  /** Wall time, ms. */
  readonly atMs: number;
  /** Wall time of the machine's zero, ms. */
  readonly zeroMs: number;
  readonly input: TurnInput;
  readonly state: TurnState;
  /** The last decision so far. */
  readonly decision: Decision | null;
}

/** A call, run again. */
export interface MachineRun {
  readonly logs: readonly ReadFlightLog[];
  readonly moments: readonly Moment[];
  /** Hex; the same in Node. */
  readonly digest: string;
}

/** Runs a log. Throws if it is damaged or of another version of the machine. */
export async function runMachine(text: string): Promise<MachineRun> {
  const logs = readFlightLogText(text);
  const { version } = CURRENT_MACHINE;
  const other = logs.find(({ header }) => header.machine_version !== version);
  if (other)
    throw new Error(
      `the call ran version ${other.header.machine_version} of the turn machine, this file has ${version}`,
    );
  return { logs, moments: logs.flatMap(momentsOf), digest: await effectsDigest(logs, CURRENT_MACHINE) };
}

/** Wall time of the zero of a log's clock, ms. */
function zeroOf({ header }: ReadFlightLog): number {
  return Date.parse(header.wall_time) - header.started_at_ms;
}

function momentsOf(log: ReadFlightLog): Moment[] {
  const zeroMs = zeroOf(log);
  let state = initialState(log.header.config);
  let decision: Decision | null = null;
  return log.inputs.map((input) => {
    const next = step(state, input);
    state = next.state;
    for (const effect of next.effects) if (effect.do === 'explain') decision = effect.decision;
    return { atMs: zeroMs + input.atMs, zeroMs, input, state, decision };
  });
}

/** The moment that holds at a wall time, in ms; null before the first. */
export function momentAt(moments: readonly Moment[], atMs: number): Moment | null {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((moments[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return moments[low - 1] ?? null;
}

interface DifferingMoment {
  readonly atMs: number;
  readonly did: Did;
}

/** Where other settings make the call another one; times are wall times in ms. */
export interface Difference {
  readonly atMs: number;
  readonly was: DifferingMoment | null;
  readonly wouldBe: DifferingMoment | null;
  /** Share of the call before it. */
  readonly judged: number;
}

/** The first difference under other settings, in the first worker's part that has one; null without one. */
export function firstDifference(
  logs: readonly ReadFlightLog[],
  changes: Partial<TurnConfig>,
): Difference | null {
  for (const log of logs) {
    const found = firstDivergence(log, changes, CURRENT_MACHINE);
    if (!found) continue;
    const beganMs = zeroOf(log) + (log.inputs[0]?.atMs ?? 0);
    const moment = (of: typeof found.was) => of && { atMs: beganMs + of.atMs, did: deedOf(of.did) };
    const [was, wouldBe] = [moment(found.was), moment(found.wouldBe)];
    const atMs = Math.min(...[was, wouldBe].flatMap((one) => (one ? [one.atMs] : [])));
    return { atMs, was, wouldBe, judged: found.judged };
  }
  return null;
}
