/**
 * Plays a scene on any transport: runs each step when the agent's audio, or the clock, reaches its condition.
 */
import { converse } from './converse.ts';
import type { Action, Scene } from './scene.ts';
import {
  type CallerMind,
  type CallerStream,
  listen,
  type Playing,
  press,
  type SceneListener,
  SPEECH_GAP_MS,
  say,
} from './take-turns.ts';

/** Resolves after the last step, or when the caller's mind hangs up. Throws what its `mind` throws. */
export async function playScene<Span>(
  scene: Scene,
  stream: CallerStream<Span>,
  listener: SceneListener<Span>,
  mind: CallerMind | null = null,
): Promise<void> {
  const playing: Playing<Span> = { stream, listener, mind, heardBeforeMs: null };
  mind?.begin();
  for (const action of scene.actions) if (await act(action, playing)) return;
}

/** Resolves with true if the caller hangs up now. */
async function act<Span>(action: Action, playing: Playing<Span>): Promise<boolean> {
  const { stream } = playing;
  switch (action.do) {
    case 'listen':
      // Waits for a new answer: audio before this step does not count.
      await listen(action, playing, stream.lastVoicedMs);
      return false;
    case 'pause':
      await stream.until(() => false, action.ms);
      return false;
    case 'say': {
      const over = action.over;
      if (over)
        await stream.until(() => stream.agentSpokeForMs(SPEECH_GAP_MS) >= over.afterMs, over.timeoutMs);
      await say(action.line, playing);
      return false;
    }
    case 'press':
      await press(action.digits, playing);
      return false;
    case 'converse':
      return converse(action, playing);
    case 'await_hang_up':
      await stream.until(() => false, action.timeoutMs);
      return false;
    default:
      return action satisfies never;
  }
}
