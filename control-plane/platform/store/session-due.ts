/**
 * The open work of a session, as bits of its field `due`: it changes in the same write as the
 * status, the charge, the analysis or the outbox that it is about. Sessions with nothing left (0) are in no
 * index of such work, however many there are.
 */
import type { SessionDocument } from './models/session-model.ts';
import { isUnderWay } from './session-status.ts';

/**
 * `live` until the call has ended; `analysis` is waiting for a worker, `analysing` has one; `share` from the
 * creation of a call of a share until the sums of the share have it; `score` from the end of a conversation
 * until the scorecard of its agent has it.
 */
export const DUE_BITS = {
  live: 1,
  settlement: 2,
  outbox: 4,
  analysis: 8,
  analysing: 16,
  share: 32,
  score: 64,
} as const;
type Due = keyof typeof DUE_BITS;
/** Sums that calls are added to: of a share, or of the scorecard of an agent. */
export type Sums = Extract<Due, 'share' | 'score'>;

/** The combinations that exist: MongoDB and the embedded planner find values in an index, not bits. */
const COMBINATIONS: readonly number[] = combinations();

type Facts = Pick<SessionDocument, 'status' | 'billing' | 'analysis'>;

/** Condition of sessions with some of this to be done. */
export function dueIn(...kinds: readonly Due[]): { readonly due: { readonly $in: number[] } } {
  const wanted = kinds.reduce((bits, kind) => bits | DUE_BITS[kind], 0);
  return { due: { $in: COMBINATIONS.filter((bits) => (bits & wanted) !== 0) } };
}

/**
 * Condition of ended sessions that the sums of their share or the scorecard of their agent lack, with or
 * without an analysis under way.
 */
export function sumsDue(sums: Sums, analysis: 'over' | 'open'): { readonly due: { readonly $in: number[] } } {
  const { live, analysis: queued, analysing } = DUE_BITS;
  const isOpen = analysis === 'open';
  const ended = COMBINATIONS.filter((bits) => (bits & DUE_BITS[sums]) !== 0 && (bits & live) === 0);
  return { due: { $in: ended.filter((bits) => ((bits & (queued | analysing)) !== 0) === isOpen) } };
}

/** The open work of status, charge and analysis; others empty the outbox and count calls at any time. */
export function dueOf({ status, billing, analysis }: Facts): number {
  if (isUnderWay(status)) return DUE_BITS.live;
  return (
    (billing.state === 'settle_due' ? DUE_BITS.settlement : 0) |
    (analysis.state === 'queued' ? DUE_BITS.analysis : 0) |
    (analysis.state === 'running' ? DUE_BITS.analysing : 0)
  );
}

/**
 * The part of an update that keeps `due` right when a session changes and gets new events; empty if nothing
 * is to be changed.
 */
export function dueUpdate(before: Facts, after: Facts, hasNewEvents: boolean): DueUpdate {
  const due = dueOf(after);
  if (due === dueOf(before) && !hasNewEvents) return {};
  const isOver = isUnderWay(before.status) && after.status === 'completed';
  const bits = due | (hasNewEvents ? DUE_BITS.outbox : 0) | (isOver ? DUE_BITS.score : 0);
  return { $bit: { due: { and: due | KEPT, or: bits } } };
}

/**
 * Bits that other updates take away, and those of a later release: while replicas are upgraded one by one, an
 * earlier release must not clear what it does not know.
 */
const KEPT = ~(DUE_BITS.live | DUE_BITS.settlement | DUE_BITS.analysis | DUE_BITS.analysing);

/** The part of an update that empties the outbox. */
export const OUTBOX_DONE = { $bit: { due: { and: ~DUE_BITS.outbox } } } as const;

/** The update that says that the share or the scorecard has the session in its sums, or never will. */
export function sumsDone(sums: Sums): { readonly $bit: { readonly due: { readonly and: number } } } {
  return { $bit: { due: { and: ~DUE_BITS[sums] } } };
}

/** An update of `due` alone. */
interface DueUpdate {
  readonly $bit?: { readonly due: { readonly and: number; readonly or: number } };
}

function combinations(): number[] {
  const { live, settlement, outbox, analysis, analysing, share, score } = DUE_BITS;
  const ended = [0, settlement].flatMap((bits) => [bits, bits | analysis, bits | analysing]);
  return [live, ...ended]
    .flatMap((bits) => [bits, bits | outbox])
    .flatMap((bits) => [bits, bits | share])
    .flatMap((bits) => ((bits & live) === 0 ? [bits, bits | score] : bits))
    .filter((bits) => bits !== 0);
}
