/** Where a call under other settings leaves the recorded one, and what the caller would notice there. */
import type { ActionCounts, DifferenceKind } from '#protocol/rehearsal.ts';
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import { ownMachineOf } from '../machines/machine-of.ts';
import { CURRENT_MACHINE } from '../machines/turn-machine.ts';
import { partingOf } from '../what-if.ts';
import { type Noticed, NoticedRun } from './notice.ts';

/** The comparison of one worker's part of a call. */
export interface Compared {
  /** Null: the same to its end. Times are those of the log. */
  readonly difference: {
    readonly kind: DifferenceKind;
    readonly was: Noticed | null;
    readonly wouldBe: Noticed | null;
  } | null;
  /** Time of the part before the difference, and of the whole part, ms. */
  readonly judgedMs: number;
  readonly wholeMs: number;
  /** Up to and with the difference. */
  readonly was: ActionCounts;
  readonly wouldBe: ActionCounts;
}

/**
 * Runs a part of a call under its own settings in its own turn machine, and under others in that of these
 * sources, as far as both are the same. Throws if no machine of the log's version is known.
 */
export function comparePart(log: ReadFlightLog, changes: Partial<TurnConfig>): Compared {
  const [originMs, endMs] = [log.inputs[0]?.atMs ?? 0, log.inputs.at(-1)?.atMs ?? 0];
  const [before, after] = [
    new NoticedRun(log, {}, ownMachineOf(log)),
    new NoticedRun(log, changes, CURRENT_MACHINE),
  ];
  const parting = partingOf(before.noticed(), after.noticed(), isSame);
  const atMs = Math.min(parting?.was?.atMs ?? endMs, parting?.wouldBe?.atMs ?? endMs);
  return {
    difference: parting && { kind: kindOf(parting.was, parting.wouldBe), ...parting },
    judgedMs: atMs - originMs,
    wholeMs: endMs - originMs,
    was: before.counts,
    wouldBe: after.counts,
  };
}

/** True if a caller would not notice a difference between the two. */
export function isSame(one: Noticed, other: Noticed): boolean {
  return one.atMs === other.atMs && one.did === other.did && one.text === other.text;
}

/** Names a difference after what comes first: that is what the caller would have noticed, or missed. */
export function kindOf(was: Noticed | null, wouldBe: Noticed | null): DifferenceKind {
  const isNew = wouldBe !== null && (was === null || wouldBe.atMs < was.atMs);
  const isGone = was !== null && (wouldBe === null || was.atMs < wouldBe.atMs);
  const first = isNew ? wouldBe : isGone ? was : rarer(was, wouldBe);
  const subject = first?.subject;
  switch (subject) {
    case 'reply':
      return isNew ? 'reply_earlier' : isGone ? 'reply_later' : 'other';
    case 'interruption':
      return isTaken(was, wouldBe, isNew) ? 'interruption_taken' : 'interruption_not_taken';
    case 'prepared':
    case undefined:
      return 'other';
    default:
      return subject;
  }
}

/** At one moment both do something else: the interruption, key, transfer or end counts, not the reply. */
function rarer(was: Noticed | null, wouldBe: Noticed | null): Noticed | null {
  const isReply = (one: Noticed | null) => one?.subject === 'reply' || one?.subject === 'prepared';
  return isReply(wouldBe) ? was : wouldBe;
}

/** True if the caller gets the floor under the other settings, or sooner. */
function isTaken(was: Noticed | null, wouldBe: Noticed | null, isNew: boolean): boolean {
  if (wouldBe?.did === 'clear' && was?.did === 'resume') return true;
  if (wouldBe?.did === 'resume') return false;
  return isNew || (was?.atMs === wouldBe?.atMs && wouldBe?.subject === 'interruption');
}
