/** Generates docs/comparison.md from the results of one run. Pure. */
import { quantile } from '#caller/statistics.ts';
import type { Heard } from './judge.ts';
import type { SETTINGS } from './side.ts';

const MIB = 1_048_576;
/** If the caller's process runs this late, its timings are unreliable, ms. */
const LATE_MS = 30;
/** Timings are also unreliable if other programs use more than this share of the machine. */
const MOST_OTHERS = 0.1;
/** An answer sooner than this did not wait for the longest silence. */
const AT_ONCE_MS = 1_500;

/** Outcome of a call in which an engine failed. */
export interface FaultOutcome {
  readonly fault: string;
  /**
   * From the end of the question asked during the fault to the agent's next sound. Null if the agent was
   * silent until the next question.
   */
  readonly heardAfterMs: number | null;
  /** The same for the question asked after the engine recovered. */
  readonly nextAnsweredAfterMs: number | null;
  readonly wasSentAway: boolean;
  /** Agent messages outside the script. */
  readonly ownWords: readonly string[];
}

/** Results of one side. */
export interface SideResults {
  readonly name: string;
  readonly version: string;
  readonly calls: readonly { readonly scene: string; readonly heard: Heard }[];
  readonly faults: readonly FaultOutcome[];
  /** 99th percentile, per call, of how late the caller's process ran. */
  readonly latenessMs: readonly number[];
  /** Calls that did not connect. */
  readonly failed: number;
  readonly idle: { readonly cpuShare: number; readonly bytes: number };
  readonly load: {
    readonly calls: number;
    readonly minutes: number;
    readonly seconds: number;
    readonly cpuSeconds: number;
    readonly peakBytes: number;
    readonly replyMs: readonly number[];
  } | null;
}

/** Results of a whole run. */
export interface ComparisonResults {
  readonly at: string;
  readonly command: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly node: string;
    readonly othersShare: number;
  };
  readonly settings: typeof SETTINGS;
  readonly sides: readonly SideResults[];
}

/** Returns the whole document. */
export function toMarkdown(results: ComparisonResults): string {
  const { sides } = results;
  return `${[
    '# Parley beside LiveKit Agents',
    'The same caller plays the same scenes to Parley and to an agent of LiveKit’s framework. This page is written by the command it names; every sample is in `bench/comparison/results.json`.',
    provenance(results),
    ...(sides.some(({ faults }) => faults.length === 0)
      ? ['**The run was stopped before its end: what has no figure was not reached.**']
      : []),
    '## What was heard',
    table(sides, [
      ['Calls played (did not come about)', (side) => `${side.calls.length} (${side.failed})`],
      [
        'End of the caller’s speech → first sound of the answer, p50 / p95 / worst, ms',
        (side) => threeOf(all(side, 'replyMs')),
      ],
      [
        'Answers within 1.5 s: their questions were taken for finished',
        (side) => `${atOnce(side).length} of ${all(side, 'replyMs').length}`,
      ],
      [
        'Questions without an answer',
        (side) => `${sum(side, 'unanswered')} of ${sum(side, 'unanswered') + all(side, 'replyMs').length}`,
      ],
      [
        'Premature endpoints: spoke into a pause for thought',
        (side) => `${sum(side, 'premature')} of ${sum(side, 'pauses')}`,
      ],
      [
        'Beginning of an interruption → last sound of the agent, p50 / p95 / worst, ms',
        (side) => threeOf(all(side, 'stopMs')),
      ],
      [
        'Missed interruptions (still speaking after 1.5 s)',
        (side) => `${sum(side, 'missed')} of ${sum(side, 'interruptions')}`,
      ],
      [
        'False interruptions: an answer not said to its end over “mhm”, “yeah” and a cough',
        (side) => `${sum(side, 'brokenOff')} of ${sum(side, 'listenedTo')}`,
      ],
      ['Such sounds at which the agent paused; for how long, p50 / worst, ms', heldOf],
      ['Heard text: words kept as said, less words heard, in interrupted answers, p50 / worst', wordsOf],
      [
        'Joined → greeting heard, p50 / worst, ms',
        (side) =>
          twoOf(side.calls.flatMap(({ heard }) => (heard.greetingMs === null ? [] : [heard.greetingMs]))),
      ],
      ['Calls the agent left, or lost, before their end', (side) => String(sum(side, 'lost'))],
    ]),
    '![Answers](images/comparison/replies.svg)',
    '![Interruptions](images/comparison/stops.svg)',
    '![Held at sounds that want nothing](images/comparison/held.svg)',
    '## What it costs',
    table(sides, [
      ['CPU while nobody calls, share of one core', (side) => `${(100 * side.idle.cpuShare).toFixed(1)} %`],
      ['Memory while nobody calls, MiB', (side) => (side.idle.bytes / MIB).toFixed(0)],
      ['Calls at once', (side) => String(side.load?.calls ?? '–')],
      ['CPU seconds per call-minute, the idle share taken off', cpuOf],
      [
        'Memory per call, MiB',
        ({ idle, load }) =>
          load ? (Math.max(0, load.peakBytes - idle.bytes) / load.calls / MIB).toFixed(1) : '–',
      ],
      ['Answers under that load, p50 / p95 / worst, ms', (side) => threeOf(side.load?.replyMs ?? [])],
    ]),
    '## When an engine dies',
    'The second question of a call meets the fault; twelve seconds later the engine is whole again and a third question is asked. Each line is one call.',
    faultTable(sides),
    EXPLANATIONS,
  ].join('\n\n')}\n`;
}

