/** The downloads of one process: what state each model is in, one download at a time, the others in turn. */

import { join } from 'node:path';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { messageOf } from '#base/message-of.ts';
import type { Settings } from '#config/env.ts';
import { bytesAside, installModel, RETRY_AFTER_MS } from './install-model.ts';
import { isComplete, modelsDirectory, readSpeed } from './installed-models.ts';
import { ModelError } from './model-error.ts';
import { bytesOf, readModelTable, type SpeechModel } from './model-table.ts';

/** `absent`: not here, though part of it may be; `checking`: being verified, loaded and measured. */
export type ModelState = 'absent' | 'downloading' | 'checking' | 'ready';

/** A model and its state on this machine. */
export interface ModelStatus {
  readonly model: SpeechModel;
  readonly state: ModelState;
  /** Bytes that are here. */
  readonly presentBytes: number;
  /** Processing time per time of audio, as measured here; null until then. */
  readonly realTimeFactor: number | null;
  /** Why the last attempt failed, as a sentence that says what to do; null if it did not. */
  readonly error: string | null;
  /** Where its files are, or belong. */
  readonly directory: string;
}

/** Options of the downloads. */
export interface ModelDownloadsOptions {
  readonly settings: Pick<Settings, 'DATA_DIR' | 'MODELS_URL' | 'MODELS_TABLE'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a model has become usable. */
  readonly onReady: (id: string) => void;
  /** Pause before the first retry, ms; by default a second. */
  readonly retryAfterMs?: number;
}

interface Download {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  /** Null until its turn has come. */
  presentBytes: number | null;
  hasBegun: boolean;
  isChecking: boolean;
}

interface Failure {
  readonly message: string;
  /** The files were in their place, as when the model is too slow. */
  readonly wasHere: boolean;
}

/** Starts, stops and reports downloads. */
export class ModelDownloads {
  readonly table: readonly SpeechModel[];
  readonly #options: ModelDownloadsOptions;
  readonly #running = new Map<string, Download>();
  readonly #failures = new Map<string, Failure>();
  /** The end of the last download in the queue: together they might need more space than there is. */
  #last = Promise.resolve();

  /** Throws one line if `MODELS_TABLE` is unusable. */
  constructor(options: ModelDownloadsOptions) {
    this.#options = options;
    this.table = readModelTable(options.settings.MODELS_TABLE);
  }

  /** The model of this id. */
  find(id: string): SpeechModel | undefined {
    return this.table.find((model) => model.id === id);
  }

  /** True if its files are in their place. */
  has(model: SpeechModel): boolean {
    return isComplete(this.#options.settings.DATA_DIR, model);
  }

  /** Ids of the models that can be used. */
  ready(): string[] {
    return this.table.filter((model) => this.has(model)).map(({ id }) => id);
  }

  /** State of a model on this machine. */
  async status(model: SpeechModel): Promise<ModelStatus> {
    const { DATA_DIR: dataDir } = this.#options.settings;
    const running = this.#running.get(model.id);
    const isHere = this.has(model);
    const failure = this.#failures.get(model.id);
    const state = running ? (running.isChecking ? 'checking' : 'downloading') : isHere ? 'ready' : 'absent';
    return {
      model,
      state,
      presentBytes: isHere ? bytesOf(model) : (running?.presentBytes ?? (await bytesAside(dataDir, model))),
      realTimeFactor: readSpeed(dataDir, model.id),
      // A failed download is history once the files have been put in their place by other means.
      error: failure?.wasHere === isHere ? failure.message : null,
      directory: join(modelsDirectory(dataDir), model.id),
    };
  }

  /** Starts a download, or joins the one that runs. Resolves when it is over, however it ends. */
  start(model: SpeechModel): Promise<void> {
    const running = this.#running.get(model.id);
    if (running) return running.done;
    const abort = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const download: Download = { abort, done, presentBytes: null, hasBegun: false, isChecking: false };
    this.#running.set(model.id, download);
    this.#failures.delete(model.id);
    const end = () => {
      if (this.#running.get(model.id) === download) this.#running.delete(model.id);
      resolve();
    };
    // One that waits for its turn is stopped at once.
    abort.signal.addEventListener('abort', () => {
      if (!download.hasBegun) end();
    });
    this.#last = this.#last.then(async () => {
      if (abort.signal.aborted) return;
      download.hasBegun = true;
      await this.#run(model, download).finally(end);
    });
    return done;
  }

  /** Stops a download; what arrived stays, and the next start resumes it. Resolves once it has stopped. */
  async stop(id: string): Promise<void> {
    const running = this.#running.get(id);
    running?.abort.abort(new Error('stopped'));
    await running?.done;
  }

  /** Stops all downloads. */
  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.stop(id)));
  }

  async #run(model: SpeechModel, download: Download): Promise<void> {
    const { settings, clock, logger, onReady, retryAfterMs = RETRY_AFTER_MS } = this.#options;
    const { signal } = download.abort;
    const { id } = model;
    try {
      download.presentBytes = await bytesAside(settings.DATA_DIR, model);
      await installModel(model, {
        dataDir: settings.DATA_DIR,
        baseUrl: settings.MODELS_URL,
        clock,
        signal,
        onBytes: (present) => {
          download.presentBytes = present;
        },
        onChecking: () => {
          download.isChecking = true;
        },
        retryAfterMs,
      });
    } catch (error) {
      if (signal.aborted) return;
      const message = messageOf(error);
      if (error instanceof ModelError) logger.warn({ model: id, failure: error.failure }, message);
      else logger.error({ model: id, err: error }, 'speech model could not be installed');
      this.#failures.set(id, { message, wasHere: this.has(model) });
      return;
    }
    logger.info({ model: id }, 'speech model is ready');
    try {
      onReady(id);
    } catch (error) {
      // The model is in its place all the same, and the next call loads it.
      logger.error({ model: id, err: error }, 'speech model could not be announced');
    }
  }
}
