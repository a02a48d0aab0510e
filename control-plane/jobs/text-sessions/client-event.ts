/** What a client is told while a turn runs: the same over Server-Sent Events and over a WebSocket. */
import { Fault, fault } from '#config/errors.ts';
import type { TextTurnEvent } from '#protocol/text-turn.ts';
import type { Context } from '../../platform/context.ts';

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

/** The error body of a problem; one that is no fault is logged and told as internal. */
export function problemOf(context: Pick<Context, 'logger'>, error: unknown) {
  if (!(error instanceof Fault)) context.logger.error({ err: error }, 'error in a text session');
  const { status, message, reason } = error instanceof Fault ? error : fault('internal');
  return { status, message, reason };
}