function provenance({ at, command, machine, settings, sides }: ComparisonResults): string {
  const late = Math.max(0, ...sides.flatMap(({ latenessMs }) => latenessMs));
  const isLoaded = machine.othersShare > MOST_OTHERS || late > LATE_MS;
  return [
    `\`${command}\`, ${at.slice(0, 10)}, ${machine.cores} × ${machine.cpu}, Node ${machine.node}; ` +
      `${sides.map(({ name, version }) => `${name} ${version}`).join(', ')}. Caller, engines and LiveKit ` +
      'server ran on the same cores.',
    `Both sides: ${settings.waitMs} ms of silence before a finished sentence is answered, at most ` +
      `${settings.maxWaitMs} ms before an unfinished one is, ${settings.interruptMs} ms of voice to ` +
      'interrupt; everything else as it comes.',
    `Other work used ${(100 * machine.othersShare).toFixed(0)} % of the machine before the run; the caller’s own blocks were late by ${late.toFixed(0)} ms at most (p99 of the worst call).${
      isLoaded
        ? ' **The machine was busy with other work: both sides suffered from it, and the times and the premature endpoints say little. Run the command on a quiet machine.**'
        : ''
    }`,
  ].join(' ');
}

type Row = readonly [string, (side: SideResults) => string];

function table(sides: readonly SideResults[], rows: readonly Row[]): string {
  return grid([
    ['', ...sides.map(({ name }) => name)],
    ...rows.map(([title, value]) => [title, ...sides.map(value)]),
  ]);
}

function faultTable(sides: readonly SideResults[]): string {
  const names = [...new Set(sides.flatMap(({ faults }) => faults.map(({ fault }) => fault)))];
  const rows = names.flatMap((name) => {
    const lists = sides.map(({ faults }) => faults.filter(({ fault }) => fault === name));
    const count = Math.max(...lists.map((list) => list.length));
    return Array.from({ length: count }, (_, index) => [
      index === 0 ? name : '',
      ...lists.map((list) => faultText(list[index])),
    ]);
  });
  return grid([['Fault', ...sides.map(({ name }) => name)], ...rows]);
}

function faultText(outcome: FaultOutcome | undefined): string {
  if (!outcome) return '–';
  const { heardAfterMs, nextAnsweredAfterMs, wasSentAway, ownWords } = outcome;
  const first = heardAfterMs === null ? 'silence' : `heard after ${seconds(heardAfterMs)}`;
  const next =
    nextAnsweredAfterMs === null
      ? 'the next question unanswered'
      : `the next one answered after ${seconds(nextAnsweredAfterMs)}`;
  const own = ownWords.length > 0 ? `; says “${ownWords.join('” “')}”` : '';
  return `${first}; ${next}${wasSentAway ? '; the agent ended the call' : ''}${own}`;
}

