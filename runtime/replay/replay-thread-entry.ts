/** The thread that runs one call again, reports the first difference, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import { turnSettings } from '#protocol/conversation-settings.ts';
import type { ReplayOutcome } from '#protocol/replay.ts';
import { type ReadFlightLog, readFlightLogText } from '../turn/loop/flight-log.ts';
import { ownMachineOf, refuseUnknownSettings } from './machines/machine-of.ts';
import type { ReplayRequest } from './replay-request.ts';
import { wallMs } from './wall-ms.ts';
import { type Divergence, deedOf, firstDivergence } from './what-if.ts';

treatThisThreadAsOthers();

const { log, settings } = workerData as ReplayRequest;
parentPort?.postMessage(outcomeOf(readFlightLogText(log)));

/** For a call with several workers, reports the first part that differs. */
function outcomeOf(parts: readonly ReadFlightLog[]): ReplayOutcome {
  const changes = turnSettings(settings);
  for (const part of parts) {
    const machine = ownMachineOf(part);
    refuseUnknownSettings(machine, Object.keys(settings));
    const divergence = firstDivergence(part, changes, machine);
    if (divergence) return { divergence: describedDivergence(part, divergence) };
  }
  return { divergence: null };
}

function describedDivergence(
  part: ReadFlightLog,
  { was, wouldBe, judged }: Divergence,
): ReplayOutcome['divergence'] {
  const beganAtMs = wallMs(part, part.inputs[0]?.atMs ?? 0);
  const moment = (of: Divergence['was']) =>
    of && {
      at: new Date(beganAtMs + of.atMs).toISOString(),
      did: deedOf(of.did),
    };
  return { was: moment(was), would_be: moment(wouldBe), judged };
}
