/**
 * One ended call under an agent's draft: the same to its end, or its first difference, and its pauses. Beyond
 * the first difference the facts of the log belong to another call, so nothing but single pauses is judged
 * there.
 */
import { addFields } from '#base/add-fields.ts';
import type {
  ActionCounts,
  CallPauses,
  Difference,
  RehearsedCall,
  RehearsedChanges,
  RehearsedOutcome,
  RunOutcome,
} from '#protocol/rehearsal.ts';
import { type ReadFlightLog, readFlightLogText } from '../../turn/loop/flight-log.ts';
import { machineVersions, ownMachineOf, unknownSettings } from '../machines/machine-of.ts';
import { CURRENT_MACHINE } from '../machines/turn-machine.ts';
import { wallMs } from '../wall-ms.ts';
import { draftSettings } from './draft-settings.ts';
import { type Compared, comparePart } from './first-difference.ts';
import { judgeCutOffs } from './judge-cut-offs.ts';
import type { Noticed } from './notice.ts';

/** Runs a call again. A log of an unknown version of the turn machine, or a damaged one, is named. */
export function rehearseCall(call: RehearsedCall): RehearsedOutcome {
  const { session_id } = call;
  if (isOfUnknownVersion(call.log)) return { outcome: 'other_version', session_id };
  try {
    return { outcome: 'run', session_id, ...rehearseParts(readFlightLogText(call.log), call) };
  } catch {
    // A damaged log may fail anywhere.
    return { outcome: 'unreadable', session_id };
  }
}

/** Versions in the headers; inside a text of the call the quotes would be escaped. */
const MACHINE_VERSION = /\{"flight_log_version":\d{1,9},"machine_version":(\d{1,9}),/g;

function isOfUnknownVersion(log: string): boolean {
  const versions = new Set(Array.from(log.matchAll(MACHINE_VERSION), ([, version]) => Number(version)));
  versions.delete(CURRENT_MACHINE.version);
  return versions.size > 0 && [...versions].some((version) => !machineVersions().includes(version));
}

function rehearseParts(
  parts: readonly [ReadFlightLog, ...ReadFlightLog[]],
  { changes }: RehearsedCall,
): Omit<RunOutcome, 'outcome' | 'session_id'> {
  let difference: Difference | null = null;
  let [judgedMs, wholeMs] = [0, 0];
  let [was, wouldBe]: [ActionCounts, ActionCounts] = [NO_ACTIONS, NO_ACTIONS];
  let pauses = NO_PAUSES;
  for (const part of parts) {
    const settings = draftSettings(part.header.config, changes);
    if (hasSettings(part, changes))
      pauses = addPauses(pauses, inWallTime(part, judgeCutOffs(part, settings)));
    else pauses = addPauses(pauses, { ...NO_PAUSES, all: pausesOf(part) });
    // After a difference even another worker's part belongs to another call.
    const compared: Compared | null = difference ? null : comparePart(part, settings);
    wholeMs += compared?.wholeMs ?? lengthOf(part);
    if (!compared) continue;
    judgedMs += compared.judgedMs;
    was = addFields(was, compared.was);
    wouldBe = addFields(wouldBe, compared.wouldBe);
    difference = compared.difference && describe(part, compared.difference);
  }
  return {
    language: parts[0].header.config.language,
    difference,
    judged: wholeMs === 0 ? 1 : judgedMs / wholeMs,
    pauses,
    was,
    would_be: wouldBe,
  };
}

const NO_ACTIONS: ActionCounts = { hold_lines: 0, interruptions: 0, keys: 0, transfers: 0 };
const NO_PAUSES: CallPauses = {
  all: 0,
  judged: 0,
  cut_off: 0,
  would_cut_off: 0,
  caused: 0,
  spared: 0,
  unknown: 0,
  saved_ms: 0,
  taken: 0,
  first_caused_at_ms: null,
};

/** A pause is judged from the state of the real call, which only its own machine can take. */
function hasSettings(part: ReadFlightLog, changes: RehearsedChanges): boolean {
  const changed = CURRENT_MACHINE.settings.filter((name) => name in changes);
  return unknownSettings(ownMachineOf(part), changed).length === 0;
}

function pausesOf({ inputs }: ReadFlightLog): number {
  return inputs.filter(({ type }) => type === 'voice.stopped').length;
}

function lengthOf({ inputs }: ReadFlightLog): number {
  return (inputs.at(-1)?.atMs ?? 0) - (inputs[0]?.atMs ?? 0);
}

function describe(
  part: ReadFlightLog,
  { kind, was, wouldBe }: NonNullable<Compared['difference']>,
): Difference {
  const moment = (of: Noticed | null) => of && { at_ms: wallMs(part, of.atMs), did: of.did };
  return { kind, was: moment(was), would_be: moment(wouldBe) };
}

function inWallTime(part: ReadFlightLog, pauses: CallPauses): CallPauses {
  const { first_caused_at_ms: atMs } = pauses;
  return { ...pauses, first_caused_at_ms: atMs === null ? null : wallMs(part, atMs) };
}

/** The first new cut-off of all is that of the part that has one first. */
function addPauses(
  { first_caused_at_ms: first, ...one }: CallPauses,
  { first_caused_at_ms: next, ...other }: CallPauses,
): CallPauses {
  return { ...addFields(one, other), first_caused_at_ms: first ?? next };
}
