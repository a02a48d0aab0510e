/**
 * A voice that can be counted: every word has a frequency of its own, so a capture shows which words were
 * heard, which were lost and which came twice.
 */
import { isVoiced, samplesOf } from '#caller/rtp.ts';
import { power, tone } from '#test/fakes/tone.ts';

const RATE_HZ = 8_000;
/** Of the vendor's audio, in whole numbers of the phone's. */
const VENDOR_RATE_FACTOR = 3;
const WORDS = [
  ...['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel', 'india', 'juliet'],
  ...['kilo', 'lima', 'mike', 'november', 'oscar', 'papa', 'quebec', 'romeo', 'sierra', 'tango'],
];
const WORD_MS = { voice: 240, quiet: 80 };
const [FIRST_HZ, STEP_HZ] = [400, 100];
/** Every other word, such as those of an excuse. */
const OTHER = 'other';
const SOUNDS = [...WORDS, OTHER];
/** A packet at the edge of a word may have too little of it. */
const LEAST_PACKETS = 4;

/** The agent's sentence: it has each word once. */
export const SENTENCE = `${WORDS.join(' ')}.`;
export const SENTENCE_WORDS: readonly string[] = WORDS;

/** The vendor's audio of a text, at 24 kHz. */
export function countingVoice(text: string): Int16Array {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const wordSamples = ((WORD_MS.voice + WORD_MS.quiet) * RATE_HZ * VENDOR_RATE_FACTOR) / 1_000;
  const samples = new Int16Array(words.length * wordSamples);
  for (const [place, word] of words.entries()) {
    const sound = SOUNDS.includes(word) ? SOUNDS.indexOf(word) : SOUNDS.indexOf(OTHER);
    // A third of the frequency at three times the rate.
    const voice = tone(hzOf(sound) / VENDOR_RATE_FACTOR, VENDOR_RATE_FACTOR * WORD_MS.voice);
    samples.set(voice, place * wordSamples);
  }
  return samples;
}

/** The words of a stream of PCMU payloads, in order. */
export function wordsIn(payloads: readonly Uint8Array[]): string[] {
  const words: string[] = [];
  let run = { word: '', packets: 0 };
  for (const payload of payloads) {
    const word = isVoiced(payload) ? wordOf(payload) : '';
    run = word === run.word ? { word, packets: run.packets + 1 } : { word, packets: 1 };
    if (word !== '' && run.packets === LEAST_PACKETS) words.push(word);
  }
  return words;
}

function wordOf(payload: Uint8Array): string {
  const samples = samplesOf(payload);
  const powers = SOUNDS.map((_, index) => power(samples, hzOf(index)));
  return SOUNDS[powers.indexOf(Math.max(...powers))] ?? '';
}

function hzOf(index: number): number {
  return FIRST_HZ + STEP_HZ * index;
}
