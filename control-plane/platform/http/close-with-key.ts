/** Closes a WebSocket when the API key that opened it is deleted or expires. */
import type { WebSocket } from 'ws';
import type { Context } from '../context.ts';
import type { Caller } from './auth.ts';

/** A client that has not answered the close frame for so long is cut off. */
const CLOSE_MS = 2_000;
/** Policy violation (RFC 6455 §7.4.1). */
const KEY_ENDED = 1008;

/** Closes it with 1008 some seconds after the key has ended; messages that come later are not taken. */
export function closeWithKey(
  { keyWatch, clock }: Pick<Context, 'keyWatch' | 'clock'>,
  caller: Caller,
  socket: WebSocket,
): void {
  const stop = keyWatch.watch(caller, () => {
    // A client may send for as long as it leaves the close frame unanswered.
    socket.removeAllListeners('message');
    socket.close(KEY_ENDED, 'The API key was deleted or has expired');
    const cut = clock.after(CLOSE_MS, () => socket.terminate());
    socket.once('close', () => cut.cancel());
  });
  socket.once('close', stop);
}
