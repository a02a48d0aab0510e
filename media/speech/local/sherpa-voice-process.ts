/**
 * The process of a downloaded voice: synthesises one sentence after the other. `sherpa-voice.ts` is the other
 * side.
 */
import process from 'node:process';
import sherpa from 'sherpa-onnx-node';
import type { VoiceFiles } from '../models/installed-models.ts';
import type { VoiceAnswer, VoiceJob } from './sherpa-voice.ts';

const { tokens, model, lexicon } = JSON.parse(process.argv[2] ?? '{}') as VoiceFiles;
const voice = new sherpa.OfflineTts({
  model: { vits: { model, tokens, lexicon: lexicon ?? '' }, numThreads: 1, provider: 'cpu', debug: 0 },
  maxNumSentences: 1,
});

process.on('disconnect', () => process.exit(0));
process.on('message', ({ text, speed }: VoiceJob) => {
  process.send?.(speak(text, speed));
});

function speak(text: string, speed: number): VoiceAnswer {
  try {
    // A buffer of the library's own cannot be sent to another process.
    const { samples, sampleRate } = voice.generate({ text, sid: 0, speed, enableExternalBuffer: false });
    return { samples: toInt16(samples), sampleRateHz: sampleRate, error: null };
  } catch (error) {
    return { samples: null, sampleRateHz: 0, error: error instanceof Error ? error.message : String(error) };
  }
}

function toInt16(samples: Float32Array): Int16Array {
  return Int16Array.from(samples, (sample) => Math.round(Math.max(-1, Math.min(1, sample)) * 32_767));
}
