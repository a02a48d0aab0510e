/**
 * Cues in square brackets that tell the voice how to speak (`voice.expressive`): rendered where the voice
 * can, never read out, never in the transcript. Sounds and stage directions a model adds on its own are
 * removed as well.
 */
import { EMOTIONS, type Emotion } from '#media/speech/speech.ts';

/** Shows the model where a caller interrupted it. */
export const CUT_OFF_MARK = '[…]';

/** Candidates for a cue. */
const BRACKETED = /\[([a-z ]{1,32})\]/gi;
const SOUND =
  /^(?:laugh(?:s|ing|ter)?|chuckles?|sigh(?:s|ing)?|gasps?|whisper(?:s|ing)?|pauses?|clears throat)$/i;

/** Instruction for an expressive agent's model. */
export const CUE_INSTRUCTION =
  'Where the tone should change, begin the sentence with one of these cues, and use no other: ' +
  `${EMOTIONS.map((emotion) => `[${emotion}]`).join(' ')}. Cues are never read aloud.`;

/** The text without cues, and its last emotion; null without one. */
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
