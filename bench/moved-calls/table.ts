/** The table of moved calls. */
import { availableParallelism } from 'node:os';
import { quantile } from '#caller/statistics.ts';

/** The measurements of one call. */
export interface Move {
  /** A second port of the machine sent to it. */
  readonly isMoved: boolean;
  /** The agent was speaking when the worker was struck. */
  readonly isSpeaking: boolean;
  /** Longest time between two packets of the agent since then. */
  readonly gapMs: number;
  /** Longest time from a packet of one port to the next, if that is of another. */
  readonly seamMs: number;
  /** From then to the agent's next voiced packet. */
  readonly againMs: number;
  readonly hasOneSource: boolean;
  readonly lost: number;
  readonly repeated: number;
  readonly timestampLeaps: number;
  /** The caller heard each word of each sentence once, in order, and nothing else. */
  readonly isWordForWord: boolean;
  /** The caller hung up, not the agent. */
  readonly isWhole: boolean;
}

const HEAD = ['Worker', 'Measured', 'p50', 'p95', 'worst', 'Limit at p95', 'Calls', 'Verdict', 'Taken'];

/** The rows of what was measured, and whether all limits are kept. */
export function toMarkdown(moves: { readonly drain: readonly Move[]; readonly kill: readonly Move[] }): {
  readonly text: string;
  readonly isMet: boolean;
} {
  const taken = `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores`;
  const rows: string[][] = [];
  let isMet = true;
  const add = (
    cells: readonly [worker: string, what: string],
    of: readonly Move[],
    limit: { readonly ms: number; readonly timeOf: (move: Move) => number; readonly isRight: boolean },
  ) => {
    if (of.length === 0) return;
    const values = of.map(limit.timeOf);
    const isKept = quantile(values, 0.95) <= limit.ms && limit.isRight;
    isMet &&= isKept;
    const figures = [0.5, 0.95, 1].map((q) => toText(quantile(values, q)));
    rows.push([...cells, ...figures, `${limit.ms} ms`, facts(of), isKept ? 'met' : 'missed', taken]);
  };
  const { drain, kill } = moves;
  const isRight = (move: Move) =>
    move.isMoved && move.isWhole && move.isWordForWord && move.hasOneSource && move.repeated === 0;
  add(['stopped (`SIGTERM`)', 'gap of the stream'], drain, {
    ms: 100,
    timeOf: ({ gapMs }) => gapMs,
    isRight: drain.every(isRight),
  });
  add(['stopped (`SIGTERM`)', 'from the last packet of one worker to the first of the next'], drain, {
    ms: 100,
    timeOf: ({ seamMs }) => seamMs,
    isRight: true,
  });
  add(['killed (`SIGKILL`)', 'agent’s voice again'], kill, {
    ms: 2_000,
    timeOf: ({ againMs }) => againMs,
    isRight: kill.every(({ isWhole, isMoved }) => isWhole && isMoved),
  });
  const lines = [HEAD, HEAD.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return { text: lines.join('\n'), isMet };
}

function facts(moves: readonly Move[]): string {
  const some = (what: string, has: (move: Move) => boolean) => `${moves.filter(has).length} ${what}`;
  const sum = (count: (move: Move) => number) => moves.reduce((total, move) => total + count(move), 0);
  return [
    some('moved', ({ isMoved }) => isMoved),
    some('in mid-sentence', ({ isSpeaking }) => isSpeaking),
    some('kept their SSRC', ({ hasOneSource }) => hasOneSource),
    some('word for word', ({ isWordForWord }) => isWordForWord),
    some('ended by their caller', ({ isWhole }) => isWhole),
    `${sum(({ lost }) => lost)} packets lost`,
    `${sum(({ repeated }) => repeated)} repeated`,
    `${sum(({ timestampLeaps }) => timestampLeaps)} leaps of the timestamp`,
  ].join(', ');
}

function toText(ms: number): string {
  return Number.isFinite(ms) ? `${Math.round(ms)} ms` : 'never';
}
