/**
 * Sends the uploads of all of a worker's calls: in the background, a few requests at a time, retried while
 * the control plane is away.
 */
import pRetry from 'p-retry';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import { request } from '#base/undici.ts';
import { MOST_ENTRIES, packUploads, UPLOAD_PATH, type Upload, uploadAnswer } from '#protocol/uploads.ts';

const AT_ONCE = 4;
/**
 * A request costs the control plane more than its content, so everything arriving within this time shares
 * one.
 */
const GATHER_MS = 150;
/** A request of this size is sent at once. */
const FULL_BYTES = 1024 * 1024;
/** About ten minutes of retries: 0.2 s doubling up to 15 s. */
const RETRIES = 45;
/**
 * Above this the oldest uploads are given up, so that a lost control plane cannot fill the memory. Some
 * minutes of two hundred calls.
 */
const MAX_WAITING_BYTES = 256 * 1024 * 1024;
/** Answers that do not know the route: a control plane one version older, which is about to be replaced. */
const UNKNOWN_ROUTE = [404, 405];

/** The outcome of an upload; `given_up` also if it was dropped. `refused`: it is not wanted any more. */
export type UploadOutcome = 'stored' | 'held' | 'refused' | 'given_up';

/** Sends uploads of one worker. */
export interface UploadSender {
  /** `onDone` is called once. */
  send(upload: Upload, onDone?: (outcome: UploadOutcome) => void): void;
  /** Drops the uploads of a session that wait, also between two attempts. */
  drop(sessionId: string, epoch: number): void;
  /** Uploads without an answer; the items are the same objects until there is one. */
  waiting(): { readonly items: readonly object[]; readonly bytes: number };
  /** Resolves when nothing is waiting. */
  flushed(): Promise<void>;
}

/** Options of a sender. */
export interface SenderOptions {
  /** The control plane's address. */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of a request, with growing pauses; by default they last about ten minutes. */
  readonly retries?: number;
}

/** Creates the sender of one worker. */
export function createUploadSender(options: SenderOptions): UploadSender {
  return new QueuedSender(options);
}

class QueuedSender implements UploadSender {
  readonly #options: SenderOptions;
  readonly #queue: Upload[] = [];
  readonly #sending = new Set<Upload>();
  readonly #onDone = new WeakMap<Upload, (outcome: UploadOutcome) => void>();
  readonly #dropped = new WeakSet<Upload>();
  readonly #idleWaiters: (() => void)[] = [];
  #queuedBytes = 0;
  #sendingBytes = 0;
  #running = 0;
  #gathering: Timer | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  send(upload: Upload, onDone?: (outcome: UploadOutcome) => void): void {
    if (onDone) this.#onDone.set(upload, onDone);
    this.#queuedBytes += upload.bytes.byteLength;
    this.#queue.push(upload);
    while (this.#queuedBytes + this.#sendingBytes > MAX_WAITING_BYTES && this.#queue.length > 1) {
      const oldest = this.#queue.shift();
      if (!oldest) break;
      this.#queuedBytes -= oldest.bytes.byteLength;
      this.#finish(oldest, 'given_up');
      this.#options.logger.error({ upload: oldest.head }, 'upload given up: too much is queued');
    }
    if (this.#queuedBytes >= FULL_BYTES) this.#pump();
    else this.#gathering ??= this.#options.clock.after(GATHER_MS, () => this.#pump());
  }

  drop(sessionId: string, epoch: number): void {
    for (const upload of [...this.#queue, ...this.#sending])
      if (upload.head.session_id === sessionId && upload.head.epoch === epoch) {
        this.#finish(upload, 'given_up');
        this.#dropped.add(upload);
      }
  }

  waiting(): { readonly items: readonly object[]; readonly bytes: number } {
    return { items: [...this.#queue, ...this.#sending], bytes: this.#queuedBytes + this.#sendingBytes };
  }

  flushed(): Promise<void> {
    this.#pump();
    return this.#isIdle ? Promise.resolve() : new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#running === 0 && this.#queue.length === 0;
  }

  #pump(): void {
    this.#gathering?.cancel();
    this.#gathering = null;
    while (this.#running < AT_ONCE && this.#queue.length > 0) void this.#run(takeTogether(this.#queue));
  }

  async #run(uploads: readonly Upload[]): Promise<void> {
    const bytes = bytesOf(uploads);
    this.#queuedBytes -= bytes;
    this.#sendingBytes += bytes;
    this.#running += 1;
    for (const upload of uploads) this.#sending.add(upload);
    const body = packUploads(uploads);
    try {
      await pRetry(() => this.#attempt(uploads, body), {
        retries: this.#options.retries ?? RETRIES,
        minTimeout: 200,
        maxTimeout: 15_000,
        factor: 2,
      });
    } catch (error) {
      for (const upload of uploads) this.#finish(upload, 'given_up');
      const heads = uploads.map(({ head }) => head);
      this.#options.logger.error({ err: error, uploads: heads }, 'uploads given up after repeated failures');
    }
    this.#running -= 1;
    for (const upload of uploads) this.#sending.delete(upload);
    this.#sendingBytes -= bytes;
    if (this.#queue.length > 0 && !this.#gathering) this.#pump();
    if (this.#isIdle) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  async #attempt(all: readonly Upload[], packed: Buffer): Promise<void> {
    const uploads = all.filter((upload) => !this.#dropped.has(upload));
    if (uploads.length === 0) return;
    const body = uploads.length === all.length ? packed : packUploads(uploads);
    const outcomes = await post(this.#options, uploads, body);
    for (const [index, upload] of uploads.entries()) this.#finish(upload, outcomes[index] ?? 'given_up');
  }

  #finish(upload: Upload, outcome: UploadOutcome): void {
    if (!this.#dropped.has(upload)) this.#onDone.get(upload)?.(outcome);
  }
}

/** Sends one request; rejects if it is to be repeated. */
async function post(
  { url, token, logger }: SenderOptions,
  uploads: readonly Upload[],
  body: Buffer,
): Promise<UploadOutcome[]> {
  const response = await request(`${url}${UPLOAD_PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body,
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
  });
  const answer = await response.body.text();
  if (response.statusCode >= 500 || UNKNOWN_ROUTE.includes(response.statusCode))
    throw new Error(`uploads were answered ${response.statusCode}`);
  const parsed = parseJson(uploadAnswer, answer);
  const { refused, is_stored: isStored } = parsed ?? { refused: [...uploads.keys()], is_stored: true };
  // The session is gone or its epoch is over: drop the upload.
  for (const index of refused)
    logger.warn({ upload: uploads[index]?.head, status: response.statusCode }, 'upload refused');
  return uploads.map(({ head }, index) => {
    if (refused.includes(index)) return parsed ? 'refused' : 'given_up';
    return isStored || !head.is_part ? 'stored' : 'held';
  });
}

/** Removes and returns the uploads that fit into one request, at least the first. */
function takeTogether(queue: Upload[]): Upload[] {
  let bytes = 0;
  const first = queue.findIndex((upload, index) => {
    bytes += upload.bytes.byteLength;
    return bytes > FULL_BYTES || index >= MOST_ENTRIES;
  });
  return queue.splice(0, first < 0 ? queue.length : Math.max(1, first));
}

function bytesOf(uploads: readonly Upload[]): number {
  return uploads.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}
