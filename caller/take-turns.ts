/**
 * How a caller takes turns on any transport: says a line, presses keys, and listens until the agent has
 * finished. Times are those of the transport's stream.
 */
import type { Action, Line } from './scene.ts';

/** A shorter pause is part of one utterance, ms. */
export const SPEECH_GAP_MS = 300;

/** A caller's media as a scene uses it. `Span` is when something was sent, in units of the transport. */
export interface CallerStream<Span> {
  /** Time of the agent's last voiced audio; null before the first. */
  readonly lastVoicedMs: number | null;
  agentSpokeForMs(gapMs: number): number;
  agentQuietForMs(): number;
  /** Resolves with true once the condition holds, false after `timeoutMs`. */
  until(condition: () => boolean, timeoutMs: number): Promise<boolean>;
  say(samples: Int16Array): Promise<Span>;
  press(digits: string): Promise<void>;
}

/** Listener of what is said. */
export interface SceneListener<Span> {
  /** A line begins now. */
  readonly onLine: ((line: Line) => void) | undefined;
  readonly onSaid: (line: Line, span: Span) => void;
}

type Conversation = Extract<Action, { do: 'converse' }>;

/** Whether a goal is reached, or clearly will not be. */
export type GoalState = 'open' | 'reached' | 'refused';

/** How a conversation ended: `gave_up` by hanging up, `max_lines` without another end. */
export type GoalOutcome = Exclude<GoalState, 'open'> | 'gave_up' | 'max_lines';

/** What a caller does next in a conversation. */
export type Move = { readonly goal: GoalState } & (
  | { readonly do: 'say'; readonly line: Line /** Interrupts the answer. */; readonly cutIn: Line | null }
  | { readonly do: 'press'; readonly digits: string }
  | { readonly do: 'wait' }
  | { readonly do: 'hang_up'; readonly line: Line | null }
);

/** When a caller decides. */
interface Situation {
  readonly movesLeft: number;
  /** Whether the agent was audible since the caller's last turn. */
  readonly hasHeard: boolean;
  /** Whether the agent is audible again. */
  readonly isOvertaken: () => boolean;
}

/** Decides what the caller of one call does in conversations. */
export interface CallerMind {
  /** The call is answered. */
  begin(): void;
  /** The caller begins to say these words, or presses keys. */
  note(said: string): void;
  /** The next move, now that the agent is silent; null once `isOvertaken`, because the agent speaks again. */
  next(conversation: Conversation, situation: Situation): Promise<Move | null>;
  /** A conversation is over. */
  ended(outcome: GoalOutcome): void;
}

/** A scene being played. */
export interface Playing<Span> {
  readonly stream: CallerStream<Span>;
  readonly listener: SceneListener<Span>;
  /** Null for a caller who cannot converse. */
  readonly mind: CallerMind | null;
  /** The agent's last voiced audio before the caller's last turn ended; null without any. */
  heardBeforeMs: number | null;
}

/** Says a line. */
export async function say<Span>(line: Line, playing: Playing<Span>): Promise<void> {
  const { stream, listener, mind } = playing;
  if (line.means !== 'sound') mind?.note(line.text);
  listener.onLine?.(line);
  listener.onSaid(line, await stream.say(line.samples));
  playing.heardBeforeMs = stream.lastVoicedMs;
}

/** Presses keys. */
export async function press<Span>(digits: string, playing: Playing<Span>): Promise<void> {
  playing.mind?.note(`(presses ${digits})`);
  await playing.stream.press(digits);
  playing.heardBeforeMs = playing.stream.lastVoicedMs;
}

/**
 * Waits until the agent has spoken since `beforeMs` and then been silent, or for a time. An impatient caller
 * says a line meanwhile.
 */
export async function listen<Span>(
  {
    quietMs,
    timeoutMs,
    impatient,
  }: Pick<Extract<Action, { do: 'listen' }>, 'quietMs' | 'timeoutMs' | 'impatient'>,
  playing: Playing<Span>,
  beforeMs: number | null,
): Promise<void> {
  const { stream } = playing;
  const hasBegun = () => stream.lastVoicedMs !== beforeMs;
  for (let said = 0; impatient && said < impatient.times; said++) {
    if (await stream.until(hasBegun, impatient.afterMs)) break;
    await say(impatient.line, playing);
  }
  await stream.until(() => hasBegun() && stream.agentQuietForMs() >= quietMs, timeoutMs);
}
