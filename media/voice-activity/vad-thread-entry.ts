/**
 * The speech detector's thread, started by the media thread: takes the waiting windows, one per stream, as
 * one batch and returns their probabilities. A batch never waits to grow.
 */
import { parentPort } from 'node:worker_threads';
import { collectStartGarbage } from '#base/garbage.ts';
import { favourThisThread } from '#base/thread-priority.ts';
import { emptyMemory, loadSilero, type SpeechModel, type VoiceMemory, type VoiceRateHz } from './silero.ts';
import { type FromDetector, HEAD_NUMBERS, type ToDetector } from './vad-messages.ts';

/**
 * A stream further behind than this (half a second) continues with its newest windows: the level has decided
 * the others.
 */
const MAX_WAITING_WINDOWS = 16;
const MAX_BATCH = 64;
const RATES: readonly VoiceRateHz[] = [8000, 16000];

interface Stream {
  readonly memory: VoiceMemory;
  readonly waiting: { readonly window: number; readonly samples: Int16Array }[];
}

favourThisThread();

if (!parentPort) throw new Error('vad-thread-entry.ts runs as a worker thread');
const port = parentPort;
const streams = new Map<number, Stream>();
let model: SpeechModel | null = null;
let isRunning = false;
let isStopping = false;

port.on('message', (message: ToDetector) => {
  switch (message.type) {
    case 'open':
      streams.set(message.stream, { memory: emptyMemory(message.rateHz), waiting: [] });
      return;
    case 'close':
      streams.delete(message.stream);
      return;
    case 'windows':
      queueWindows(message);
      void judgeWaiting();
      return;
    case 'stop':
      isStopping = true;
      endIfIdle();
      return;
    default:
      message satisfies never;
  }
});

model = await loadSilero();
// A stream would wait for it.
if (streams.size === 0) collectStartGarbage();
port.postMessage({ type: 'ready' } satisfies FromDetector);
await judgeWaiting();
endIfIdle();

function queueWindows({ heads, samples }: Extract<ToDetector, { type: 'windows' }>): void {
  let offset = 0;
  for (let at = 0; at < heads.length; at += HEAD_NUMBERS) {
    const [stream, window, length] = [heads[at] as number, heads[at + 1] as number, heads[at + 2] as number];
    const waiting = streams.get(stream)?.waiting;
    waiting?.push({ window, samples: samples.subarray(offset, offset + length) });
    if (waiting && waiting.length > MAX_WAITING_WINDOWS) waiting.shift();
    offset += length;
  }
}

async function judgeWaiting(): Promise<void> {
  if (isRunning || !model) return;
  isRunning = true;
  for (let judged = 1; judged > 0 && !isStopping; ) {
    judged = 0;
    for (const rateHz of RATES) judged += await judgeBatch(model, rateHz);
  }
  isRunning = false;
  endIfIdle();
}

/** The native runtime must not be running when its thread ends: that would abort the process. */
function endIfIdle(): void {
  if (isStopping && model && !isRunning) port.close();
}

async function judgeBatch(speechModel: SpeechModel, rateHz: VoiceRateHz): Promise<number> {
  const windows = [];
  const heads: number[] = [];
  for (const [stream, { memory, waiting }] of streams) {
    if (memory.rateHz !== rateHz || windows.length >= MAX_BATCH) continue;
    const next = waiting.shift();
    if (!next) continue;
    windows.push({ memory, samples: next.samples });
    heads.push(stream, next.window, next.samples.length);
  }
  if (windows.length === 0) return 0;
  const answer = {
    type: 'scores',
    heads: Int32Array.from(heads),
    probabilities: Float32Array.from(await speechModel.run(windows)),
  } as const;
  port.postMessage(answer satisfies FromDetector, [answer.heads.buffer, answer.probabilities.buffer]);
  return windows.length;
}
