/**
 * The media thread itself, run by `transport.ts` as a worker thread or as a process. It alone owns sockets,
 * jitter buffers, codecs, pacing, playout and recording taps; everything it learns goes up in one batch per
 * turn of its wheel.
 */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { parentPort } from 'node:worker_threads';
import type { FromMediaThread, ToMediaThread } from '../leg/media-messages.ts';
import { preferThisThread, runThisThreadInRealTime } from '../thread-priority.ts';
import { LegsHost } from './legs-host.ts';

if (parentPort) {
  runThisThreadInRealTime();
  const port = parentPort;
  const thread = new LegsHost((message, transfer) => port.postMessage(message, transfer));
  port.on('message', (message: ToMediaThread) => thread.receive(message));
} else {
  // Its WebRTC library sends from threads of its own, which take after this one.
  preferThisThread();
  const thread = new LegsHost((message: FromMediaThread) => void process.send?.(message));
  process.on('message', (message) => thread.receive(message as ToMediaThread));
  // Signals are meant for the worker, which drains its calls and then ends this process.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  // Killed rather than exited: the WebRTC library does not survive an orderly end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // Now, as a killed process would keep nothing; after the first start there is nothing to write.
  flushCompileCache();
}
