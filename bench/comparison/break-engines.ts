/** Calls during which an engine fails, on several running sides at the same time. */
import { type EngineFault, FAULTS } from './engines.ts';
import { ownWords, replyAfter } from './judge.ts';
import { CallStarter } from './play.ts';
import type { FaultOutcome, SideResults } from './results.ts';
import { FAULT_LINES, FAULT_SCENE } from './script.ts';
import type { Side } from './side.ts';

/** A running side and where its results go. */
export interface RunningSide {
  readonly side: Side;
  readonly results: SideResults;
}

/**
 * Plays every fault `times` times that a side has no outcome of yet. The sides play at the same time: the
 * result is measured in seconds, so interference of milliseconds does not matter. `onPlayed` is called after
 * each fault.
 */
export async function breakEngines(
  sides: readonly RunningSide[],
  times: number,
  { onPlayed, report }: { readonly onPlayed: () => void; readonly report: (text: string) => void },
): Promise<void> {
  for (const fault of FAULTS)
    for (let time = 1; time <= times; time++) {
      const missing = sides.filter(
        ({ results }) => results.faults.filter((outcome) => outcome.fault === fault.name).length < time,
      );
      if (missing.length === 0) continue;
      report(`${fault.name} (${time})`);
      await Promise.all(
        missing.map(async ({ side, results }) => {
          try {
            results.faults.push(await withFault(side, fault));
          } catch (error) {
            report(`${results.name}: no call: ${error}`);
          }
        }),
      );
      onPlayed();
    }
}

async function withFault(side: Side, fault: EngineFault): Promise<FaultOutcome> {
  try {
    const { call, said } = await new CallStarter(side).play(FAULT_SCENE, (index) => {
      if (index === FAULT_LINES.breaks) side.engines.order({ fault });
      if (index === FAULT_LINES.mends) side.engines.order({ fault: null });
    });
    const [, broken, mended] = call.lines;
    return {
      fault: fault.name,
      heardAfterMs: broken ? replyAfter(call.agent, broken, mended) : null,
      nextAnsweredAfterMs: mended ? replyAfter(call.agent, mended, undefined) : null,
      wasSentAway: !call.endedByCaller,
      ownWords: ownWords(said ?? []),
    };
  } finally {
    side.engines.order({ fault: null });
  }
}
