/**
 * The media thread itself, run by `transport.ts` as a worker thread or as a process. It alone owns sockets,
 * jitter buffers, codecs, pacing, playout and recording; it reports in one batch per turn of its wheel.
 */
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { parentPort } from 'node:worker_threads';
import { loadBeforeServing, runThisThreadInRealTime } from '#base/thread-priority.ts';
import { LegsHost } from './legs-host.ts';
import type { FromMediaThread, ToMediaThread } from './thread-messages.ts';

if (parentPort) {
  runThisThreadInRealTime();
  const port = parentPort;
  const thread = new LegsHost((message, transfer) => port.postMessage(message, transfer));
  port.on('message', (message: ToMediaThread) => thread.receive(message));
} else {
  const serve = loadBeforeServing();
  const thread = new LegsHost((message: FromMediaThread) => {
    if (message.type === 'warm') serve();
    process.send?.(message);
  });
  process.on('message', (message: ToMediaThread) => {
    // The caller waits, also for what is not loaded yet.
    if (message.type === 'openWebrtc' || message.type === 'openLivekit') serve();
    thread.receive(message);
  });
  // Signals are meant for the worker, which drains its calls and then ends this process.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  // Killed instead of exited: the WebRTC library crashes on an orderly exit.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // Now, because a killed process would save nothing; after the first start there is nothing to write.
  flushCompileCache();
}
