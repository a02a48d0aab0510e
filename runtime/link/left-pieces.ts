/**
 * Sends pieces of which no object could be stored: those that dead workers of this machine have left on its
 * disk, and those that this worker has given up. Most control planes still hold what dead workers left; those
 * that were killed, too, do not. Nothing is deleted before a control plane has stored it. One file is sent
 * after the other; one that cannot be read or sent is tried again after the others.
 */
import { appendFile, rm, truncate } from 'node:fs/promises';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { joinPieces } from '#protocol/join-pieces.ts';
import type { PieceHead, Upload } from '#protocol/uploads.ts';
import { moveKeptFiles, readKeptFile, releaseOf } from './kept-files.ts';
import type { UploadOutcome, UploadSender } from './upload-sender.ts';

/** The calls of the dead worker come first. */
const SEND_AFTER_MS = 5_000;
const RETRY_MS = 10 * 60_000;

/** Dependencies of left pieces. */
export interface LeftPiecesDeps {
  /** Of this worker's kept pieces: the next worker finds there those that it has not sent. */
  readonly directory: string;
  /** Of left pieces only: objects of calls must not wait for them. */
  readonly sender: Pick<UploadSender, 'send'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The files of pieces that one worker has to send. */
export class LeftPieces {
  readonly #deps: LeftPiecesDeps;
  /** Sizes of the files that are still there, by path. */
  readonly #sizes = new Map<string, number>();
  #sending: Promise<void> = Promise.resolve();

  constructor(deps: LeftPiecesDeps) {
    this.#deps = deps;
  }

  /** On the disk. */
  get bytes(): number {
    return [...this.#sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Takes the files of dead workers; resolves once they are in this worker's directory, never rejects. */
  async adopt(directories: readonly string[]): Promise<void> {
    const { directory, logger } = this.#deps;
    for (const left of directories)
      try {
        for await (const { path, bytes } of moveKeptFiles(left, directory))
          this.#sendAfter(SEND_AFTER_MS, path, bytes);
      } catch (error) {
        logger.warn({ err: error, left }, 'recordings of a dead worker stay where they are');
      }
  }

  /** Takes a file to which this worker writes no more: objects of its pieces were given up. */
  retry(path: string, bytes: number): void {
    this.#deps.logger.warn({ path, bytes }, 'recordings could not be stored; they are sent again later');
    this.#sendAfter(RETRY_MS, path, bytes);
  }

  #sendAfter(waitMs: number, path: string, bytes: number): void {
    this.#sizes.set(path, bytes);
    this.#deps.clock.after(waitMs, () => {
      this.#sending = this.#sending.then(async () => {
        if (await this.#send(path)) this.#sizes.delete(path);
        else this.#sendAfter(RETRY_MS, path, bytes);
      });
    });
  }

  /** Resolves to true once the file is gone; never rejects. */
  async #send(path: string): Promise<boolean> {
    const { logger } = this.#deps;
    try {
      const { uploads, wholeBytes } = await readKeptFile(path);
      const objects = await this.#sendAll(uploads);
      const stored = objects.filter(({ outcome }) => outcome !== 'given_up');
      if (stored.length === objects.length) {
        await rm(path, { force: true });
        logger.info({ objects: objects.length }, 'recordings from the disk are stored');
        return true;
      }
      logger.warn({ path, objects: objects.length, stored: stored.length }, 'recordings stay on the disk');
      // The others are not sent again. Nothing is read behind a record that was cut short.
      await truncate(path, wholeBytes);
      await appendFile(path, Buffer.concat(stored.map(({ head }) => releaseOf(head))));
      return false;
    } catch (error) {
      // Another worker has taken it, or an operator.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
      logger.error({ err: error, path }, 'recordings on the disk are not sent');
      return false;
    }
  }

  async #sendAll(pieces: readonly Upload[]): Promise<{ head: PieceHead; outcome: UploadOutcome }[]> {
    const { sender } = this.#deps;
    const sending: Promise<{ head: PieceHead; outcome: UploadOutcome }>[] = [];
    for (const ofCall of Map.groupBy(pieces, ({ head }) => `${head.session_id}/${head.epoch}`).values()) {
      for (const object of joinPieces(ofCall)) {
        const { promise, resolve } = Promise.withResolvers<UploadOutcome>();
        sending.push(promise.then((outcome) => ({ head: object.head, outcome })));
        sender.send(object, resolve);
      }
      // Calls are on this thread.
      await nextRound();
    }
    return Promise.all(sending);
  }
}
