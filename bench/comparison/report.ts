/** Generates docs/comparison.md from the results of one run. Pure. */
import { quantile } from '#caller/statistics.ts';
import type { CallResult } from './judge.ts';
import type { SETTINGS } from './side.ts';

const MIB = 1_048_576;
/** If the caller's process runs this late, its timings are unreliable, ms. */
const LATE_MS = 30;
/** Timings are also unreliable if other programs use more than this share of the machine. */
const MAX_OTHERS_SHARE = 0.1;
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
  readonly calls: readonly { readonly scene: string; readonly heard: CallResult }[];
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
    'The same caller plays the same scenes to Parley and to an agent of LiveKit’s framework. The command below\n' +
      'writes this page; every sample is in `bench/comparison/results.json`.',
    provenance(results),
    ...(sides.some(({ faults }) => faults.length === 0)
      ? ['**The run was stopped before its end: what has no figure was not reached.**']
      : []),
    '## What the caller heard',
    table(sides, [
      ['Calls played (failed)', (side) => `${side.calls.length} (${side.failed})`],
      [
        'End of the caller’s speech → first sound of the answer, p50 / p95 / worst, ms',
        (side) => threeOf(all(side, 'replyMs')),
      ],
      [
        'Answers within 1.5 s: the question was judged finished',
        (side) => `${immediateReplies(side).length} of ${all(side, 'replyMs').length}`,
      ],
      [
        'Questions without an answer',
        (side) => `${sum(side, 'unanswered')} of ${sum(side, 'unanswered') + all(side, 'replyMs').length}`,
      ],
      [
        'Premature answers, during a pause for thought',
        (side) => `${sum(side, 'premature')} of ${sum(side, 'pauses')}`,
      ],
      [
        'Start of an interruption → last sound of the agent, p50 / p95 / worst, ms',
        (side) => threeOf(all(side, 'stopMs')),
      ],
      [
        'Missed interruptions (still speaking after 1.5 s)',
        (side) => `${sum(side, 'missed')} of ${sum(side, 'interruptions')}`,
      ],
      [
        'False interruptions: answers cut off by “mhm”, “yeah” or a cough',
        (side) => `${sum(side, 'brokenOff')} of ${sum(side, 'listenedTo')}`,
      ],
      ['Pauses of the agent at such sounds; their length, p50 / worst, ms', heldOf],
      ['Interrupted answers: words in the transcript minus words heard, p50 / worst', wordsOf],
      [
        'Joined → greeting heard, p50 / worst, ms',
        (side) =>
          twoOf(side.calls.flatMap(({ heard }) => (heard.greetingMs === null ? [] : [heard.greetingMs]))),
      ],
      ['Calls that the agent left or lost before their end', (side) => String(sum(side, 'lost'))],
    ]),
    '![Answers](images/comparison/replies.svg)',
    '![Interruptions](images/comparison/stops.svg)',
    '![Pauses at sounds that are no interruption](images/comparison/held.svg)',
    '## What it costs',
    table(sides, [
      ['CPU without calls, share of one core', (side) => `${(100 * side.idle.cpuShare).toFixed(1)} %`],
      ['Memory without calls, MiB', (side) => (side.idle.bytes / MIB).toFixed(0)],
      ['Calls at once', (side) => String(side.load?.calls ?? '–')],
      ['CPU seconds per call-minute, above the idle share', cpuOf],
      [
        'Memory per call, MiB',
        ({ idle, load }) =>
          load ? (Math.max(0, load.peakBytes - idle.bytes) / load.calls / MIB).toFixed(1) : '–',
      ],
      ['Answers under that load, p50 / p95 / worst, ms', (side) => threeOf(side.load?.replyMs ?? [])],
    ]),
    '## When an engine dies',
    'The engine fails at the second question of a call and works again twelve seconds later, when a third\n' +
      'question is asked. Each line is one call.',
    faultTable(sides),
    EXPLANATIONS,
  ].join('\n\n')}\n`;
}

function provenance({ at, command, machine, settings, sides }: ComparisonResults): string {
  const late = Math.max(0, ...sides.flatMap(({ latenessMs }) => latenessMs));
  const isLoaded = machine.othersShare > MAX_OTHERS_SHARE || late > LATE_MS;
  return [
    `\`${command}\`, ${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}),`,
    `Node ${machine.node}; ${sides.map(({ name, version }) => `${name} ${version}`).join(', ')}.`,
    'Caller, engines and LiveKit server ran on the same cores.',
    '',
    'Settings of both sides, all others being the defaults:',
    '',
    `- ${settings.waitMs} ms of silence before a finished sentence is answered`,
    `- at most ${settings.maxWaitMs} ms before an unfinished one is answered`,
    `- ${settings.interruptMs} ms of voice to interrupt`,
    '',
    `Other programs used ${(100 * machine.othersShare).toFixed(0)} % of the machine before the run.`,
    `The caller’s own blocks were at most ${late.toFixed(0)} ms late (p99 of the worst call).`,
    ...(isLoaded
      ? [
          '',
          '**The machine was busy with other work. Both sides suffered from it, and the times and the',
          'premature answers say little. Run the command on a quiet machine.**',
        ]
      : []),
  ].join('\n');
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

