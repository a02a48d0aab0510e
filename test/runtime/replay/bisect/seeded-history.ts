/**
 * Simulated calls with a bad moment, each with a history of thirty versions of its agent, one of which made
 * it bad. The others change something that has no part in it.
 */
import { type ReplayableSetting, replayableSettings, turnSettings } from '#protocol/conversation-settings.ts';
import type { ReplaySettings } from '#protocol/replay.ts';
import { type Case, judge } from '#runtime/replay/bisect/judge.ts';
import { parseMeasure } from '#runtime/replay/bisect/measure.ts';
import { caseOf } from '#runtime/replay/bisect/moments.ts';
import type { ReadFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { createRandom, type Random } from '../../../simulation/random.ts';
import { simulatedLog } from '../logged-call.ts';

/** Number of versions. */
export const VERSIONS = 30;

/** A call that one version of its agent made bad. */
export interface SeededCulprit {
  readonly inCase: Case;
  /** Settings of the versions, oldest first; version 1 has index 0. */
  readonly history: readonly ReplaySettings[];
  readonly version: number;
  readonly setting: ReplayableSetting;
}

/** A measure, and the settings that would have made its moment good. */
interface Kind {
  readonly measure: string;
  readonly better: readonly ReplaySettings[];
  readonly isUnrelated: (name: ReplayableSetting) => boolean;
}

const WAITS: readonly ReplayableSetting[] = ['response_wait_ms', 'response_max_wait_ms', 'eagerness'];
const isNoWait = (name: ReplayableSetting) => !WAITS.includes(name);
const isNoInterruption = (name: ReplayableSetting) => !name.startsWith('interrupt');

const KINDS: readonly Kind[] = [
  {
    measure: 'wait_ms > 700',
    better: [{ response_wait_ms: 300 }, { eagerness: 'eager' }, { response_max_wait_ms: 500 }],
    isUnrelated: isNoWait,
  },
  {
    measure: 'reply_ms > 1200',
    better: [{ response_wait_ms: 300 }, { response_max_wait_ms: 500 }],
    isUnrelated: isNoWait,
  },
  {
    measure: 'cut_off',
    better: [{ response_wait_ms: 2_000 }, { eagerness: 'relaxed' }],
    isUnrelated: isNoWait,
  },
  { measure: 'stopped', better: [{ interruptible: false }], isUnrelated: isNoInterruption },
  { measure: 'spoke_on', better: [{ interruptible: true }], isUnrelated: isNoInterruption },
];

/** The culprit of a seed; the kinds take turns. */
export async function seededCulprit(seed: number): Promise<SeededCulprit> {
  const random = createRandom(seed);
  const kind = KINDS[seed % KINDS.length] as Kind;
  for (let call = seed * 1_000; call < seed * 1_000 + 500; call += 1) {
    const found = badCase(await simulatedLog(call), kind);
    if (found) return { inCase: found.inCase, ...historyOf(found, kind, random) };
  }
  throw new Error(`no simulated call is made bad by one setting: ${kind.measure}`);
}

interface BadCase {
  readonly inCase: Case;
  readonly better: ReplaySettings;
}

/** The call's bad moment, if one setting would have made it good. */
function badCase(log: ReadFlightLog, { measure, better }: Kind): BadCase | null {
  const inCase = caseOf([log], parseMeasure(measure));
  if (!inCase || judge(inCase, { machine: inCase.machine, changes: {} }).is !== 'bad') return null;
  const good = better.find(
    (settings) => judge(inCase, { machine: inCase.machine, changes: turnSettings(settings) }).is === 'good',
  );
  return good ? { inCase, better: good } : null;
}

/** Goes back from the settings of the call, one change a version. */
function historyOf(
  { inCase, better }: BadCase,
  { isUnrelated }: Kind,
  random: Random,
): Omit<SeededCulprit, 'inCase'> {
  const version = 2 + Math.floor(random.next() * (VERSIONS - 1));
  const [setting] = Object.keys(better) as ReplayableSetting[];
  if (setting === undefined) throw new Error('a kind has settings');
  let settings: ReplaySettings = replayableSettings(inCase.log.header.config);
  const history = [settings];
  for (let number = VERSIONS; number > 1; number -= 1) {
    const others = number === version && random.chance(0.5) ? {} : unrelated(random, isUnrelated);
    settings = { ...settings, ...others, ...(number === version ? better : {}) };
    history.unshift(settings);
  }
  return { history, version, setting };
}

function unrelated(random: Random, isUnrelated: Kind['isUnrelated']): ReplaySettings {
  const all: ReplaySettings[] = [
    { hangup_after_seconds: Math.round(random.between(10, 60)) },
    { reengage_enabled: random.chance(0.5) },
    { hangup_farewell_enabled: random.chance(0.5) },
    { interruption_ignore_phrases: random.chance(0.5) ? ['right'] : [] },
    { response_wait_ms: Math.round(random.between(300, 1_500)) },
    { eagerness: random.pick(['relaxed', 'balanced', 'eager'] as const) },
    { interruptible: random.chance(0.5) },
  ];
  return random.pick(all.filter((one) => isUnrelated(Object.keys(one)[0] as ReplayableSetting)));
}
