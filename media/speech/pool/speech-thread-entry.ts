/**
 * A thread of the speech pool: opens the engines once, then runs its jobs concurrently. `speech-pool.ts` is
 * the other side.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { collectStartGarbage } from '#base/garbage.ts';
import { createLogger } from '#base/log.ts';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import type { Settings } from '#config/env.ts';
import { openSpeechEngines } from '../engines.ts';
import { SpeechError } from '../speech.ts';
import { createAudioEncoder } from './audio-encoder.ts';
import { createDecoders } from './decoders.ts';
import { FairScheduler } from './fair-scheduler.ts';
import { speak } from './speak.ts';
import {
  type FromThread,
  PIECES_IN_FLIGHT,
  type Segment,
  SpeechJobError,
  type ToThread,
} from './speech-jobs.ts';
import { transcribe } from './transcribe.ts';

/** Options of a thread. */
export interface SpeechThreadData {
  readonly settings: Settings;
  readonly searchPath: string;
}

/** A running job. */
class Job {
  readonly stop = new AbortController();
  /** Other accounts may come and go while a long text is spoken. */
  mustShare = false;
  #segments: (Segment | null)[] = [];
  #credit = PIECES_IN_FLIGHT;
  #wake: () => void = () => {};

  add(segment: Segment | null): void {
    this.#segments.push(segment);
    this.#wake();
  }

  taken(mustShare: boolean): void {
    this.mustShare = mustShare;
    this.#credit++;
    this.#wake();
  }

  cancel(): void {
    this.stop.abort(new Error('cancelled'));
    this.#wake();
  }

  async *segments(): AsyncGenerator<Segment> {
    for (;;) {
      while (this.#segments.length === 0) await this.#woken();
      const segment = this.#segments.shift();
      if (!segment) return;
      yield segment;
    }
  }

  /** Waits until one more piece may be sent. */
  async maySend(): Promise<void> {
    while (this.#credit === 0) await this.#woken();
    this.#credit--;
  }

  async #woken(): Promise<void> {
    this.stop.signal.throwIfAborted();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.stop.signal.throwIfAborted();
  }
}

const { settings, searchPath } = workerData as SpeechThreadData;
// Before it starts threads, which inherit it.
treatThisThreadAsOthers();
const jobs = new Map<number, Job>();
const scheduler = new FairScheduler({
  clock: systemClock,
  nextRound: () => nextRound(),
  workedMs: () => performance.eventLoopUtilization().active,
});
const opening = openEngines();
const decode = createDecoders({ clock: systemClock });

async function openEngines() {
  const logger = createLogger({ level: settings.LOG_LEVEL, format: settings.LOG_FORMAT, name: 'speech' });
  const engines = await openSpeechEngines({ settings, searchPath, clock: systemClock, logger });
  // The first use of the encoder compiles it.
  const mp3 = await createAudioEncoder({ format: 'mp3', sampleRateHz: 44_100, bitRate: 128_000 });
  mp3.encode(new Int16Array(4_096));
  return engines;
}

async function run(message: Extract<ToThread, { type: 'speak' | 'transcribe' }>): Promise<void> {
  const { id } = message;
  const job = new Job();
  jobs.set(id, job);
  try {
    const engines = await opening;
    if (message.type === 'transcribe') {
      const transcript = await transcribe(message.audio, message.options, {
        recognizer: engines.recognizerFor('', message.options.language),
        decode,
        clock: systemClock,
        signal: job.stop.signal,
      });
      send({ type: 'transcript', id, transcript });
      return;
    }
    const { account, options } = message;
    job.mustShare = message.mustShare;
    for await (const piece of speak(engines.synthesizerFor, job.segments(), {
      options,
      owner: () => ({ account, mustShare: job.mustShare }),
      scheduler,
      signal: job.stop.signal,
    })) {
      await job.maySend();
      send({ type: 'piece', id, piece }, whole(piece.bytes));
    }
    send({ type: 'spoken', id });
  } catch (error) {
    if (!job.stop.signal.aborted) send({ type: 'failed', id, ...explain(error) });
  } finally {
    jobs.delete(id);
  }
}

function explain(error: unknown): Pick<Extract<FromThread, { type: 'failed' }>, 'failure' | 'message'> {
  if (error instanceof SpeechJobError) return { failure: error.failure, message: error.message };
  if (error instanceof SpeechError) return { failure: error.category, message: error.message };
  return {
    failure: 'unavailable',
    message: `The speech engine failed: ${error instanceof Error ? error.message : String(error)}`,
  };
}

function send(message: FromThread, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

/** A buffer with no other content is transferred, not copied. */
function whole({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength ? [buffer] : [];
}

parentPort?.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'speak':
    case 'transcribe':
      void run(message);
      break;
    case 'segment':
      jobs.get(message.id)?.add(message.segment);
      break;
    case 'taken':
      jobs.get(message.id)?.taken(message.mustShare);
      break;
    case 'cancel':
      jobs.get(message.id)?.cancel();
      break;
    case 'ping':
      send({ type: 'alive' });
      break;
    case 'close':
      for (const job of jobs.values()) job.cancel();
      void opening.then((engines) => engines.close()).finally(() => send({ type: 'closed' }));
      break;
  }
});
const isOpen = () => {
  // A job would wait for it.
  if (jobs.size === 0) collectStartGarbage();
  send({ type: 'alive' });
};
// Each job gets the error of a failed start.
opening.then(isOpen, isOpen);