function immediateReplies(side: SideResults): number[] {
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

const EXPLANATIONS = `## Method

- **Caller.** \`caller/room-caller.ts\`, a participant in the room with LiveKit's own library, in a process of
  its own. Media of a room is encrypted, so times are those at which this process sent and received blocks of
  10 ms. Both directions of the room are in every figure, for both sides.
- **LiveKit's agent** is \`bench/comparison/livekit-agent/agent.ts\`: \`AgentSession\` with Silero VAD loaded in
  \`prewarm\`, \`inference.TurnDetector\` (v1-mini, the end-of-turn model that runs on the machine), the OpenAI
  and Deepgram plugins, production mode, explicit dispatch. It normally refuses calls above 70 % of the
  machine's CPU; that is switched off, because caller and engines run on the same machine. Its better
  end-of-turn model and its adaptive interruption need LiveKit Cloud and are not compared.
- **Engines.** Each side has its own stand-ins with the vendors' protocols: 150 ms to the first byte of model
  and voice, 15 ms for each piece, 150 ms for every transcript. The recogniser knows the script and finds it
  in the audio. It honours the \`endpointing\` that each side requests (Parley 300 ms, the framework's plugin 25
  ms). The voice is a tone of 330 ms for each word, so that the words heard can be counted.
- **Synthesis.** The framework's OpenAI plugin waits for the whole audio of a sentence before it plays any of
  it. Parley plays it as it arrives. That is part of the difference between the answers; with a plugin that
  streams it would be smaller.
- **Failing engines.** Neither side was given a second engine. Parley finds the voice on its own machine by
  itself. It would also use the recogniser or model of another vendor with a key, but there is none here. The
  framework has adapters for that, which an agent must use explicitly.
- **Interruptions.** For the first three seconds of its speech, the framework ignores the caller (echo
  cancellation warm-up). The scenes interrupt later. Both sides have the same end-of-turn delays and the same
  voice threshold; the framework's own threshold is 500 ms, with which it pauses at fewer short sounds and
  stops later.
- **Pauses.** A sound pauses Parley once it is long enough to be the start of an interruption. Parley
  continues 200 ms after the sound has ended, when the words have shown that it was none. This synthetic voice
  takes half a second for “Mhm.”, which is most of such a pause.
- **End of turn.** Parley judges the words, and the framework's model the audio. It judges most finished
  questions of the synthetic callers as unfinished, so most of its answers come after its longest silence. The
  line of answers within 1.5 s counts the others. Human voices would suit it better.
- **Processes.** The framework runs each call in a process of its own, started in advance. That isolates calls
  and costs memory. Parley runs calls beside each other in one worker. Its figures include control plane,
  store, recording and phone signalling, which the framework does not have.
- **Memory** counts shared pages once (Pss). CPU time is that of every process of a side, including those that
  start and end with a call.
- **Transcripts.** A positive number means that the transcript has more words than were heard. Neither side
  gets word times from this voice, so both estimate.`;
