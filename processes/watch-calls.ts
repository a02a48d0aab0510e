/**
 * Whether the control plane has a call, or may be about to have one: the load of the workers, and the
 * requests that may be creating one.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** The requests that create nothing. */
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Watches the requests of these servers from now on. */
export function watchCalls(
  workers: { readonly isIdle: boolean },
  servers: readonly Pick<Server, 'on'>[],
): { readonly isIdle: boolean } {
  let pending = 0;
  const count = ({ method = '' }: IncomingMessage, response: ServerResponse) => {
    if (READS.has(method)) return;
    pending += 1;
    response.once('close', () => {
      pending -= 1;
    });
  };
  for (const server of servers) server.on('request', count);
  return {
    get isIdle() {
      return pending === 0 && workers.isIdle;
    },
  };
}
