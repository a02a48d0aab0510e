/**
 * Uploads of a call's recording segments and flight log to the control plane: in the background, a few at a time, tried again while the control plane is away.
 * A lost worker loses what was not uploaded yet, at most the last segment of each track (design.md §2).
 */
import pRetry from 'p-retry';
import { request } from 'undici';
import type { Logger } from '#config/log.ts';

const AT_ONCE = 4;
/** Tried for about ten minutes: 0.2 s doubling up to 15 s. */
const RETRIES = 45;
/** Beyond this much waiting the oldest is given up, so that a lost control plane cannot fill the memory. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** What is uploaded where, relative to the control plane's address. */
export interface Upload {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Background uploads of one worker. */
export interface Uploads {
  put(upload: Upload): void;
  /** Resolves when nothing waits any more. */
  flushed(): Promise<void>;
}

/** Uploads to `url`, authenticated by the worker's token. */
export function createUploads(options: { readonly url: string; readonly token: string; readonly logger: Logger }): Uploads {
  const queue: Upload[] = [];
  const idleWaiters: (() => void)[] = [];
  let waitingBytes = 0;
  let running = 0;

  async function send({ path, bytes }: Upload): Promise<void> {
    const response = await request(`${options.url}${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${options.token}`, 'content-type': 'application/octet-stream' },
      body: bytes,
      headersTimeout: 10_000,
      bodyTimeout: 10_000,
    });
    await response.body.dump();
    if (response.statusCode >= 500) throw new Error(`upload answered ${response.statusCode}`);
    // The session is gone or the epoch over: nobody wants it any more.
    if (response.statusCode >= 300) options.logger.warn({ path, status: response.statusCode }, 'upload refused');
  }

  function pump(): void {
    while (running < AT_ONCE) {
      const upload = queue.shift();
      if (!upload) break;
      running += 1;
      pRetry(() => send(upload), { retries: RETRIES, minTimeout: 200, maxTimeout: 15_000, factor: 2 })
        .catch((error: unknown) => options.logger.error({ err: error, path: upload.path }, 'upload given up'))
        .finally(() => {
          running -= 1;
          waitingBytes -= upload.bytes.byteLength;
          pump();
        });
    }
    if (running === 0 && queue.length === 0) for (const resolve of idleWaiters.splice(0)) resolve();
  }

  return {
    put(upload) {
      waitingBytes += upload.bytes.byteLength;
      queue.push(upload);
      while (waitingBytes > MAX_WAITING_BYTES && queue.length > 1) {
        const dropped = queue.shift();
        if (!dropped) break;
        waitingBytes -= dropped.bytes.byteLength;
        options.logger.error({ path: dropped.path }, 'upload dropped: too much is waiting');
      }
      pump();
    },
    flushed: () => (running === 0 && queue.length === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve))),
  };
}
