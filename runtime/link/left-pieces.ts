/**
 * Sends the pieces that dead workers of this machine have left on its disk. Most control planes still hold
 * them; those that were killed, too, do not. Nothing is deleted before a control plane has stored it.
 */
import { rm } from 'node:fs/promises';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { joinPieces } from '#protocol/join-pieces.ts';
import type { Upload } from '#protocol/uploads.ts';
import { moveKeptFiles, readKeptFiles } from './kept-files.ts';
import type { UploadOutcome, UploadSender } from './upload-sender.ts';

/** The calls of the dead worker come first. */
const SEND_AFTER_MS = 5_000;
const RETRY_MS = 10 * 60_000;

/** Dependencies of left pieces. */
export interface LeftPiecesDeps {
  /** Of this worker's spool: what it does not send, the next one finds there. */
  readonly directory: string;
  readonly sender: Pick<UploadSender, 'send'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The pieces that dead workers have left to one worker. */
export class LeftPieces {
  readonly #deps: LeftPiecesDeps;

  constructor(deps: LeftPiecesDeps) {
    this.#deps = deps;
  }

  /** Takes what is in the spools of dead workers; resolves once it is in this worker's, and never rejects. */
  async adopt(directories: readonly string[]): Promise<void> {
    const { directory, logger } = this.#deps;
    for (const left of directories)
      try {
        this.#sendAfter(SEND_AFTER_MS, await moveKeptFiles(left, directory));
      } catch (error) {
        logger.warn({ err: error, left }, 'recordings of a dead worker stay in its spool');
      }
  }

  #sendAfter(waitMs: number, files: readonly string[]): void {
    if (files.length === 0) return;
    this.#deps.clock.after(waitMs, () => {
      this.#send(files).catch((error: unknown) => {
        this.#deps.logger.error({ err: error, files }, 'recordings of a dead worker are not sent');
      });
    });
  }

  async #send(files: readonly string[]): Promise<void> {
    const { sender, logger } = this.#deps;
    const pieces = await readKeptFiles(files);
    const ofCalls = Map.groupBy(pieces, ({ head }) => `${head.session_id}/${head.epoch}`);
    const objects = [...ofCalls.values()].flatMap(joinPieces);
    const outcomes = await Promise.all(
      objects.map((object: Upload) => new Promise<UploadOutcome>((resolve) => sender.send(object, resolve))),
    );
    if (outcomes.includes('given_up')) {
      this.#sendAfter(RETRY_MS, files);
      return;
    }
    for (const file of files) await rm(file, { force: true });
    logger.info({ pieces: pieces.length, objects: objects.length }, 'recordings of a dead worker are stored');
  }
}
