/**
 * Several cells, each in a thread, in steps of a second of virtual time. What one tells another arrives in a
 * later step, is lost now and then, or comes twice.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createRandom, type Random } from '../../simulation/random.ts';
import type { TierMessage } from './allotments.ts';
import type { CellResult } from './cell.ts';
import type { CellThreadData, FromCell, ToCell } from './cell-thread.ts';
import { moneyViolations } from './money.ts';
import type { TierPlan } from './tier.ts';

const STEP_MS = 1_000;
const LOST = 0.03;
const TWICE = 0.03;
/** A lost cell, its settlements and what is given back need less. */
const LONGEST_MS = 1_800_000;

/** A finished run. */
export interface CellsRun {
  readonly violations: readonly string[];
  readonly cells: readonly CellResult[];
  /** Messages between cells. */
  readonly messages: number;
  /** Virtual time, ms. */
  readonly lastedMs: number;
}

/** Runs them; `onStep` is told the virtual time, ms. */
export async function simulateCells(
  plan: TierPlan,
  onStep: (nowMs: number) => void = () => undefined,
): Promise<CellsRun> {
  const random = createRandom(plan.seed ^ 0x5bd1e995);
  const threads = Array.from({ length: plan.cells }, (_, index) => openThread({ index, plan }));
  try {
    let inboxes: readonly (readonly TierMessage[])[] = threads.map(() => []);
    let messages = 0;
    let isGivingBack = false;
    let untilMs = 0;
    for (;;) {
      untilMs += STEP_MS;
      if (untilMs > LONGEST_MS) throw new Error('the cells are never quiet');
      const steps = await Promise.all(
        threads.map((thread, index) =>
          ask(thread, { type: 'advance', untilMs, inbox: inboxes[index] ?? [], isGivingBack }, 'advanced'),
        ),
      );
      onStep(untilMs);
      const sent = steps.flatMap(({ outbox }) => outbox);
      messages += sent.length;
      const carried = sent.flatMap((message) => carry(message, random));
      inboxes = threads.map((_, index) => carried.filter(({ to }) => to === index));
      const isQuiet = steps.every((step) => step.isQuiet);
      if (isQuiet && isGivingBack) break;
      // Accounts without credit ask again and again until then.
      isGivingBack ||= isQuiet;
    }
    const finished = await Promise.all(threads.map((thread) => ask(thread, { type: 'finish' }, 'finished')));
    const cells = finished.map(({ result }) => result);
    const violations = [
      ...cells.flatMap((cell, index) => cell.violations.map((what) => `cell ${index}: ${what}`)),
      ...moneyViolations(plan, cells),
    ];
    return { violations, cells, messages, lastedMs: untilMs };
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

function openThread(workerData: CellThreadData): Worker {
  return new Worker(new URL('./cell-thread.ts', import.meta.url), { workerData });
}

async function ask<Type extends FromCell['type']>(
  thread: Worker,
  message: ToCell,
  _type: Type,
): Promise<Extract<FromCell, { type: Type }>> {
  thread.postMessage(message);
  // Rejects with the thread's error.
  const [reply] = await once(thread, 'message');
  return reply as Extract<FromCell, { type: Type }>;
}

function carry(message: TierMessage, random: Random): TierMessage[] {
  if (random.chance(LOST)) return [];
  return random.chance(TWICE) ? [message, message] : [message];
}
