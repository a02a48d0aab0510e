/** The events of a running turn, the same over Server-Sent Events and over a WebSocket. */
import type { TextTurnEvent } from '#protocol/text-turn.ts';
import type { Context } from '../../platform/context.ts';
import { errorBodyOf, faultOf, isUnexpected } from '../../platform/http/problems.ts';

/** An event of a running turn. */
export type ClientEvent =
  | { readonly type: 'delta'; readonly text: string }
  | {
      readonly type: 'tool';
      readonly tool_name: string;
      readonly status: 'started' | 'completed' | 'failed';
    };

/** Converts a worker's event. */
export function toClientEvent(event: TextTurnEvent): ClientEvent {
  return event.type === 'text_delta'
    ? { type: 'delta', text: event.text }
    : { type: 'tool', tool_name: event.tool_name, status: event.status };
}

/** The error body of a problem, as of any request; one that is not expected is logged. */
export function problemOf({ logger }: Pick<Context, 'logger'>, error: unknown) {
  const known = faultOf(error instanceof Error ? error : new Error(String(error)));
  if (isUnexpected(known)) logger.error({ err: error }, 'error in a text session');
  return errorBodyOf(known);
}