function grid([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

type Lists = 'replyMs' | 'stopMs' | 'heldMs' | 'wordsOff';

function all({ calls }: SideResults, list: Lists): number[] {
  return calls.flatMap(({ heard }) => heard[list]);
}

function atOnce(side: SideResults): number[] {
  return all(side, 'replyMs').filter((ms) => ms < AT_ONCE_MS);
}

function sum(
  { calls }: SideResults,
  count:
    | 'unanswered'
    | 'pauses'
    | 'premature'
    | 'interruptions'
    | 'missed'
    | 'listenedTo'
    | 'brokenOff'
    | 'lost',
): number {
  return calls.reduce((total, { heard }) => total + heard[count], 0);
}

function heldOf(side: SideResults): string {
  const held = all(side, 'heldMs');
  const paused = held.filter((ms) => ms > 0);
  return `${paused.length} of ${held.length}${paused.length > 0 ? `; ${twoOf(paused)}` : ''}`;
}

function wordsOf(side: SideResults): string {
  const off = all(side, 'wordsOff');
  if (off.length === 0) return '–';
  const worst = off.reduce((most, words) => (Math.abs(words) > Math.abs(most) ? words : most), 0);
  return `${quantile(off, 0.5).toFixed(1)} / ${worst.toFixed(1)} (${off.length})`;
}

function cpuOf({ idle, load }: SideResults): string {
  return load ? ((load.cpuSeconds - idle.cpuShare * load.seconds) / load.minutes).toFixed(2) : '–';
}

function threeOf(values: readonly number[]): string {
  if (values.length === 0) return '–';
  return (
    `${quantile(values, 0.5).toFixed(0)} / ${quantile(values, 0.95).toFixed(0)} / ` +
    `${Math.max(...values).toFixed(0)} (${values.length})`
  );
}

function twoOf(values: readonly number[]): string {
  return values.length === 0
    ? '–'
    : `${quantile(values, 0.5).toFixed(0)} / ${Math.max(...values).toFixed(0)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

const EXPLANATIONS = `## How it is done, and what to know of it

- **Caller.** \`caller/room-caller.ts\`, a participant of LiveKit's own library in a process of its own. Media of a room is encrypted, so times are those at which this process handed over and was handed 10 ms blocks; both directions of the room are in every figure, for both sides alike.
- **The other side** is \`bench/comparison/livekit-agent/agent.ts\`: \`AgentSession\` with Silero VAD loaded in \`prewarm\`, \`inference.TurnDetector\` (v1-mini, the end-of-turn model that runs on the machine), the OpenAI and Deepgram plugins, production mode, explicit dispatch. Its refusal of calls above 70 % of the machine's CPU is off, as caller and engines run on the same machine. Its better end-of-turn model and its adaptive interruption need LiveKit Cloud, and are not in this comparison.
- **Engines.** Each side has its own process with stand-ins that speak the vendors' protocols: 150 ms to the first byte of model and voice, 15 ms per piece, 150 ms for every transcript. The recogniser is told what the scene says and finds it in the audio it is sent; it honours the \`endpointing\` each side asks for (300 ms Parley, 25 ms the framework's plugin). The voice is a tone of 330 ms per word, so that words heard can be counted.
- **Speech synthesis.** The framework's OpenAI plugin waits for a sentence's whole audio before it plays any of it, and Parley plays it as it arrives. That is part of the difference between the answers; a vendor whose plugin streams would narrow it.
- **Engines that die.** Neither side was told of a second engine. Parley finds the voice of its own machine by itself, and would ask the recogniser or model of any other vendor that has a key; here there is none. The framework has adapters for that, which an agent must be written with.
- **Interruptions.** The framework ignores voice over its agent for the first three seconds in which it speaks (echo cancellation warm-up); the scenes interrupt later than that. Parley was given the framework's shortest and longest end-of-turn delay, the framework Parley's voice threshold (its own default is 500 ms, which holds through more short sounds and stops later). A sound that wants nothing pauses Parley once its voice is long enough to be the beginning of an interruption; it goes on 200 ms after the sound has ended, when the words have shown what it was. “Mhm.” takes this synthetic voice half a second, and that is most of such a pause.
- **End of turn.** Parley judges the words; the framework's model hears the audio. On the callers' synthetic voice it takes most finished questions for unfinished ones, so that most of its answers come after its longest silence: the line of answers within 1.5 s says how many did not. A human voice would be kinder to it.
- **Processes.** The framework runs each call in a process of its own, kept warm in advance; that isolates calls and costs memory. Parley runs calls beside each other in one worker, and its figures include the control plane, its store, recording of the call and the phone signalling, none of which the framework has or needs.
- **Memory** counts shared pages once (Pss). CPU is that of every process of a side, those which begin and end with a call too.
- **Heard text.** Positive: more words are kept as said than were heard. Neither side gets word times from this voice; both have to estimate.`;
