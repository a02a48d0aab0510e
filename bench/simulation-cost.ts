/**
 * Cost of a simulated call. It determines how long it takes to test a change to the turn loop on a thousand
 * calls.
 */

import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { replay } from '#runtime/replay/replay.ts';
import { createFlightLog, type ReadFlightLog, readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { SilenceLog } from '#runtime/turn/loop/silence-log.ts';
import { simulateCall } from '#test/simulation/simulate-call.ts';
import { SimulatedClock } from '#test/simulation/simulated-clock.ts';

const FIVE_MINUTES_MS = 300_000;
/** During the first hundreds of calls, the compiler's threads use as much CPU as the calls. */
const WARM_UP_CALLS = 1_000;
/** The loop alone is fast, so its calls run this many times. */
const LOOP_ROUNDS = 4;

/** CPU of this process per five simulated minutes, ms. */
export interface SimulationCost {
  /** The turn loop alone: takes each input, decides, writes the flight log, explains silences. */
  readonly loopMs: number;
  /**
   * Everything: the loop, the product's replies, prompts and reports, and the simulated engines, leg, caller
   * and clock. Excludes the checks of the simulation.
   */
  readonly wholeMs: number;
}

/** Measures the calls of the first seeds. */
export async function measureSimulationCost(calls: number): Promise<SimulationCost> {
  for (let seed = 1; seed <= WARM_UP_CALLS; seed++) await simulateCall(seed, { isChecked: false });
  const logs: ReadFlightLog[] = [];
  let simulatedMs = 0;
  let wholeMs = 0;
  for (let seed = 1; seed <= calls; seed++) {
    const before = process.cpuUsage();
    const call = await simulateCall(seed, { isChecked: false });
    wholeMs += cpuMsSince(before);
    simulatedMs += call.endedMs ?? 0;
    logs.push(...readFlightLog(call.flightLog));
  }
  for (const log of logs) runLoop(log);
  const before = process.cpuUsage();
  for (let round = 0; round < LOOP_ROUNDS; round++) for (const log of logs) runLoop(log);
  const perFiveMinutes = FIVE_MINUTES_MS / simulatedMs;
  return { loopMs: (cpuMsSince(before) / LOOP_ROUNDS) * perFiveMinutes, wholeMs: wholeMs * perFiveMinutes };
}

/** Feeds one call's inputs to the loop without executing its actions. */
function runLoop(log: ReadFlightLog): void {
  const { config, seed, session_id: sessionId } = log.header;
  const flightLog = createFlightLog({
    config,
    seed,
    sessionId,
    clock: new SimulatedClock(),
    save: () => undefined,
  });
  const silences = new SilenceLog();
  for (const { effects, input } of replay(log, CURRENT_MACHINE)) {
    flightLog.write(input);
    silences.observe(input, effects);
  }
  flightLog.close();
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
