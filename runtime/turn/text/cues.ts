/**
 * Cues in square brackets by which a model says how something is to be said (`voice.expressive`): rendered by
 * the voice where it can, never read out, never in the transcript. Sounds and stage directions a model writes
 * unasked are taken away as well.
 */
import { EMOTIONS, type Emotion } from '#media/speech/speech.ts';

/** Shown to the model where a caller cut it off. */
export const CUT_OFF_MARK = '[…]';

/** What may be a cue. */
const BRACKETED = /\[([a-z ]{1,32})\]/gi;
const SOUND =
  /^(?:laugh(?:s|ing|ter)?|chuckles?|sigh(?:s|ing)?|gasps?|whisper(?:s|ing)?|pauses?|clears throat)$/i;

/** What an expressive agent's model is told. */
export const CUE_INSTRUCTION = `Where the tone should change, begin the sentence with one of these cues, and use no other: ${EMOTIONS.map((emotion) => `[${emotion}]`).join(' ')}. Cues are never read aloud.`;

/** The text without cues, and the emotion named last in it; null where none is. */
export function withoutCues(text: string): { readonly text: string; readonly emotion: Emotion | null } {
  if (!text.includes('[')) return { text, emotion: null };
  let emotion: Emotion | null = null;
  const plain = text.replace(BRACKETED, (whole, cue: string) => {
    const named = EMOTIONS.find((known) => known === cue.toLowerCase());
    emotion = named ?? emotion;
    return named !== undefined || SOUND.test(cue) ? ' ' : whole;
  });
  return { text: plain, emotion };
}
