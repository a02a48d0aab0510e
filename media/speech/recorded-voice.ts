/**
 * A recorded file in the place of a voice: it says one text, and another voice says it if there is no file.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { RateConverter } from '../dsp/pcm.ts';
import { decodeWav, isWav } from './pool/decode-wav.ts';
import { SpeechJobError } from './pool/speech-jobs.ts';
import type { Synthesizer } from './speech.ts';

/** Longest recording. */
const LONGEST_SECONDS = 120;

/** A decoded file: mono. */
export interface Recording {
  readonly samples: Int16Array;
  readonly rateHz: number;
}

/**
 * Decodes a WAV file, block by block between other work. Throws `SpeechJobError` if it is none, or too long.
 */
export async function readRecording(file: Uint8Array): Promise<Recording> {
  if (!isWav(file)) throw new SpeechJobError('audio_unsupported', 'The recording is not a WAV file');
  const parts: Int16Array[] = [];
  let rateHz = 0;
  for (const block of decodeWav(file, LONGEST_SECONDS)) {
    rateHz = block.rateHz;
    parts.push(Int16Array.from({ length: block.frames }, (_, frame) => sampleOf(block.at(frame))));
    await nextRound();
  }
  const samples = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return { samples, rateHz };
}

function sampleOf(value: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(value * 32_767)));
}

/** Plays the recording for any text; null: `other` says it. */
export function recordedVoice(recording: Promise<Recording | null>, other: Synthesizer): Synthesizer {
  return {
    id: 'recording',
    voices: [],
    async *synthesise(text, options) {
      const recorded = await recording;
      if (recorded === null) {
        yield* other.synthesise(text, options);
        return;
      }
      const { samples, rateHz } = recorded;
      const { signal, sampleRateHz } = options;
      const converter = new RateConverter(sampleRateHz);
      // A second at a time: the line needs no more ahead.
      for (let at = 0; at < samples.length; at += rateHz) {
        signal.throwIfAborted();
        const part = converter.convert(samples.subarray(at, at + rateHz), rateHz);
        yield { samples: part, sampleRateHz, words: null };
        await nextRound();
      }
    },
  };
}
