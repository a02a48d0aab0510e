/**
 * What went well and what did not in one played scene, from what was heard on the line and what the session
 * says of itself. Pure.
 */
import type { Stretch, TimedLine, Timeline } from '#caller/timeline.ts';

/** After this much of an interruption the agent should be silent, ms. */
const STOP_WITHIN_MS = 1_500;
/** Beyond the longest wait for more, a reply later than this is late, ms: what model, voice and line take. */
const ANSWER_WITHIN_MS = 900;
const LONG_SILENCE_MS = 4_000;
/** Silences that long are explained by the session. */
const EXPLAINED_FROM_MS = 700;
/** How far the session's own idea of a silence may lie from what was heard: the line's delay, and frames. */
const SILENCE_TOLERANCE_MS = 250;
/** A gap in the agent's speech that is no pause of its voice. */
const HESITATION_MS = 350;

/** The parts of a session (`GET /v1/agent/sessions/{id}`) that are judged. */
export interface SessionView {
  readonly items: readonly { readonly type: string; readonly role?: string; readonly content?: string }[];
  readonly silences: readonly {
    readonly started_at: string;
    readonly duration_ms: number;
    readonly causes: readonly { readonly cause: string; readonly ms: number }[];
  }[];
}

/** What was asked of the agent. */
export interface Expected {
  readonly reply: string;
  /** The longest the agent may wait for more, ms. */
  readonly longestWaitMs: number;
  /** False: what is said over the agent is kept and answered afterwards. */
  readonly isInterruptible: boolean;
  /** Words of the reply that were over after so many ms of it. */
  readonly wordsHeard: (heardMs: number) => number;
}

/** Counts of one call; lists hold every sample in ms. */
export interface Verdict {
  readonly falseInterruptions: number;
  readonly missedInterruptions: number;
  readonly premature: number;
  readonly late: number;
  readonly unanswered: number;
  readonly wordsSaid: number;
  readonly wordsCutOff: number;
  /** Turns made of words nobody said to the agent. */
  readonly strayTurns: number;
  readonly silencesOver4s: number;
  readonly unattributed: number;
  readonly replyMs: readonly number[];
  /** First sound of an interruption to the agent's last. */
  readonly stopMs: readonly number[];
  /** How long the agent held its breath over sounds that wanted nothing. */
  readonly hesitationMs: readonly number[];
  /** Words by which the transcript of a reply that was cut differs from what was heard. */
  readonly heardWordsOff: readonly number[];
}

/** Judges one call. */
export function judgeScene({ agent, lines }: Timeline, session: SessionView, expected: Expected): Verdict {
  const answered = lines.flatMap((line, index) =>
    line.means === 'turn' || line.means === 'interruption'
      ? [{ line, reply: replyTo(agent, line, lines[index + 1]) }]
      : [],
  );
  const replyMs = answered.flatMap(({ line, reply }) => (reply ? [reply.firstMs - line.lastMs] : []));
  const stops = lines.filter(({ means }) => means === 'interruption').map((line) => stopAfter(agent, line));
  const reply = wordsOf(expected.reply);
  // Hold lines and greetings are no part of the reply.
  const cut = contentsOf(session, 'assistant').filter((text) => isBeginning(wordsOf(text), reply));
  const meant = lines.filter(
    ({ means }) => means !== 'sound' && (means !== 'backchannel' || !expected.isInterruptible),
  );
  const words = compareWords(meant, contentsOf(session, 'user'));
  return {
    falseInterruptions: Math.max(0, cut.length - stops.length),
    missedInterruptions: stops.filter((ms) => ms === null || ms > STOP_WITHIN_MS).length,
    premature: lines.filter((line, index) => isSpokenInto(agent, line, lines[index + 1])).length,
    late: replyMs.filter((ms) => ms > expected.longestWaitMs + ANSWER_WITHIN_MS).length,
    unanswered: answered.filter(({ reply }) => reply === null).length,
    ...words,
    silencesOver4s: replyMs.filter((ms) => ms > LONG_SILENCE_MS).length + silencesOfAgent(agent, lines),
    unattributed: answered.filter(({ line, reply }) => reply !== null && !isExplained(session, line, reply))
      .length,
    replyMs,
    stopMs: stops.filter((ms) => ms !== null),
    hesitationMs: lines
      .filter(({ means }) => means === 'backchannel' || means === 'sound')
      .map((line) => hesitationOver(agent, line)),
    heardWordsOff: heardWordsOff({ agent, lines }, cut, expected),
  };
}

/** The reply is the first stretch that begins after the line and before the caller's next one. */
function replyTo(agent: readonly Stretch[], line: TimedLine, next: TimedLine | undefined): Stretch | null {
  return (
    agent.find(({ firstMs }) => firstMs > line.lastMs && (next === undefined || firstMs < next.firstMs)) ??
    null
  );
}

