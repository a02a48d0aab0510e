/**
 * The rows of the comparison's tables: what a cell shows, and the figures by which one side is better than
 * another. Pure.
 */
import { quantile } from '#caller/statistics.ts';
import type { LoadResult, PlayedCall, SideResults } from './results.ts';
import { SCENE } from './script.ts';

const MIB = 1_048_576;
/** An answer sooner than this did not wait for the longest silence. */
const AT_ONCE_MS = 1_500;
/** Differences below these are noise: of times, of shares, of words. */
const NOISE_MS = 50;
const NOISE_SHARE = 0.05;
const NOISE_WORDS = 0.3;
const NOISE_CPU_S = 0.5;
const NOISE_MIB = 5;

/** A number by which sides are compared; less is better. */
export interface Figure {
  /** Null without samples. */
  readonly of: (side: SideResults) => number | null;
  /** Smaller differences are noise. */
  readonly noise: number;
}

/** A row of a table. */
export interface Row {
  readonly id: string;
  readonly title: string;
  readonly cell: (side: SideResults) => string;
  readonly figures: readonly Figure[];
}

type Lists = 'replyMs' | 'stopMs' | 'heldMs' | 'wordsOff';
type Counts =
  | 'unanswered'
  | 'pauses'
  | 'premature'
  | 'interruptions'
  | 'missed'
  | 'listenedTo'
  | 'brokenOff'
  | 'lost';

/** Which calls a row is about. */
type Choice = (call: PlayedCall) => boolean;

const every: Choice = () => true;
const inScene =
  (...scenes: readonly string[]): Choice =>
  ({ scene }) =>
    scenes.includes(scene);

/** Every sample of a list. */
export function samplesOf({ calls }: SideResults, list: Lists, choice: Choice = every): number[] {
  return calls.filter(choice).flatMap(({ heard }) => heard[list]);
}

/** The sum of a count over the calls. */
export function sum({ calls }: SideResults, count: Counts, choice: Choice = every): number {
  return calls.filter(choice).reduce((total, { heard }) => total + heard[count], 0);
}

/** The rows about answers, cut-offs and interruptions, as the caller heard them. */
export const HEARD_ROWS: readonly Row[] = [
  {
    id: 'calls',
    title: 'Calls played (failed)',
    cell: (side) => `${side.calls.length} (${side.rounds.reduce((total, { failed }) => total + failed, 0)})`,
    figures: [],
  },
  {
    id: 'unheard',
    title: 'Lines of the caller that did not reach the recogniser',
    cell: (side) => String(side.rounds.reduce((total, { unheard }) => total + unheard, 0)),
    figures: [],
  },
  timesRow('answers', 'End of the caller’s speech → first sound of the answer', 'replyMs'),
  {
    id: 'at-once',
    title: 'Answers within 1.5 s',
    cell: (side) => {
      const all = samplesOf(side, 'replyMs');
      return `${all.length - lateOf(all)} of ${all.length}`;
    },
    figures: [
      {
        of: (side) => {
          const all = samplesOf(side, 'replyMs');
          return ratioOf(lateOf(all), all.length);
        },
        noise: NOISE_SHARE,
      },
    ],
  },
  unansweredRow('unanswered', 'Questions without an answer', every),
  partsRow('premature', 'Cut-offs: answers during a pause for thought', inScene(SCENE.hesitation)),
  partsRow('dictation', 'Cut-offs in dictated numbers and addresses', inScene(SCENE.dictation)),
  timesRow('dictated', 'End of a dictation or a hesitant sentence → answer', 'replyMs', {
    choice: inScene(SCENE.dictation, SCENE.hesitation),
  }),
  timesRow('short', 'Answers to very short replies (“Yes.”, “Four.”)', 'replyMs', {
    choice: inScene(SCENE.short),
  }),
  unansweredRow('short-unanswered', 'Very short replies without an answer', inScene(SCENE.short)),
  timesRow('stops', 'Start of an interruption → last sound of the agent', 'stopMs'),
  shareRow('missed', 'Missed interruptions (still speaking after 1.5 s)', ['missed', 'interruptions'], every),
  shareRow(
    'broken-off',
    'False interruptions: answers cut off by “mhm”, “yeah” or a cough',
    ['brokenOff', 'listenedTo'],
    inScene(SCENE.listening),
  ),
  {
    id: 'held',
    title: 'Pauses of the agent at such sounds; their length, p50 / worst, ms',
    cell: (side) => {
      const held = samplesOf(side, 'heldMs');
      const paused = held.filter((ms) => ms > 0);
      return `${paused.length} of ${held.length}${paused.length > 0 ? `; ${twoOf(paused)}` : ''}`;
    },
    figures: [{ of: (side) => meanOf(samplesOf(side, 'heldMs')), noise: NOISE_MS }],
  },
  shareRow(
    'television',
    'Long answers not finished while a television plays',
    ['brokenOff', 'listenedTo'],
    inScene(SCENE.television),
  ),
  timesRow('television-answers', 'Answers while a television plays', 'replyMs', {
    choice: inScene(SCENE.television),
  }),
  timesRow('loss', 'Answers with 5 % of the packets lost', 'replyMs', { choice: inScene(SCENE.loss) }),
  timesRow('loss-stops', 'Interruption → last sound with 5 % of the packets lost', 'stopMs', {
    choice: inScene(SCENE.loss),
  }),
  {
    id: 'words',
    title: 'Interrupted answers: words in the transcript minus words heard, p50 / worst',
    cell: wordsCell,
    figures: [
      {
        of: (side) => middleOf(samplesOf(side, 'wordsOff').map(Math.abs)),
        noise: NOISE_WORDS,
      },
    ],
  },
  {
    id: 'greeting',
    title: 'Joined → greeting heard, p50 / worst, ms',
    cell: (side) => {
      const all = greetings(side);
      return all.length === 0 ? '–' : `${twoOf(all)} (${all.length})`;
    },
    figures: [{ of: (side) => middleOf(greetings(side)), noise: NOISE_MS }],
  },
  {
    id: 'lost',
    title: 'Calls that the agent left or lost before their end',
    cell: (side) => String(sum(side, 'lost')),
    figures: [{ of: (side) => ratioOf(sum(side, 'lost'), side.calls.length), noise: 0.01 }],
  },
];

