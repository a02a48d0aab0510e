// SPDX-License-Identifier: GPL-3.0-or-later
/**
 * A separate program that speaks with eSpeak NG. Lines of JSON on its input, `{"text", "voice",
 * "wordsPerMinute"}`, are answered in order by lines of JSON on its output: `{"sampleRateHz", "samples",
 * "words"}`, with 16-bit little-endian samples in base64 and each word as `[textStart, textEnd, startMs,
 * endMs]`, or `{"error"}`. It ends with its input. No other part of Parley is linked with eSpeak NG, which is
 * under the GPL.
 */
import process from 'node:process';
import { createInterface } from 'node:readline';
import initialise, { type EspeakEvent } from '@echogarden/espeak-ng-emscripten';

const SAMPLE_RATE_HZ = 22_050;

const { eSpeakNGWorker } = await initialise();
const espeak = new eSpeakNGWorker();

createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(`${JSON.stringify(answer(line))}\n`);
});

function answer(line: string): object {
  try {
    const { text, voice, wordsPerMinute } = JSON.parse(line) as {
      text: string;
      voice: string;
      wordsPerMinute: number;
    };
    if (espeak.set_voice(voice) !== 0) return { error: `there is no voice ${voice}` };
    espeak.set_rate(wordsPerMinute);
    const chunks: Buffer[] = [];
    const events: EspeakEvent[] = [];
    espeak.synthesize(text, (samples, told) => {
      if (samples) chunks.push(Buffer.from(samples.slice().buffer));
      events.push(...told.map((event) => ({ ...event })));
    });
    return {
      sampleRateHz: SAMPLE_RATE_HZ,
      samples: Buffer.concat(chunks).toString('base64'),
      words: wordsOf(events),
    };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** A word ends where the next one or the end of the clause begins. */
function wordsOf(events: readonly EspeakEvent[]): number[][] {
  const bounds = events.filter(({ type }) => type === 'word' || type === 'end');
  return bounds.flatMap(({ type, text_position, word_length, audio_position }, index) =>
    type === 'word'
      ? [
          [
            text_position - 1,
            text_position - 1 + word_length,
            audio_position,
            bounds[index + 1]?.audio_position ?? audio_position,
          ],
        ]
      : [],
  );
}
