/** Refuses connections that send malformed HTTP or are too slow. */
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import { STATUS_CODES } from '#base/node-http.ts';
import type { Refusals } from '../limits/refusals.ts';

const STATUS: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };

/**
 * Handler for `clientError`: answers once per connection, rate-limited like other refusals, then closes it.
 */
export function refuseMalformed(
  refusals: Pick<Refusals, 'takeFor'>,
): (error: ConnectionError, socket: Socket) => void {
  const refused = new WeakSet<Socket>();
  return (error, socket) => {
    // The parser reports the error again for every further chunk.
    if (socket.destroyed || refused.has(socket)) return;
    refused.add(socket);
    socket.pause();
    const answer = (maySend: boolean) => {
      if (maySend && socket.writable) socket.write(answerOf(STATUS[error.code] ?? 400));
      socket.destroy();
    };
    const maySend = refusals.takeFor(socket.remoteAddress ?? '');
    if (maySend === null) answer(true);
    else void maySend.then(answer);
  };
}

function answerOf(status: number): string {
  const message = STATUS_CODES[status] ?? 'Bad Request';
  const body = JSON.stringify({ status, message, reason: null });
  const head =
    `HTTP/1.1 ${status} ${message}\r\nConnection: close\r\nContent-Type: application/json; ` +
    'charset=utf-8';
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
