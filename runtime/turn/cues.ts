/**
 * Cues in square brackets by which a model says how something is to be said (S§2.3 voice.expressive, supplement 2.3): rendered by the voice where it can,
 * never read out, never in the transcript. Sounds and stage directions a model writes unasked are taken away as well.
 */
import { EMOTIONS, type Emotion } from '#media/speech/speech.ts';

const CUE = new RegExp(
  `\\[(${EMOTIONS.join('|')}|laugh(?:s|ing|ter)?|chuckles?|sigh(?:s|ing)?|gasps?|whisper(?:s|ing)?|pauses?|clears throat)\\]`,
  'gi',
);

/** What an expressive agent's model is told. */
export const CUE_INSTRUCTION = `Where the tone should change, begin the sentence with one of these cues, and use no other: ${EMOTIONS.map((emotion) => `[${emotion}]`).join(' ')}. Cues are never read aloud.`;

/** The text without cues, and the emotion named last in it; null where none is. */
export function withoutCues(text: string): { readonly text: string; readonly emotion: Emotion | null } {
  if (!text.includes('[')) return { text, emotion: null };
  const emotion = [...text.matchAll(CUE)]
    .map(([, cue = '']) => EMOTIONS.find((known) => known === cue.toLowerCase()))
    .findLast((known) => known !== undefined);
  return { text: text.replace(CUE, ' '), emotion: emotion ?? null };
}
