/** Server-Sent Events on a response that the route has taken over (WHATWG HTML, section 9.2). */
import type { ServerResponse } from 'node:http';

/** A comment at this interval keeps proxies from closing an idle stream. */
export const HEARTBEAT_MS = 15_000;
export const HEARTBEAT = ': here\n\n';
/** A client with more to read has stopped reading. */
export const MAX_UNREAD_BYTES = 1_048_576;

/** Sends the head at once: the first event may be a minute away. */
export function beginEventStream(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  });
  response.flushHeaders();
}

/** One event. */
export function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
