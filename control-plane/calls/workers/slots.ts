/** Whose slots the workers' are: one account never takes the last tenth while others have fewer. Pure. */
import type { JobKind } from '#protocol/worker-link.ts';
import type { WorkerSlots } from '../../platform/dispatch.ts';

/** What the workers of a kind have together. */
export function slotsOf(
  workers: readonly {
    readonly instanceId: string;
    readonly kinds: readonly JobKind[];
    readonly capacity: number;
    readonly freeSlots: number;
  }[],
  kind: JobKind,
): WorkerSlots {
  const suited = workers.filter(({ kinds }) => kinds.includes(kind));
  const sum = (of: (worker: (typeof suited)[number]) => number) =>
    suited.reduce((total, worker) => total + of(worker), 0);
  return {
    capacity: sum(({ capacity }) => capacity),
    free: sum(({ freeSlots }) => freeSlots),
    instanceIds: suited.map(({ instanceId }) => instanceId),
  };
}

/** Fewer slots than this have no last tenth. */
const LEAST_SHARED = 10;

/**
 * True when the next slot is one of the last tenth, `asked` others being on their way to somebody. Where none
 * is free nobody is kept from one.
 */
export function isLastTenth(
  { capacity, free }: Pick<WorkerSlots, 'capacity' | 'free'>,
  asked: number,
): boolean {
  return free > 0 && capacity >= LEAST_SHARED && free - asked <= Math.floor(capacity / 10);
}

/**
 * Whether an account may take a slot of the last tenth: not while it holds as many as anybody does and
 * somebody holds fewer. `accounts` is how many there are in all.
 */
export function mayTakeLast(account: string, held: ReadonlyMap<string, number>, accounts: number): boolean {
  const own = held.get(account) ?? 0;
  const most = Math.max(0, ...held.values());
  const someoneHasFewer = held.size < accounts || [...held.values()].some((slots) => slots < own);
  return own === 0 || own < most || !someoneHasFewer;
}
