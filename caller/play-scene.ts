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
    case 'listen': {
      // Waits for a new answer: audio before this step does not count.
      const before = stream.lastVoicedMs;
      await stream.until(
        () => stream.lastVoicedMs !== before && stream.agentQuietForMs() >= action.quietMs,
        action.timeoutMs,
      );
      return;
    }
    case 'pause':
      await stream.until(() => false, action.ms);
      return;
    case 'say': {
      const over = action.over;
      if (over)
        await stream.until(() => stream.agentSpokeForMs(SPEECH_GAP_MS) >= over.afterMs, over.timeoutMs);
      listener.onLine?.(action.line);
      listener.onSaid(action.line, await stream.say(action.line.samples));
      return;
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
