/**
 * Uploads the recording segments and flight logs of all of a worker's calls: in the background, a few
 * requests at a time, retried while the control plane is away. A lost worker loses what it had not uploaded:
 * each track's current segment (4.8 s) and the batch being gathered.
 */
import pRetry from 'p-retry';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import { request } from '#base/undici.ts';
import { packUploads, type Upload, uploadAnswer } from '#protocol/uploads.ts';

const AT_ONCE = 4;
/**
 * A request costs the control plane more than its content, so everything arriving within this time shares
 * one.
 */
const GATHER_MS = 200;
/** A request of this size is sent at once. */
const FULL_BYTES = 1024 * 1024;
/** About ten minutes of retries: 0.2 s doubling up to 15 s. */
const RETRIES = 45;
/**
 * Above this the oldest uploads are dropped, so that a lost control plane cannot fill the memory. Forty
 * seconds of two hundred calls.
 */
const MAX_WAITING_BYTES = 256 * 1024 * 1024;

/** Background uploads of one worker. */
export interface Uploads {
  put(upload: Upload): void;
  /** Drops what waits of a session, also between two attempts. */
  drop(sessionId: string, epoch: number): void;
  /** What has not been stored yet; the items are the same objects until they are. */
  waiting(): { readonly items: readonly object[]; readonly bytes: number };
  /** Resolves when nothing is waiting. */
  flushed(): Promise<void>;
}

/** Options of uploads. */
export interface UploadsOptions {
  /** The control plane's address. */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each upload that is given up. */
  readonly onDropped?: () => void;
}

/** Creates the uploads of one worker. */
export function createUploads(options: UploadsOptions): Uploads {
  const { clock, logger, onDropped = () => undefined } = options;
  const queue: Upload[] = [];
  const sending = new Set<Upload>();
  const dropped = new WeakSet<Upload>();
  const idleWaiters: (() => void)[] = [];
  let queuedBytes = 0;
  let sendingBytes = 0;
  let running = 0;
  let gathering: Timer | null = null;

  async function send(all: readonly Upload[], packed: Buffer): Promise<void> {
    const uploads = all.filter((upload) => !dropped.has(upload));
    if (uploads.length === 0) return;
    await post(options, uploads, uploads.length === all.length ? packed : packUploads(uploads));
  }

  function pump(): void {
    gathering?.cancel();
    gathering = null;
    while (running < AT_ONCE && queue.length > 0) {
      const uploads = takeTogether(queue);
      const bytes = bytesOf(uploads);
      queuedBytes -= bytes;
      sendingBytes += bytes;
      running += 1;
      for (const upload of uploads) sending.add(upload);
      const body = packUploads(uploads);
      pRetry(() => send(uploads, body), { retries: RETRIES, minTimeout: 200, maxTimeout: 15_000, factor: 2 })
        .catch((error: unknown) => {
          for (const _ of uploads) onDropped();
          logger.error(
            { err: error, uploads: uploads.map(({ head }) => head) },
            'uploads dropped after repeated failures',
          );
        })
        .finally(() => {
          running -= 1;
          for (const upload of uploads) sending.delete(upload);
          sendingBytes -= bytes;
          if (queue.length > 0 && !gathering) pump();
          settleIfIdle();
        });
    }
  }

  function settleIfIdle(): void {
    if (running === 0 && queue.length === 0) for (const resolve of idleWaiters.splice(0)) resolve();
  }

  return {
    put(upload) {
      queuedBytes += upload.bytes.byteLength;
      queue.push(upload);
      while (queuedBytes + sendingBytes > MAX_WAITING_BYTES && queue.length > 1) {
        const dropped = queue.shift();
        if (!dropped) break;
        queuedBytes -= dropped.bytes.byteLength;
        onDropped();
        logger.error({ upload: dropped.head }, 'upload dropped: too much is queued');
      }
      if (queuedBytes >= FULL_BYTES) pump();
      else gathering ??= clock.after(GATHER_MS, pump);
    },
    drop(sessionId, epoch) {
      for (const upload of [...queue, ...sending])
        if (upload.head.session_id === sessionId && upload.head.epoch === epoch) dropped.add(upload);
    },
    waiting: () => ({ items: [...queue, ...sending], bytes: queuedBytes + sendingBytes }),
    flushed() {
      pump();
      return running === 0 && queue.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => idleWaiters.push(resolve));
    },
  };
}

/** Sends one request; rejects if it is to be repeated. */
async function post(
  { url, token, logger }: UploadsOptions,
  uploads: readonly Upload[],
  body: Buffer,
): Promise<void> {
  const response = await request(`${url}/internal/uploads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body,
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  });
  const answer = await response.body.text();
  if (response.statusCode >= 500) throw new Error(`uploads were answered ${response.statusCode}`);
  const { refused } = parseJson(uploadAnswer, answer) ?? { refused: uploads.keys() };
  // The session is gone or its epoch is over: drop the upload.
  for (const index of refused)
    logger.warn({ upload: uploads[index]?.head, status: response.statusCode }, 'upload refused');
}

/** Removes and returns the uploads that fit into one request, at least the first. */
function takeTogether(queue: Upload[]): Upload[] {
  let bytes = 0;
  const first = queue.findIndex((upload) => {
    bytes += upload.bytes.byteLength;
    return bytes > FULL_BYTES;
  });
  return queue.splice(0, first < 0 ? queue.length : Math.max(1, first));
}

function bytesOf(uploads: readonly Upload[]): number {
  return uploads.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}
