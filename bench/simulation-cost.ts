/** What a simulated call costs: the time until a change to the turn loop is proved on a thousand calls. */
import { simulateCall } from '#test/simulation/simulate-call.ts';

const FIVE_MINUTES_MS = 300_000;
/** Until then the compiler's threads take more than the calls do. */
const WARM_UP_CALLS = 400;

/** CPU of this process per five simulated minutes, ms. */
export async function simulatedFiveMinutesCpuMs(calls: number): Promise<number> {
  for (let seed = 1; seed <= WARM_UP_CALLS; seed++) await simulateCall(seed);
  const before = process.cpuUsage();
  let simulatedMs = 0;
  for (let seed = 1; seed <= calls; seed++) simulatedMs += (await simulateCall(seed)).endedMs ?? 0;
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1_000) * (FIVE_MINUTES_MS / simulatedMs);
}
