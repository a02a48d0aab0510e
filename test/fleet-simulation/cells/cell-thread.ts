/** Runs one cell in a thread, a step of virtual time at a time. */
import { parentPort, workerData } from 'node:worker_threads';
import type { TierMessage } from './allotments.ts';
import { Cell, type CellResult } from './cell.ts';
import type { TierPlan } from './tier.ts';

/** Which cell the thread runs. */
export interface CellThreadData {
  readonly index: number;
  readonly plan: TierPlan;
}

/** To the thread: go on to `untilMs`, or check and sum up. */
export type ToCell =
  | {
      readonly type: 'advance';
      readonly untilMs: number;
      readonly inbox: readonly TierMessage[];
      /** The rest of each allotment goes home. */
      readonly isGivingBack: boolean;
    }
  | { readonly type: 'finish' };

/** Its answer. */
export type FromCell =
  | { readonly type: 'advanced'; readonly outbox: readonly TierMessage[]; readonly isQuiet: boolean }
  | { readonly type: 'finished'; readonly result: CellResult };

const { index, plan } = workerData as CellThreadData;
const cell = new Cell(index, plan);
cell.start();
parentPort?.on('message', (message: ToCell) => {
  void answer(message).then(
    (reply) => parentPort?.postMessage(reply),
    // A rejection would be noted by the cell, and the run would wait for ever.
    (error: unknown) =>
      queueMicrotask(() => {
        throw error;
      }),
  );
});

async function answer(message: ToCell): Promise<FromCell> {
  if (message.type === 'finish') return { type: 'finished', result: cell.finish() };
  if (message.isGivingBack) cell.giveBack();
  const outbox = await cell.advance(message.untilMs, message.inbox);
  const isQuiet = cell.isOver() && (!message.isGivingBack || cell.hasGivenBack);
  return { type: 'advanced', outbox, isQuiet };
}
