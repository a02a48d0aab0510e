/** Judges one played scene from what was heard on the line and the session's own record. Pure. */
import type { Stretch, TimedLine, Timeline } from '#protocol/audible-timeline.ts';
import { askingLines, observeTurns, STOP_TIMEOUT_MS, silencesOfAgent } from '#protocol/turn-taking.ts';

/**
 * A reply is late when it takes this much longer than the longest endpointing wait, ms. Covers model, voice
 * and line.
 */
const MAX_REPLY_DELAY_MS = 900;
const LONG_SILENCE_MS = 4_000;
/** The session explains silences of at least this length. */
const EXPLAINED_FROM_MS = 700;
/**
 * Tolerance between a silence in the session and the same silence on the line, ms: line delay and frame size.
 */
const SILENCE_TOLERANCE_MS = 250;
/** A longer gap in the agent's speech is not a pause of its voice. */
const HESITATION_MS = 350;

/** Parts of a session (`GET /v1/agent/sessions/{id}`) that are judged. */
export interface SessionView {
  readonly items: readonly { readonly type: string; readonly role?: string; readonly content?: string }[];
  readonly silences: readonly {
    readonly started_at: string;
    readonly duration_ms: number;
    readonly causes: readonly { readonly cause: string; readonly ms: number }[];
  }[];
}

/** The expectations of a scene. */
export interface Expectation {
  readonly reply: string;
  /** Maximum time the agent may wait for more speech, ms. */
  readonly longestWaitMs: number;
  /** False: caller speech during a reply is kept and answered after it. */
  readonly isInterruptible: boolean;
  /** Number of words of the reply finished after this many ms. */
  readonly wordsHeard: (heardMs: number) => number;
}

/** Results of one call. Lists hold every sample in ms. */
export interface Verdict {
  readonly falseInterruptions: number;
  readonly missedInterruptions: number;
  readonly premature: number;
  readonly late: number;
  readonly unanswered: number;
  readonly wordsSaid: number;
  readonly wordsCutOff: number;
  /** Turns consisting mostly of words that no line contains. */
  readonly strayTurns: number;
  readonly silencesOver4s: number;
  readonly unattributed: number;
  readonly replyMs: readonly number[];
  /** From the first sound of an interruption to the agent's last. */
  readonly stopMs: readonly number[];
  /** How long the agent paused for backchannels and noises. */
  readonly hesitationMs: readonly number[];
  /** Difference in words between the transcript of an interrupted reply and what was heard. */
  readonly heardWordsOff: readonly number[];
}

/** Judges one call. */
export function judgeScene(timeline: Timeline, session: SessionView, expected: Expectation): Verdict {
  const { agent, lines } = timeline;
  const { replyMs, stopMs, ...turns } = observeTurns(timeline);
  const reply = wordsOf(expected.reply);
  // Excludes hold lines and greetings.
  const cut = contentsOf(session, 'assistant').filter((text) => isBeginning(wordsOf(text), reply));
  const meant = lines.filter(
    ({ means }) => means !== 'sound' && (means !== 'backchannel' || !expected.isInterruptible),
  );
  const words = compareWords(meant, contentsOf(session, 'user'));
  return {
    falseInterruptions: Math.max(0, cut.length - stopMs.length),
    missedInterruptions: turns.missedInterruptions.length,
    premature: turns.cutOffs.length,
    late: replyMs.filter((ms) => ms > expected.longestWaitMs + MAX_REPLY_DELAY_MS).length,
    unanswered: turns.unanswered,
    ...words,
    silencesOver4s:
      replyMs.filter((ms) => ms > LONG_SILENCE_MS).length +
      silencesOfAgent(agent, lines).filter((ms) => ms > LONG_SILENCE_MS).length,
    unattributed: askingLines(timeline).filter(
      ({ line, reply }) => reply !== null && !isExplained(session, line, reply),
    ).length,
    replyMs,
    stopMs: stopMs.filter((ms) => ms !== null),
    hesitationMs: lines
      .filter(({ means }) => means === 'backchannel' || means === 'sound')
      .map((line) => hesitationOver(agent, line)),
    heardWordsOff: heardWordsOff(timeline, cut, expected),
  };
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
    return stretch.lastMs < line.lastMs + STOP_TIMEOUT_MS && gap > HESITATION_MS ? gap : 0;
  });
  return gaps.reduce((sum, gap) => sum + gap, 0);
}

function heardWordsOff({ agent, lines }: Timeline, cut: readonly string[], expected: Expectation): number[] {
  const interruption = lines.findIndex(({ means }) => means === 'interruption');
  const question = lines[interruption - 1];
  const [content] = cut;
  const line = lines[interruption];
  if (!line || !question || content === undefined) return [];
  const spoken = agent.filter(({ firstMs }) => firstMs > question.lastMs && firstMs < line.lastMs);
  const [first, last] = [spoken[0], spoken.at(-1)];
  if (!first || !last) return [];
  // Playback did not advance while the agent paused.
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

/** Compares the words meant for the agent with its turns. */
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
