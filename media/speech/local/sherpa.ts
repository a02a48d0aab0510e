/**
 * Local streaming recognition with a model and sherpa-onnx. A separate process loads the model, with the
 * first stream or when announced: a damaged model file crashes that process and no calls. When the process
 * ends, its streams fail; the next stream starts a new process.
 */
import type { ChildProcess } from 'node:child_process';
import type { Clock } from '#base/clock.ts';
import type { RecogniserFiles } from '../models/installed-models.ts';
import { PendingFinalises } from '../pending-finalises.ts';
import {
  type RecognitionEvent,
  type RecognitionOptions,
  type RecognitionStream,
  type Recognizer,
  SpeechError,
} from '../speech.ts';
import { startModelProcess } from './model-process.ts';
import { describeExit } from './process-exit.ts';

/** A message to the process. */
export type SherpaRequest =
  | { readonly type: 'open'; readonly id: number; readonly sampleRateHz: number }
  | { readonly type: 'audio'; readonly id: number; readonly samples: Int16Array }
  | { readonly type: 'finalise' | 'close'; readonly id: number };

/** A message from the process. */
export interface SherpaReport {
  readonly id: number;
  readonly event: RecognitionEvent;
}

/** A recogniser that owns a process. */
export interface SherpaRecognizer extends Recognizer {
  /** Starts the process before the first stream. */
  prepare(): void;
  close(): Promise<void>;
}

/** Longest wait for the answer to a finalise; loading the model takes seconds of it. */
const FINALISE_TIMEOUT_MS = 8_000;

/** Creates the recogniser of this model; starts no process yet. */
export function createSherpa(files: RecogniserFiles, clock: Clock): SherpaRecognizer {
  const streams = new Map<number, SherpaStream>();
  let running: ChildProcess | null = null;
  let nextId = 0;

  function start(): ChildProcess {
    const child = startModelProcess(new URL('./sherpa-process.ts', import.meta.url), files);
    child.on('message', (message) => {
      const { id, event } = message as SherpaReport;
      streams.get(id)?.receive(event);
    });
    const onProcessExit = (cause: unknown) => {
      if (running === child) running = null;
      for (const stream of [...streams.values()])
        stream.fail(new SpeechError('unavailable', 'The recognition model stopped', { cause }));
    };
    child.on('error', onProcessExit);
    child.on('exit', (code, signal) => onProcessExit(new Error(describeExit(code, signal))));
    return child;
  }

  return {
    id: 'local:sherpa',
    givesInterims: true,
    expectedFinalMs: 200,
    prepare() {
      running ??= start();
    },
    open(options) {
      running ??= start();
      const child = running;
      const id = nextId++;
      const post = (request: SherpaRequest) => {
        if (child.connected) child.send(request, () => {});
      };
      const stream = new SherpaStream({ id, options, clock, post, onClosed: () => streams.delete(id) });
      streams.set(id, stream);
      return stream;
    },
    async close() {
      for (const stream of [...streams.values()]) stream.close();
      running?.kill('SIGKILL');
    },
  };
}

interface SherpaStreamOptions {
  readonly id: number;
  readonly options: RecognitionOptions;
  readonly clock: Clock;
  readonly post: (request: SherpaRequest) => void;
  readonly onClosed: () => void;
}

class SherpaStream implements RecognitionStream {
  readonly #context: SherpaStreamOptions;
  #isOver = false;
  readonly #pendingFinalises: PendingFinalises;

  constructor(context: SherpaStreamOptions) {
    this.#context = context;
    this.#pendingFinalises = new PendingFinalises({
      clock: context.clock,
      timeoutMs: () => FINALISE_TIMEOUT_MS,
      onTimeout: () => this.fail(new SpeechError('stalled', 'The recognition model did not answer')),
      onFinalised: () => context.options.onEvent({ type: 'finalised' }),
      isOver: () => this.#isOver,
    });
    context.post({ type: 'open', id: context.id, sampleRateHz: context.options.sampleRateHz });
  }

  write(samples: Int16Array): void {
    if (!this.#isOver) this.#context.post({ type: 'audio', id: this.#context.id, samples: samples.slice() });
  }

  finalise(): void {
    if (this.#isOver) return;
    this.#pendingFinalises.add();
    this.#context.post({ type: 'finalise', id: this.#context.id });
  }

  close(): void {
    if (this.#isOver) return;
    this.#stop();
    this.#context.post({ type: 'close', id: this.#context.id });
  }

  receive(event: RecognitionEvent): void {
    if (this.#isOver) return;
    if (event.type === 'finalised') this.#pendingFinalises.answered();
    else this.#context.options.onEvent(event);
  }

  fail(error: SpeechError): void {
    if (this.#isOver) return;
    this.#stop();
    this.#context.options.onEvent({ type: 'failed', error });
  }

  #stop(): void {
    this.#isOver = true;
    this.#pendingFinalises.cancel();
    this.#context.onClosed();
  }
}