/** The answers by the callers' voices. */
export function voiceRows(voices: readonly string[]): Row[] {
  return voices.map((voice) => ({
    ...timesRow(`voice-${voice}`, `Answers to the voice ${voice}`, 'replyMs', {
      choice: (call) => call.voice === voice && call.scene !== SCENE.questions,
    }),
    figures: [],
  }));
}

/** The rows about CPU, memory and calls at once. */
export const COST_ROWS: readonly Row[] = [
  {
    id: 'idle-cpu',
    title: 'CPU without calls, share of one core',
    cell: ({ idle }) => (idle ? `${(100 * idle.cpuShare).toFixed(1)} %` : '–'),
    figures: [{ of: ({ idle }) => idle?.cpuShare ?? null, noise: 0.01 }],
  },
  {
    id: 'idle-memory',
    title: 'Memory without calls, MiB',
    cell: ({ idle }) => (idle ? (idle.bytes / MIB).toFixed(0) : '–'),
    figures: [{ of: ({ idle }) => (idle ? idle.bytes / MIB : null), noise: NOISE_MIB }],
  },
  ...[1, 4, 8].flatMap(levelRows),
  {
    id: 'most',
    title: 'Most calls held at once (next number tried: why not)',
    cell: mostCell,
    figures: [{ of: (side) => (side.loads.length > 0 ? -mostOf(side) : null), noise: 1 }],
  },
];

/** The rows of a number of calls at once. */
function levelRows(calls: number): Row[] {
  const name = calls === 1 ? '1 call' : `${calls} calls`;
  return [
    {
      id: `load-${calls}-answers`,
      title: `${name}: answers, p50 / p95 / worst, ms`,
      cell: (side) => threeOf(levelOf(side, calls)?.replyMs ?? []),
      figures: [{ of: (side) => middleOf(levelOf(side, calls)?.replyMs ?? []), noise: NOISE_MS }],
    },
    {
      id: `load-${calls}-cpu`,
      title: `${name}: CPU seconds per call-minute, above the idle share`,
      cell: (side) => cpuOf(side, calls)?.toFixed(2) ?? '–',
      figures: [{ of: (side) => cpuOf(side, calls), noise: NOISE_CPU_S }],
    },
    {
      id: `load-${calls}-memory`,
      title: `${name}: memory per call, MiB`,
      cell: (side) => memoryOf(side, calls)?.toFixed(1) ?? '–',
      figures: [{ of: (side) => memoryOf(side, calls), noise: NOISE_MIB }],
    },
  ];
}

