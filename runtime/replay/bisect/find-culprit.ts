/**
 * Names the change that made a moment of a call bad: walks the published versions of the agent in the call's
 * machine, and the versions of the turn machine with the call's settings.
 */
import {
  REPLAYABLE_SETTINGS,
  type ReplayableSetting,
  replayableSettings,
  turnSettings,
} from '#protocol/conversation-settings.ts';
import type { ReplaySettings } from '#protocol/replay.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import type { TurnMachine } from '../machines/turn-machine.ts';
import { type FirstBad, findFirstBad } from './first-bad.ts';
import { type Case, judge, type Verdict } from './judge.ts';

/** A published version of an agent. */
export interface AgentVersion {
  readonly number: number;
  /** Reads its settings; called only for the versions that are looked at. */
  settings(): Promise<ReplaySettings>;
}

/** What may have made the call bad, oldest first. */
export interface Suspects {
  /** Published before the call. */
  readonly versions: readonly AgentVersion[];
  /** Up to the one that ran the call, which is the last. */
  readonly machines: readonly TurnMachine[];
}

/** One step of the walk; `number` of the agent's version, or of the machine's. */
export interface WalkedStep {
  readonly of: 'agent' | 'machine';
  readonly number: number;
  readonly verdict: Verdict;
}

/** A setting that the first bad version changed. */
export interface ChangedSetting {
  readonly name: ReplayableSetting;
  readonly before: unknown;
  readonly after: unknown;
}

/** The change from a good version to a bad one. */
export interface Culprit {
  readonly of: 'agent' | 'machine';
  readonly good: number;
  /** The first bad version; null: the call's own settings, which no published version has. */
  readonly bad: number | null;
  /** Versions between the two that could not be judged, one of which may be the first bad one. */
  readonly between: readonly number[];
  /** Settings, each of which is bad alone; or together, if none is. Empty for a machine. */
  readonly settings: readonly ChangedSetting[];
  readonly isTogether: boolean;
  /** Settings that the version changed beside them. */
  readonly harmless: readonly ReplayableSetting[];
}

/**
 * Finds the culprits: of the agent, of the machine, both, or none. `onStep` is told of every version judged.
 */
export async function findCulprits(
  inCase: Case,
  suspects: Suspects,
  onStep: (step: WalkedStep) => void = () => undefined,
): Promise<readonly Culprit[]> {
  const found = [await ofAgent(inCase, suspects.versions, onStep), await ofMachine(inCase, suspects, onStep)];
  return found.filter((one) => one !== null);
}

async function ofAgent(
  inCase: Case,
  versions: readonly AgentVersion[],
  onStep: (step: WalkedStep) => void,
): Promise<Culprit | null> {
  const { log, machine } = inCase;
  const { config } = log.header;
  const own: ReplaySettings = replayableSettings(config);
  const judged = new Map<string, Verdict>();
  const verdictOf = (settings: ReplaySettings): Verdict => {
    const changes = changesTo(config, settings);
    const key = JSON.stringify(changes);
    const verdict = judged.get(key) ?? judge(inCase, { machine, changes });
    judged.set(key, verdict);
    return verdict;
  };
  const read = new Map<number, Promise<ReplaySettings>>();
  const settingsOf = (index: number): Promise<ReplaySettings> => {
    const settings = read.get(index) ?? versions[index]?.settings() ?? Promise.resolve(own);
    read.set(index, settings);
    return settings;
  };
  // The call follows its version: it differs from it if it was a draft's or had settings of its own.
  const first = await findFirstBad(versions.length + 1, async (index) => {
    const verdict = verdictOf(await settingsOf(index));
    onStep({ of: 'agent', number: versions[index]?.number ?? 0, verdict });
    return verdict.is;
  });
  if (first.good === null) return null;
  const [before, after] = [await settingsOf(first.good), await settingsOf(first.bad)];
  return { of: 'agent', ...numbersOf(first, versions), ...blamed({ before, after }, verdictOf) };
}

async function ofMachine(
  inCase: Case,
  { machines }: Suspects,
  onStep: (step: WalkedStep) => void,
): Promise<Culprit | null> {
  const numbers = machines.map(({ version }) => ({ number: version }));
  const first = await findFirstBad(machines.length, async (index) => {
    const machine = machines[index];
    if (!machine) return 'unjudged';
    const verdict = judge(inCase, { machine, changes: {} });
    onStep({ of: 'machine', number: machine.version, verdict });
    return verdict.is;
  });
  if (first.good === null) return null;
  return { of: 'machine', ...numbersOf(first, numbers), settings: [], isTogether: false, harmless: [] };
}

function numbersOf(
  { good, bad, between }: FirstBad,
  versions: readonly { readonly number: number }[],
): Pick<Culprit, 'good' | 'bad' | 'between'> {
  const numberOf = (index: number) => versions[index]?.number ?? 0;
  return {
    good: numberOf(good ?? 0),
    bad: versions[bad]?.number ?? null,
    between: between.map(numberOf),
  };
}

/**
 * Of the settings that changed, those that suffice: each that is bad alone; otherwise a set of which every
 * one is needed.
 */
function blamed(
  { before, after }: { readonly before: ReplaySettings; readonly after: ReplaySettings },
  verdictOf: (settings: ReplaySettings) => Verdict,
): Pick<Culprit, 'settings' | 'isTogether' | 'harmless'> {
  const changed = REPLAYABLE_SETTINGS.filter(
    // A version of before a setting existed leaves it as it was in the call.
    (name) => before[name] !== undefined && after[name] !== undefined && !isSame(before[name], after[name]),
  );
  const isBadWith = (names: readonly ReplayableSetting[]) => {
    const some = Object.fromEntries(names.map((name) => [name, after[name]]));
    return verdictOf({ ...before, ...some }).is === 'bad';
  };
  const alone = changed.filter((name) => isBadWith([name]));
  let needed: readonly ReplayableSetting[] = alone;
  if (alone.length === 0) {
    needed = changed;
    for (const name of changed) {
      const others = needed.filter((one) => one !== name);
      if (isBadWith(others)) needed = others;
    }
  }
  return {
    settings: needed.map((name) => ({ name, before: before[name], after: after[name] })),
    isTogether: alone.length === 0 && needed.length > 1,
    harmless: changed.filter((name) => !needed.includes(name)),
  };
}

/** The fields of a call's configuration that other settings change. */
function changesTo(config: TurnConfig, settings: ReplaySettings): Partial<TurnConfig> {
  return Object.fromEntries(
    Object.entries(turnSettings(settings)).filter(
      ([field, value]) => !isSame(config[field as keyof TurnConfig], value),
    ),
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
