/** Formats a session as text: its timeline, and a latency waterfall of each turn. */

/** An entry of a session's timeline, as returned by the API. */
export interface Item {
  readonly type: string;
  readonly created_at: string;
  readonly role?: string;
  readonly content?: string;
  readonly tool_name?: string;
  readonly input?: string;
  readonly output?: string | null;
  readonly error?: string | null;
  readonly latency_ms?: number | null;
  readonly message?: string;
  readonly name?: string | null;
  readonly event?: string;
}

const SPEAKERS: Readonly<Record<string, string>> = {
  user: 'Caller',
  assistant: 'Agent ',
  human: 'Colleague',
};

/** The parts of a turn's latency in order, and the letter of each in the bar. */
const PARTS = [
  ['endpoint_ms', 'e'],
  ['transcript_ms', 't'],
  ['first_token_ms', 'm'],
  ['first_sentence_ms', 's'],
  ['first_audio_ms', 'a'],
  ['playout_ms', 'p'],
] as const;
const LEGEND =
  'e endpointing  t transcript  m model’s first token  s first sentence  a first audio  p playout';
const BAR_CHARS = 50;

type Turn = { readonly turn_id: number; readonly total_ms: number; readonly explanation: string } & Readonly<
  Record<(typeof PARTS)[number][0], number>
>;

/** One line of the timeline; `from` is when the call began. */
export function itemLine(item: Item, from: string | null): string {
  return `${offset(item.created_at, from)}  ${describeItem(item)}`;
}

function describeItem(item: Item): string {
  switch (item.type) {
    case 'message':
      return `${SPEAKERS[item.role ?? 'assistant']}  ${item.content ?? ''}`;
    case 'tool_call':
      return `Tool    ${item.tool_name}(${item.input ?? ''})`;
    case 'tool_result':
      return (
        `        ${item.error ?? item.output ?? ''}` +
        (typeof item.latency_ms === 'number' ? `  (${Math.round(item.latency_ms)} ms)` : '')
      );
    case 'participant':
      return `Colleague  ${item.name ?? ''} ${item.event}`;
    default:
      return `${item.type}  ${item.message ?? ''}`;
  }
}

/** The turns as bars on one scale, each with its largest part, and their legend; empty without turns. */
export function waterfall(turns: readonly Turn[]): string[] {
  const longest = Math.max(0, ...turns.map(({ total_ms }) => total_ms));
  if (longest === 0) return [];
  return [
    ...turns.map(
      (turn) =>
        `turn ${String(turn.turn_id).padStart(2)}  ${String(Math.round(turn.total_ms)).padStart(5)} ms  ` +
        `${bar(turn, longest)}  ${turn.explanation}`,
    ),
    LEGEND,
  ];
}

/** Rounds the running sum instead of each part, so that the bar has the right total length. */
function bar(turn: Turn, longest: number): string {
  let sumMs = 0;
  let drawn = '';
  for (const [part, letter] of PARTS) {
    sumMs += turn[part];
    drawn = drawn.padEnd(Math.round((sumMs / longest) * BAR_CHARS), letter);
  }
  return drawn.padEnd(BAR_CHARS);
}

/** Minutes and seconds since the call began. */
function offset(at: string, from: string | null): string {
  const seconds = Math.max(0, (new Date(at).getTime() - new Date(from ?? at).getTime()) / 1000);
  return `${String(Math.floor(seconds / 60)).padStart(2)}:${(seconds % 60).toFixed(1).padStart(4, '0')}`;
}
