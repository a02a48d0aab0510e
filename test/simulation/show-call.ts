/** `node test/simulation/show-call.ts <seed>` prints a simulated call as a timeline: each input of the turn machine and what it led to. */
import { readFlightLog } from '#runtime/flight-log.ts';
import { replay } from '#runtime/replay.ts';
import { simulateCall, violations } from './simulate-call.ts';

const call = await simulateCall(Number(process.argv[2] ?? 1));
for (const { input, effects } of replay(readFlightLog(call.flightLog))) {
  const { atMs, type, ...facts } = input;
  console.log(`${atMs.toFixed(0).padStart(7)} ${type} ${JSON.stringify(facts)}`);
  for (const { do: what, ...effect } of effects)
    if (what !== 'startTimer' && what !== 'stopTimer') console.log(`${' '.repeat(10)}→ ${what} ${JSON.stringify(effect).slice(0, 220)}`);
}
for (const { replyId, startedMs, words } of call.played) console.log(`played ${replyId} from ${startedMs}: ${words.join(' ')}`);
console.log(violations(call));
