/**
 * The ids of a call's tool calls. Some servers restart them with every answer or send none; the timeline, the
 * client and the trace need unique ones.
 */
import type { ToolCall } from './llm.ts';

/** The ids given so far. */
export class CallIds {
  readonly #given = new Set<string>();

  /** The call, with another id if its own is empty or was given before. */
  unique(call: ToolCall): ToolCall {
    let { callId } = call;
    for (let next = 2; callId === '' || this.#given.has(callId); next++) callId = `${call.callId}_${next}`;
    this.#given.add(callId);
    return callId === call.callId ? call : { ...call, callId };
  }
}
