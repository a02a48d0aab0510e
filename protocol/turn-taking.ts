/** The turn-taking of one call, from who was audible when. Pure; durations in ms. */
import type { Stretch, TimedLine, Timeline } from './audible-timeline.ts';

/** The agent should be silent this long after an interruption starts, ms. */
export const STOP_TIMEOUT_MS = 1_500;

/** The turn-taking of a call, as its caller heard it. */
export interface TurnTaking {
  /** From the end of each line that wants an answer to the agent's next speech. */
  readonly replyMs: readonly number[];
  /** Lines into which the agent could speak: all but interruptions, backchannels and sounds. */
  readonly lines: number;
  /** Lines that want an answer, and those without one. */
  readonly asked: number;
  readonly unanswered: number;
  /** Texts of lines that the agent interrupted, or for whose continuation it did not wait. */
  readonly cutOffs: readonly string[];
  /** From the first sound of each interruption to the agent's last; null if it was not speaking. */
  readonly stopMs: readonly (number | null)[];
  /** Texts of interruptions after which the agent spoke on, or at which it was silent. */
  readonly missedInterruptions: readonly string[];
  /** Sum of the times in which the agent and a caller who wants the turn spoke at once. */
  readonly talkOverMs: number;
  /** The longest time in which the caller waited for the agent. */
  readonly longestSilenceMs: number;
}

/** A line that wants an answer. */
export interface AskingLine {
  readonly line: TimedLine;
  /** The caller's next line. */
  readonly next: TimedLine | undefined;
  /** The first speech of the agent that begins after the line and before the next one; null without any. */
  readonly reply: Stretch | null;
}

/** The lines that want an answer, in order. */
export function askingLines({ agent, lines }: Timeline): AskingLine[] {
  return lines.flatMap((line, index) =>
    line.means === 'turn' || line.means === 'interruption'
      ? [{ line, next: lines[index + 1], reply: replyTo(agent, line, lines[index + 1]) }]
      : [],
  );
}

/** Observes a call. */
export function observeTurns(timeline: Timeline): TurnTaking {
  const { agent, lines } = timeline;
  const asking = askingLines(timeline);
  const replyMs = asking.flatMap(({ line, reply }) => (reply ? [reply.firstMs - line.lastMs] : []));
  const inVainMs = asking.flatMap(({ line, reply, next }) =>
    !reply && next ? [next.firstMs - line.lastMs] : [],
  );
  const interruptions = lines
    .filter(({ means }) => means === 'interruption')
    .map((line) => ({ line, stopMs: stopAfter(agent, line) }));
  return {
    replyMs,
    lines: lines.filter(({ means }) => means === 'turn' || means === 'part').length,
    asked: asking.length,
    unanswered: asking.length - replyMs.length,
    cutOffs: lines
      .filter((line, index) => isSpokenInto(agent, line, lines[index + 1]))
      .map(({ text }) => text),
    stopMs: interruptions.map(({ stopMs }) => stopMs),
    missedInterruptions: interruptions
      .filter(({ stopMs }) => stopMs === null || stopMs > STOP_TIMEOUT_MS)
      .map(({ line }) => line.text),
    talkOverMs: talkOver(agent, lines),
    longestSilenceMs: [...replyMs, ...inVainMs, ...silencesOfAgent(agent, lines)].reduce(
      (longest, ms) => Math.max(longest, ms),
      0,
    ),
  };
}

function replyTo(agent: readonly Stretch[], line: TimedLine, next: TimedLine | undefined): Stretch | null {
  return (
    agent.find(({ firstMs }) => firstMs > line.lastMs && (next === undefined || firstMs < next.firstMs)) ??
    null
  );
}

/** Null if the agent was not speaking. */
function stopAfter(agent: readonly Stretch[], line: TimedLine): number | null {
  const spokenOver = agent.find(({ firstMs, lastMs }) => firstMs < line.firstMs && lastMs >= line.firstMs);
  if (!spokenOver) return null;
  // The agent may pause and continue: the last stretch that overlaps the line counts.
  const last = agent.filter(({ firstMs }) => firstMs < line.lastMs).at(-1) ?? spokenOver;
  return last.lastMs - line.firstMs;
}

/** True if the agent began while the caller was speaking or before the caller continued. */
function isSpokenInto(agent: readonly Stretch[], line: TimedLine, next: TimedLine | undefined): boolean {
  if (line.means === 'part')
    return agent.some(({ firstMs }) => firstMs > line.firstMs && firstMs < (next?.lastMs ?? line.lastMs));
  return (
    line.means === 'turn' && agent.some(({ firstMs }) => firstMs > line.firstMs && firstMs <= line.lastMs)
  );
}

/** The silences between two stretches of agent speech without caller speech, ms. */
export function silencesOfAgent(agent: readonly Stretch[], lines: readonly TimedLine[]): number[] {
  return agent.flatMap((stretch, index) => {
    const next = agent[index + 1];
    if (!next) return [];
    const isBroken = lines.some(({ firstMs, lastMs }) => lastMs > stretch.lastMs && firstMs < next.firstMs);
    return isBroken ? [] : [next.firstMs - stretch.lastMs];
  });
}

/** Neither sounds nor backchannels want the turn. */
function talkOver(agent: readonly Stretch[], lines: readonly TimedLine[]): number {
  let sumMs = 0;
  for (const line of lines) {
    if (line.means === 'backchannel' || line.means === 'sound') continue;
    for (const { firstMs, lastMs } of agent)
      sumMs += Math.max(0, Math.min(lastMs, line.lastMs) - Math.max(firstMs, line.firstMs));
  }
  return sumMs;
}
