/** Judges one call from what the caller heard and which messages the agent stored as spoken. Pure. */
import type { RoomCall } from '#caller/room-caller.ts';
import type { Stretch, TimedLine } from '#protocol/audible-timeline.ts';
import { GREETING, LONG_REPLY, REPLIES, WORD_MS } from './script.ts';

const BLOCK_MS = 10;
/** The agent should be silent this long after an interruption starts, ms. */
const STOP_TIMEOUT_MS = 1_500;
/** A longer gap in the agent's speech is not a pause of its voice, ms. */
const HELD_MS = 300;
/** Speech that may be missing at the edges of a fully heard reply, ms. */
const EDGE_MS = 500;

/** Results of one call. Lists hold every sample. */
export interface CallResult {
  /** From joining to the agent's first sound. Null if the agent was never heard. */
  readonly greetingMs: number | null;
  /** From the end of a line that asks for an answer to the first sound of the answer. */
  readonly replyMs: readonly number[];
  readonly unanswered: number;
  /** Pauses for thought, and those in which the agent started to speak. */
  readonly pauses: number;
  readonly premature: number;
  /** From the beginning of an interruption to the agent's last sound. */
  readonly stopMs: readonly number[];
  readonly interruptions: number;
  readonly missed: number;
  /** Long answers that the agent should have finished, and those that it did not finish. */
  readonly listenedTo: number;
  readonly brokenOff: number;
  /** How long the agent fell silent at each backchannel or noise; 0 if it kept speaking. */
  readonly heldMs: readonly number[];
  /** For every interrupted answer: words stored as spoken minus words heard. */
  readonly wordsOff: readonly number[];
  /** Calls that were rejected or whose connection broke. */
  readonly lost: number;
}

/**
 * Judges one call. `said` holds the agent's stored messages; null if it stored none. `hearsOut`: the last
 * answer should be finished, whatever is heard meanwhile; so it should where the caller gives backchannels.
 */
export function judgeCall(call: RoomCall, said: readonly string[] | null, hearsOut = false): CallResult {
  const { agent, lines } = call;
  const asks = lines.flatMap((line, index) =>
    line.means === 'turn' || line.means === 'interruption' ? [{ line, next: lines[index + 1] }] : [],
  );
  const replies = asks.map(({ line, next }) => replyAfter(agent, line, next));
  const interruptions = lines.flatMap((line, index) =>
    line.means === 'interruption' ? [stopOf(call, line, lines[index - 1])] : [],
  );
  const stops = interruptions.flatMap(({ stopMs }) => (stopMs === null ? [] : [stopMs]));
  const asides = lines.filter(({ means }) => means === 'backchannel' || means === 'sound');
  const listening = asides.length > 0 || hearsOut ? 1 : 0;
  const parts = lines.flatMap((line, index) =>
    line.means === 'part' ? [{ line, next: lines[index + 1] }] : [],
  );
  return {
    greetingMs: agent[0] ? agent[0].firstMs - call.joinedMs : null,
    replyMs: replies.filter((ms) => ms !== null),
    unanswered: replies.filter((ms) => ms === null).length,
    pauses: parts.length,
    premature: parts.filter(({ line, next }) =>
      agent.some(({ firstMs }) => firstMs > line.firstMs && firstMs < (next?.lastMs ?? line.lastMs)),
    ).length,
    stopMs: stops,
    interruptions: stops.length,
    missed: stops.filter((ms) => ms > STOP_TIMEOUT_MS).length,
    listenedTo: listening,
    brokenOff: listening === 1 && !isHeardOut(call, said) ? 1 : 0,
    heldMs: asides.flatMap((line) => heldAt(call.voicedMs, line)),
    wordsOff: wordsOff(interruptions, said),
    lost: call.endedByCaller ? 0 : 1,
  };
}

/** Messages outside the script, such as apologies. */
export function ownWords(said: readonly string[]): string[] {
  const scripted = [GREETING, ...REPLIES];
  return said.filter(
    (text) => text.trim() !== '' && !scripted.some((script) => script.startsWith(text.trim().slice(0, 12))),
  );
}

/**
 * The answer is the first stretch of agent speech that begins after the line and before the caller's next
 * line.
 */
export function replyAfter(
  agent: readonly Stretch[],
  line: TimedLine,
  next: TimedLine | undefined,
): number | null {
  const reply = agent.find(
    ({ firstMs }) => firstMs > line.lastMs && (next === undefined || firstMs < next.firstMs),
  );
  return reply ? reply.firstMs - line.lastMs : null;
}

/**
 * Time of the agent's last sound during the interruption, and the number of words heard since the question.
 * Null if the agent was already silent.
 */
function stopOf({ voicedMs }: RoomCall, line: TimedLine, question: TimedLine | undefined) {
  const answer = voicedMs.filter(
    (atMs) => question !== undefined && atMs > question.lastMs && atMs <= line.lastMs,
  );
  const wasSpeaking = answer.some((atMs) => atMs > line.firstMs - 200 && atMs <= line.firstMs + 50);
  return {
    stopMs: wasSpeaking ? (answer.at(-1) ?? line.firstMs) - line.firstMs : null,
    words: (answer.length * BLOCK_MS) / WORD_MS,
  };
}

/** Whether both the agent's stored messages and the caller's audio contain the whole reply. */
function isHeardOut({ voicedMs, lines }: RoomCall, said: readonly string[] | null): boolean {
  const question = lines.findLast(({ means }) => means === 'turn');
  const heardMs =
    voicedMs.filter((atMs) => question !== undefined && atMs > question.lastMs).length * BLOCK_MS;
  const kept = said?.some((text) => wordsOf(text).length >= wordsOf(LONG_REPLY).length) ?? true;
  return kept && heardMs >= wordsOf(LONG_REPLY).length * WORD_MS - EDGE_MS;
}

/** Empty if the agent was not speaking, because there was nothing to interrupt. */
function heldAt(voicedMs: readonly number[], line: TimedLine): number[] {
  if (!voicedMs.some((atMs) => atMs > line.firstMs - 200 && atMs <= line.firstMs + 50)) return [];
  const around = voicedMs.filter((atMs) => atMs > line.firstMs - 200);
  const at = around.findIndex(
    (atMs, index) => (around[index + 1] ?? Number.POSITIVE_INFINITY) - atMs > HELD_MS,
  );
  const [last = 0, next] = [around[at], around[at + 1]];
  return [next === undefined || last > line.lastMs + STOP_TIMEOUT_MS ? 0 : next - last];
}

function wordsOff(
  interrupted: readonly { readonly stopMs: number | null; readonly words: number }[],
  said: readonly string[] | null,
): number[] {
  const answers =
    said?.filter((text) => LONG_REPLY.startsWith(text.trim().slice(0, 3)) && text.trim() !== '') ?? [];
  if (said === null) return [];
  return interrupted.flatMap(({ stopMs, words }, index) =>
    stopMs === null ? [] : [wordsOf(answers[index] ?? '').length - words],
  );
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => /\w/.test(word));
}
