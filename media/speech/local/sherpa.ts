/**
 * Local streaming recognition with sherpa-onnx, if a model exists below `DATA_DIR/models`. The model is
 * loaded when the first call opens a stream, in a separate process: a damaged model file aborts its process,
 * which must not be that of the calls. If the process dies its streams fail, and the next stream starts
 * another.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock, Timer } from '#base/clock.ts';
import {
  type RecognitionEvent,
  type RecognitionOptions,
  type RecognitionStream,
  type Recognizer,
  SpeechError,
} from '../speech.ts';
import type { SherpaModel } from './sherpa-model.ts';

/** Messages to the process. */
export type SherpaRequest =
  | { readonly type: 'open'; readonly id: number; readonly sampleRateHz: number }
  | { readonly type: 'audio'; readonly id: number; readonly samples: Int16Array }
  | { readonly type: 'finalise' | 'close'; readonly id: number };

/** Messages from the process. */
export interface SherpaReport {
  readonly id: number;
  readonly event: RecognitionEvent;
}

/** A recogniser with a process of its own. */
export interface SherpaRecognizer extends Recognizer {
  close(): Promise<void>;
}

/** Loading a model takes seconds; a finalise that waits for it is not stalled. */
const FINALISE_MS = 8_000;

/** Prepares recognition with this model. */
export function createSherpa(model: SherpaModel, clock: Clock): SherpaRecognizer {
  const streams = new Map<number, SherpaStream>();
  let running: ChildProcess | null = null;
  let nextId = 0;

  function start(): ChildProcess {
    const program = fileURLToPath(new URL('./sherpa-process.ts', import.meta.url));
    // An empty environment: ours contains secrets.
    const child = fork(program, [JSON.stringify(model)], {
      serialization: 'advanced',
      execArgv: [],
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.unref();
    child.channel?.unref();
    child.on('message', (message) => {
      const { id, event } = message as SherpaReport;
      streams.get(id)?.receive(event);
    });
    const lost = (cause: unknown) => {
      if (running === child) running = null;
      for (const stream of [...streams.values()])
        stream.fail(new SpeechError('unavailable', 'The recognition model stopped', { cause }));
    };
    child.on('error', lost);
    child.on('exit', (code) => lost(new Error(`exit status ${code ?? 'killed'}`)));
    return child;
  }

  return {
    id: 'local:sherpa',
    givesInterims: true,
    expectedFinalMs: 200,
    open(options) {
      running ??= start();
      const child = running;
      const id = nextId++;
      const post = (request: SherpaRequest) => {
        if (child.connected) child.send(request, () => {});
      };
      const stream = new SherpaStream({ id, options, clock, post, onOver: () => streams.delete(id) });
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
  readonly onOver: () => void;
}

class SherpaStream implements RecognitionStream {
  readonly #context: SherpaStreamOptions;
  #isOver = false;
  #finalisesOpen = 0;
  #answer: Timer | null = null;

  constructor(context: SherpaStreamOptions) {
    this.#context = context;
    context.post({ type: 'open', id: context.id, sampleRateHz: context.options.sampleRateHz });
  }

  write(samples: Int16Array): void {
    if (!this.#isOver) this.#context.post({ type: 'audio', id: this.#context.id, samples: samples.slice() });
  }

  finalise(): void {
    if (this.#isOver) return;
    this.#finalisesOpen++;
    this.#answer ??= this.#awaitAnswer();
    this.#context.post({ type: 'finalise', id: this.#context.id });
  }

  close(): void {
    if (this.#isOver) return;
    this.#stop();
    this.#context.post({ type: 'close', id: this.#context.id });
  }

  receive(event: RecognitionEvent): void {
    if (this.#isOver) return;
    if (event.type === 'finalised') {
      this.#finalisesOpen--;
      this.#answer?.cancel();
      this.#answer = this.#finalisesOpen > 0 ? this.#awaitAnswer() : null;
    }
    this.#context.options.onEvent(event);
  }

  fail(error: SpeechError): void {
    if (this.#isOver) return;
    this.#stop();
    this.#context.options.onEvent({ type: 'failed', error });
  }

  #awaitAnswer(): Timer {
    return this.#context.clock.after(FINALISE_MS, () =>
      this.fail(new SpeechError('stalled', 'The recognition model did not answer')),
    );
  }

  #stop(): void {
    this.#isOver = true;
    this.#answer?.cancel();
    this.#context.onOver();
  }
}
