/** Places one call from a separate process. */
import { fork } from 'node:child_process';
import type { RoomCall } from '#caller/room-caller.ts';
import type { CallMessage, CallOrder } from './caller-process.ts';
import type { CuedWord } from './recogniser.ts';

/** No scene takes this long, including the time for the agent to join the room. */
const LIMIT_MS = 120_000;

/**
 * Places a call and resolves with what the caller heard. Calls `onLine` with the index (from 0) of each line
 * as the caller starts it. Throws if the call did not connect.
 */
export function placeCall(
  order: CallOrder,
  onLine: (words: readonly CuedWord[], index: number) => void,
): Promise<RoomCall> {
  const child = fork(new URL('./caller-process.ts', import.meta.url), [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let lines = 0;
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    child.on('message', (message: CallMessage) => {
      if ('line' in message) onLine(message.line.words, lines++);
      else if ('call' in message) resolve(message.call);
      else reject(new Error(message.failed));
    });
    child.once('exit', (code, signal) => {
      clearTimeout(limit);
      reject(new Error(`the caller ended with ${signal ?? code}`));
    });
    child.send(order);
  });
}
