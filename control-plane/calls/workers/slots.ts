/**
 * Fair sharing of worker slots: an account may not take the last tenth while others have fewer slots. Pure.
 */
import type { JobKind } from '#protocol/worker-link.ts';
import type { JobOffer, WorkerSlots } from '../../platform/dispatch.ts';

/** Whether a worker takes this kind of job. Turns of text sessions are no kind that it lists. */
export function takesKind(
  { kinds, takesText }: { readonly kinds: readonly JobKind[]; readonly takesText?: boolean | undefined },
  kind: JobKind,
): boolean {
  return kind === 'text_turn' ? takesText === true && kinds.includes('agent_test') : kinds.includes(kind);
}

/** Whether a worker may be offered this job. */
export function takesOffer(
  worker: Parameters<typeof takesKind>[0] & {
    readonly isWebReady: boolean;
    readonly joinsMediaStreams?: boolean | undefined;
  },
  { kind, needsReady, isMediaStream }: Pick<JobOffer, 'kind' | 'needsReady' | 'isMediaStream'>,
): boolean {
  return (
    takesKind(worker, kind) &&
    (worker.isWebReady || needsReady !== true) &&
    (worker.joinsMediaStreams === true || isMediaStream !== true)
  );
}

/** Total slots of the workers that accept this kind of job. */
export function slotsOf(
  workers: readonly {
    readonly instanceId: string;
    readonly kinds: readonly JobKind[];
    readonly takesText?: boolean | undefined;
    readonly capacity: number;
    readonly freeSlots: number;
  }[],
  kind: JobKind,
): WorkerSlots {
  const suitable = workers.filter((worker) => takesKind(worker, kind));
  const sum = (slots: (worker: (typeof suitable)[number]) => number) =>
    suitable.reduce((total, worker) => total + slots(worker), 0);
  return {
    capacity: sum(({ capacity }) => capacity),
    free: sum(({ freeSlots }) => freeSlots),
    instanceIds: suitable.map(({ instanceId }) => instanceId),
  };
}

/** With fewer slots than this, none are kept for sharing. */
const MIN_SHARED = 10;

/**
 * True when the next slot is one of the last tenth, counting `asked` pending requests as taken. False when no
 * slot is free, because then there is nothing to share.
 */
export function isLastTenth(
  { capacity, free }: Pick<WorkerSlots, 'capacity' | 'free'>,
  asked: number,
): boolean {
  return free > 0 && capacity >= MIN_SHARED && free - asked <= Math.floor(capacity / 10);
}

/**
 * Whether an account may take a slot of the last tenth: not while it holds at least as many as every other
 * account and some account holds fewer. `accounts` is the total number of accounts.
 */
export function mayTakeLast(account: string, held: ReadonlyMap<string, number>, accounts: number): boolean {
  const own = held.get(account) ?? 0;
  const most = Math.max(0, ...held.values());
  const someoneHasFewer = held.size < accounts || [...held.values()].some((slots) => slots < own);
  return own === 0 || own < most || !someoneHasFewer;
}
