/** Whether a fault is there: what it takes away is asked for before it and at its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import { accepts } from './accepts.ts';

const ANSWERS_WITHIN_MS = 1_500;
/** Of the time of a fault, for asking at its end. */
const ASKING_MS = 2_000;

/** Something that works until the fault. */
export interface Probe {
  readonly of: string;
  works(): boolean | Promise<boolean>;
}

/** Whether it worked before the fault, and at the end of it. */
export interface Probed {
  readonly of: string;
  readonly before: boolean;
  readonly during: boolean;
}

/** Begins a fault and resolves after `ms`, with the fault still there if it has had an effect. */
export async function lastFor(
  ms: number,
  probes: readonly Probe[],
  begin: () => void | Promise<void>,
): Promise<Probed[]> {
  const ask = () => Promise.all(probes.map((probe) => probe.works()));
  const before = await ask();
  await begin();
  await sleep(ms - ASKING_MS);
  const [during] = await Promise.all([ask(), sleep(ASKING_MS)]);
  return probes.map(({ of }, index) => ({
    of,
    before: before[index] ?? false,
    during: during[index] ?? true,
  }));
}

/** Whether a server accepts connections from the callers' side of the switch. */
export function isThere(place: { readonly host: string; readonly port: number }): Promise<boolean> {
  return accepts(place, ANSWERS_WITHIN_MS);
}

/** Whether a store answers: the kernel accepts connections for one that hangs. */
export async function storeAnswers(url: string): Promise<boolean> {
  const connection = mongoose.createConnection(url, {
    serverSelectionTimeoutMS: ANSWERS_WITHIN_MS,
    connectTimeoutMS: ANSWERS_WITHIN_MS,
  });
  const answered = await connection.asPromise().then(
    () => true,
    () => false,
  );
  await connection.close(true);
  return answered;
}