/** The most calls that a side held; 0 if none. */
export function mostOf({ loads }: SideResults): number {
  return Math.max(0, ...loads.flatMap(({ calls, brokeBecause }) => (brokeBecause === null ? [calls] : [])));
}

function mostCell(side: SideResults): string {
  if (side.loads.length === 0) return '–';
  const broken = side.loads
    .filter(({ brokeBecause }) => brokeBecause !== null)
    .toSorted((one, other) => one.calls - other.calls)[0];
  return `${mostOf(side)}${broken ? ` (${broken.calls}: ${broken.brokeBecause})` : ''}`;
}

function levelOf({ loads }: SideResults, calls: number): LoadResult | undefined {
  return loads.find((load) => load.calls === calls && load.minutes > 0);
}

function cpuOf(side: SideResults, calls: number): number | null {
  const load = levelOf(side, calls);
  return load && side.idle ? (load.cpuSeconds - side.idle.cpuShare * load.seconds) / load.minutes : null;
}

function memoryOf(side: SideResults, calls: number): number | null {
  const load = levelOf(side, calls);
  return load && side.idle ? Math.max(0, load.peakBytes - side.idle.bytes) / calls / MIB : null;
}

function timesRow(
  id: string,
  title: string,
  list: Lists,
  { choice = every }: { readonly choice?: Choice } = {},
): Row {
  const samples = (side: SideResults) => samplesOf(side, list, choice);
  return {
    id,
    title: `${title}, p50 / p95 / worst, ms`,
    cell: (side) => threeOf(samples(side)),
    figures: [
      { of: (side) => middleOf(samples(side)), noise: NOISE_MS },
      {
        of: (side) => (samples(side).length > 0 ? quantile(samples(side), 0.95) : null),
        noise: 2 * NOISE_MS,
      },
    ],
  };
}

function shareRow(id: string, title: string, [cases, of]: readonly [Counts, Counts], choice: Choice): Row {
  return {
    id,
    title,
    cell: (side) => `${sum(side, cases, choice)} of ${sum(side, of, choice)}`,
    figures: [{ of: (side) => ratioOf(sum(side, cases, choice), sum(side, of, choice)), noise: NOISE_SHARE }],
  };
}

function partsRow(id: string, title: string, choice: Choice): Row {
  return shareRow(id, title, ['premature', 'pauses'], choice);
}

function unansweredRow(id: string, title: string, choice: Choice): Row {
  const asked = (side: SideResults) =>
    sum(side, 'unanswered', choice) + samplesOf(side, 'replyMs', choice).length;
  return {
    id,
    title,
    cell: (side) => `${sum(side, 'unanswered', choice)} of ${asked(side)}`,
    figures: [
      { of: (side) => ratioOf(sum(side, 'unanswered', choice), asked(side)), noise: NOISE_SHARE / 2 },
    ],
  };
}

function wordsCell(side: SideResults): string {
  const off = samplesOf(side, 'wordsOff');
  if (off.length === 0) return '–';
  const worst = off.reduce((most, words) => (Math.abs(words) > Math.abs(most) ? words : most), 0);
  return `${quantile(off, 0.5).toFixed(1)} / ${worst.toFixed(1)} (${off.length})`;
}

function lateOf(replyMs: readonly number[]): number {
  return replyMs.filter((ms) => ms >= AT_ONCE_MS).length;
}

function greetings({ calls }: SideResults): number[] {
  return calls.flatMap(({ heard: { greetingMs } }) => (greetingMs === null ? [] : [greetingMs]));
}

function ratioOf(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null;
}

function middleOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : quantile(values, 0.5);
}

function meanOf(values: readonly number[]): number | null {
  return ratioOf(
    values.reduce((total, value) => total + value, 0),
    values.length,
  );
}

function threeOf(values: readonly number[]): string {
  if (values.length === 0) return '–';
  return (
    `${quantile(values, 0.5).toFixed(0)} / ${quantile(values, 0.95).toFixed(0)} / ` +
    `${Math.max(...values).toFixed(0)} (${values.length})`
  );
}

function twoOf(values: readonly number[]): string {
  return `${quantile(values, 0.5).toFixed(0)} / ${Math.max(...values).toFixed(0)}`;
}