/** Null: there was nothing to interrupt. */
function stopAfter(agent: readonly Stretch[], line: TimedLine): number | null {
  const spokenOver = agent.find(({ firstMs, lastMs }) => firstMs < line.firstMs && lastMs >= line.firstMs);
  if (!spokenOver) return null;
  // It went on after a breath: what counts is the last of what was spoken over.
  const last = agent.filter(({ firstMs }) => firstMs < line.lastMs).at(-1) ?? spokenOver;
  return last.lastMs - line.firstMs;
}

/** The agent began while the caller was speaking, or was about to go on. */
function isSpokenInto(agent: readonly Stretch[], line: TimedLine, next: TimedLine | undefined): boolean {
  if (line.means === 'part')
    return agent.some(({ firstMs }) => firstMs > line.firstMs && firstMs < (next?.lastMs ?? line.lastMs));
  return (
    line.means === 'turn' && agent.some(({ firstMs }) => firstMs > line.firstMs && firstMs <= line.lastMs)
  );
}

/**
 * Between two stretches of the agent, with no word of the caller in it either: what comes after a line is
 * that line's wait.
 */
function silencesOfAgent(agent: readonly Stretch[], lines: readonly TimedLine[]): number {
  return agent.filter((stretch, index) => {
    const next = agent[index + 1];
    if (!next || next.firstMs - stretch.lastMs <= LONG_SILENCE_MS) return false;
    return !lines.some(({ firstMs, lastMs }) => lastMs > stretch.lastMs && firstMs < next.firstMs);
  }).length;
}

function isExplained({ silences }: SessionView, line: TimedLine, reply: Stretch): boolean {
  const durationMs = reply.firstMs - line.lastMs;
  if (durationMs <= EXPLAINED_FROM_MS + SILENCE_TOLERANCE_MS) return true;
  return silences.some(({ started_at: startedAt, duration_ms: noted, causes }) => {
    const isSame =
      Math.abs(Date.parse(startedAt) - line.lastMs) <= SILENCE_TOLERANCE_MS &&
      Math.abs(noted - durationMs) <= SILENCE_TOLERANCE_MS;
    const explained = causes.filter(({ cause }) => cause !== 'tool').reduce((sum, { ms }) => sum + ms, 0);
    return isSame && noted - explained <= SILENCE_TOLERANCE_MS;
  });
}

function hesitationOver(agent: readonly Stretch[], line: TimedLine): number {
  const index = agent.findLastIndex(({ firstMs }) => firstMs <= line.firstMs);
  const gaps = agent.slice(index).map((stretch, at, rest) => {
    const gap = (rest[at + 1]?.firstMs ?? stretch.lastMs) - stretch.lastMs;
    return stretch.lastMs < line.lastMs + STOP_WITHIN_MS && gap > HESITATION_MS ? gap : 0;
  });
  return gaps.reduce((sum, gap) => sum + gap, 0);
}

function heardWordsOff({ agent, lines }: Timeline, cut: readonly string[], expected: Expected): number[] {
  const interruption = lines.findIndex(({ means }) => means === 'interruption');
  const question = lines[interruption - 1];
  const [content] = cut;
  const line = lines[interruption];
  if (!line || !question || content === undefined) return [];
  const spoken = agent.filter(({ firstMs }) => firstMs > question.lastMs && firstMs < line.lastMs);
  const [first, last] = [spoken[0], spoken.at(-1)];
  if (!first || !last) return [];
  // Where the agent held its breath its voice stood still.
  const stoodStillMs = spoken.reduce((sum, { firstMs }, index) => {
    const gapMs = firstMs - (spoken[index - 1]?.lastMs ?? firstMs);
    return sum + (gapMs > HESITATION_MS ? gapMs : 0);
  }, 0);
  return [
    Math.abs(wordsOf(content).length - expected.wordsHeard(last.lastMs - first.firstMs - stoodStillMs)),
  ];
}

function contentsOf({ items }: SessionView, role: 'user' | 'assistant'): string[] {
  return items
    .filter((item) => item.type === 'message' && item.role === role)
    .map(({ content = '' }) => content);
}

/** Words meant for the agent, against the turns it took. */
function compareWords(
  lines: readonly TimedLine[],
  turns: readonly string[],
): Pick<Verdict, 'wordsSaid' | 'wordsCutOff' | 'strayTurns'> {
  const said = lines.flatMap(({ text }) => wordsOf(text));
  const left = turns.flatMap(wordsOf);
  const missing = said.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  const isStray = (turn: string) =>
    wordsOf(turn).filter((word) => !said.includes(word)).length * 2 > wordsOf(turn).length;
  return { wordsSaid: said.length, wordsCutOff: missing.length, strayTurns: turns.filter(isStray).length };
}

function isBeginning(words: readonly string[], whole: readonly string[]): boolean {
  return (
    words.length > 0 && words.length < whole.length && words.every((word, index) => word === whole[index])
  );
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}'@.-]*[\p{L}\p{N}]/gu) ?? [];
}
