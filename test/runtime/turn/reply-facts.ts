/** What a reply and its tools report to the turn machine, as parts of its tests. */
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import type { TurnScript } from './turn-script.ts';

/** The model’s reply fails. */
export const failed = (replyId: string, isRetryable = true): TurnFact => ({
  type: 'reply.failed',
  replyId,
  stage: 'model',
  message: 'overloaded',
  status: 503,
  isRetryable,
});

/** The model calls a tool. */
export const called = (
  replyId: string,
  toolName: string,
  mode: 'blocking' | 'fire_and_forget' | 'background' | 'hang_up',
  input = '{}',
): TurnFact => ({
  type: 'reply.tool_called',
  replyId,
  call: { callId: 'c1', toolName, input },
  mode,
  source: mode === 'hang_up' ? 'builtin' : 'webhook',
});

/** The tool returns this text. */
export const answered = (modelText: string): TurnFact => ({
  type: 'tool.finished',
  callId: 'c1',
  status: 'completed',
  output: modelText,
  outputTruncated: false,
  error: null,
  latencyMs: 100,
  modelText,
});

/** The fixed texts that the agent has said. */
export const saidBy = (script: TurnScript) => script.all('say').map(({ text }) => text);

/** The model writes a whole reply, none of which is synthesised yet. */
export function writes(script: TurnScript, replyId: string, text: string): void {
  script.take(
    { type: 'reply.token', replyId },
    { type: 'reply.piece', replyId, text },
    { type: 'reply.generated', replyId },
  );
}

/** Plays a fixed text to its end. */
export function playOut(script: TurnScript): void {
  const { replyId = '', text: heard = '' } = script.last('say') ?? {};
  script.take({ type: 'reply.audible', replyId }, { type: 'playout.started', replyId, wireMs: script.nowMs });
  script.after(1_000).take({ type: 'playout.finished', replyId, heard });
}
