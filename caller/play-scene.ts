/**
 * Plays a scene on any transport: runs each step when the agent's audio, or the clock, reaches its condition.
 */
import type { Action, Line, Scene } from './scene.ts';

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

/** Resolves after the last step. */
export async function playScene<Span>(
  scene: Scene,
  stream: CallerStream<Span>,
  listener: SceneListener<Span>,
): Promise<void> {
  for (const action of scene.actions) await act(action, stream, listener);
}

async function act<Span>(
  action: Action,
  stream: CallerStream<Span>,
  listener: SceneListener<Span>,
): Promise<void> {
  switch (action.do) {
    case 'listen':
      return listen(action, stream, listener);
    case 'pause':
      await stream.until(() => false, action.ms);
      return;
    case 'say': {
      const over = action.over;
      if (over)
        await stream.until(() => stream.agentSpokeForMs(SPEECH_GAP_MS) >= over.afterMs, over.timeoutMs);
      return say(action.line, stream, listener);
    }
    case 'press':
      await stream.press(action.digits);
      return;
    case 'await_hang_up':
      await stream.until(() => false, action.timeoutMs);
      return;
    default:
      action satisfies never;
  }
}

async function say<Span>(
  line: Line,
  stream: CallerStream<Span>,
  listener: SceneListener<Span>,
): Promise<void> {
  listener.onLine?.(line);
  listener.onSaid(line, await stream.say(line.samples));
}

async function listen<Span>(
  { quietMs, timeoutMs, impatient }: Extract<Action, { do: 'listen' }>,
  stream: CallerStream<Span>,
  listener: SceneListener<Span>,
): Promise<void> {
  // Waits for a new answer: audio before this step does not count.
  const before = stream.lastVoicedMs;
  const hasBegun = () => stream.lastVoicedMs !== before;
  for (let said = 0; impatient && said < impatient.times; said++) {
    if (await stream.until(hasBegun, impatient.afterMs)) break;
    await say(impatient.line, stream, listener);
  }
  await stream.until(() => hasBegun() && stream.agentQuietForMs() >= quietMs, timeoutMs);
}
