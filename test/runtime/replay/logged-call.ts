/** Flight logs for tests: of simulated calls, and of the same facts in another turn machine. */
import { FreeRun } from '#runtime/replay/free-run.ts';
import { machineOf } from '#runtime/replay/machines/machine-of.ts';
import type { TurnMachine } from '#runtime/replay/machines/turn-machine.ts';
import type { ReplayedStep } from '#runtime/replay/replay.ts';
import { type ReadFlightLog, readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { TURN_MACHINE_VERSION } from '#runtime/turn/machine/turn-state.ts';
import { simulateCall } from '../../simulation/simulate-call.ts';

/** When a call of `logFrom` began. */
export const BEGAN = '2026-01-01T00:00:00.000Z';

/** The log of a simulated call. */
export async function simulatedLog(seed: number): Promise<ReadFlightLog> {
  return readFlightLog((await simulateCall(seed)).flightLog)[0];
}

/** The same as it is stored: lines of JSON. */
export async function storedLog(seed: number): Promise<string> {
  return Buffer.concat([...(await simulateCall(seed)).flightLog]).toString();
}

/** A call that a machine ran: its log, and what the machine did. */
export interface LoggedCall {
  readonly log: ReadFlightLog;
  readonly steps: readonly ReplayedStep[];
}

/** Runs the facts of a call in another machine, which has its own timers, and keeps its log. */
export function ranBy(machine: TurnMachine, { header, inputs }: ReadFlightLog): LoggedCall {
  const run = new FreeRun(machine, machine.initialState(header.config));
  const steps = inputs.flatMap((input) => [...run.take(input)]);
  return {
    log: { header: { ...header, machine_version: machine.version }, inputs: steps.map(({ input }) => input) },
    steps,
  };
}

/** A simulated call, run by the machine of a version. */
export async function ranByVersion(version: number, seed: number): Promise<LoggedCall> {
  return ranBy(machineOf(version), await simulatedLog(seed));
}

/** A log as it is stored: lines of JSON. */
export function textOf({ header, inputs }: ReadFlightLog): string {
  return [header, ...inputs].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** The log of a call that a test drives itself, in the turn machine of the sources. */
export function logFrom(config: TurnConfig, inputs: readonly TurnInput[]): ReadFlightLog {
  return {
    header: {
      flight_log_version: 1,
      machine_version: TURN_MACHINE_VERSION,
      session_id: 's1',
      seed: 1,
      started_at_ms: 0,
      wall_time: BEGAN,
      config,
    },
    inputs,
  };
}
