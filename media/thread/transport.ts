/**
 * Two ways to run `media-thread-entry.ts`: as a thread of this process, and as a separate process for web
 * calls. The native WebRTC library crashes its process when the thread that used it ends, and can be loaded
 * only once per process; LiveKit's library is native too and could crash its process. In a separate process
 * their faults affect web calls only.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { NO_TELEMETRY } from '#base/no-telemetry.ts';
import { allocatorEnvironment, platformSwitch } from '#base/platform.ts';
import { typeOptions } from '#base/type-options.ts';
import type { FromMediaThread, ToMediaThread } from './thread-messages.ts';

/** Events of a transport. */
export interface RunnerListener {
  readonly onMessage: (message: FromMediaThread) => void;
  /** Called once, when it has ended for any reason. */
  readonly onEnded: (error: Error) => void;
}

/** A running media thread or process. */
export interface MediaTransport {
  /** Sends a message; the buffers of `transfer` are no longer the caller's. */
  post(message: ToMediaThread, transfer?: ArrayBuffer[]): void;
  /** Terminates it; resolves when it has ended. */
  kill(): Promise<void>;
}

const ENTRY = new URL('./media-thread-entry.ts', import.meta.url);

/** Runs the entry as a worker thread. */
export function runAsThread(listener: RunnerListener): MediaTransport {
  // The library reads the environment of the process; a thread has only a copy.
  Object.assign(process.env, NO_TELEMETRY);
  const worker = new Worker(ENTRY, { execArgv: [], name: 'media' });
  let failure: Error | null = null;
  worker.on('message', listener.onMessage);
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  worker.on('exit', (code) =>
    listener.onEnded(failure ?? new Error(`the media thread ended with code ${code}`)),
  );
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    kill: async () => {
      await worker.terminate();
    },
  };
}

/**
 * Runs the entry as a child process, without our environment, as it needs none of our secrets. `NODE_ENV`
 * disables the debug log of the LiveKit library; the compile cache saves three quarters of the start.
 */
export function runAsProcess(listener: RunnerListener): MediaTransport {
  const ownCache = getCompileCacheDir();
  // Each version of Node has a subfolder of its own.
  const cache = ownCache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(ownCache) };
  const child = fork(fileURLToPath(ENTRY), [], {
    execArgv: [...typeOptions],
    env: { NODE_ENV: 'production', ...NO_TELEMETRY, ...platformSwitch, ...allocatorEnvironment, ...cache },
    serialization: 'advanced',
  });
  let failure: Error | null = null;
  child.on('message', (message) => listener.onMessage(message as FromMediaThread));
  child.on('error', (error) => {
    failure = error;
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      resolve();
      listener.onEnded(failure ?? new Error(`the web media process ended with ${signal ?? `code ${code}`}`));
    });
  });
  return {
    post: (message) => send(child, message),
    kill: () => {
      // An orderly exit would run the library's faulty cleanup.
      child.kill('SIGKILL');
      return ended;
    },
  };
}

/** A message to a dying process is lost with it; its end is reported separately. */
function send(child: ChildProcess, message: ToMediaThread): void {
  if (child.connected) child.send(message, () => undefined);
}
