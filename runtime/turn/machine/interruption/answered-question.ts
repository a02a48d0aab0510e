/**
 * A yes over the agent answers a question if the agent has just asked one: it goes on after it, or is at its
 * last words. Anywhere else a yes only shows that the caller listens. Pure.
 */
import { readAcknowledgement } from '../../text/acknowledgements.ts';
import { expectationOf, hasOne } from '../../text/expectation.ts';
import { normalised } from '../../text/normalised.ts';
import { questionTextsFor } from '../../text/phrases.ts';
import type { Draft } from '../draft.ts';
import type { Heard, TurnState, Utterance } from '../turn-state.ts';

/** Callers answer from the last words of a question. A word counts as heard once it has ended. */
const ANTICIPATED_WORDS = 2;
/** Two seconds after a question, a yes is about what followed it. */
const ANSWERED_WITHIN_WORDS = 6;
/** Characters before that are searched for the question. */
const SEARCHED_CHARS = 400;

/** The heard part of the agent's present words; null if it is silent, or the part is unknown. */
export function heardNow({ heard, phase }: Pick<Draft, 'heard' | 'phase'>): Heard | null {
  const utterance = phase.is === 'speaking' || phase.is === 'paused' ? phase.utterance : null;
  return utterance !== null && heard?.replyId === utterance.replyId ? heard : null;
}

type Spoken = Pick<Utterance, 'replyId' | 'text'>;

/** The agent's words around the beginning of a caller's speech. */
interface Around {
  /** Up to the last that were to be expected by then. */
  readonly before: string;
  readonly goesOn: boolean;
}

function wordsAround(utterance: Spoken | null, over: Heard | null): Around | null {
  if (!utterance || over?.replyId !== utterance.replyId) return null;
  const { text } = utterance;
  let end = over.chars;
  for (let words = 0; words < ANTICIPATED_WORDS; words++) {
    while (end < text.length && isSpace(text, end)) end += 1;
    while (end < text.length && !isSpace(text, end)) end += 1;
  }
  return {
    before: text.slice(Math.max(0, end - SEARCHED_CHARS), end),
    goesOn: text.slice(end).trim() !== '',
  };
}

function isSpace(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\n';
}

/** True for a yes to the question with which the agent's words ended, or almost, when the speech began. */
export function answersQuestion(
  text: string,
  utterance: Spoken | null,
  { language, over }: { readonly language: string; readonly over: Heard | null },
): boolean {
  if (!saysYes(text, language)) return false;
  const around = wordsAround(utterance, over);
  const asked = around?.before.lastIndexOf('?') ?? -1;
  if (around === null || asked < 0) return false;
  const after = around.before.slice(asked + 1).trim();
  if (after !== '' && after.split(/\s+/).length > ANSWERED_WITHIN_WORDS) return false;
  if ((after !== '' || around.goesOn) && isTag(around.before.slice(0, asked), language)) return false;
  return expectationOf(around.before, language)?.kind === 'yes_no';
}

/** "First open the settings, okay? Then …": an agent that goes on does not wait for a yes. */
function isTag(question: string, language: string): boolean {
  return readAcknowledgement(question.split(/[.,!?]/).at(-1) ?? '', language) === 'whole';
}

/**
 * True if the agent's last question is still open while it thinks about other words of the caller, and these
 * are a yes to it: "Shall I book it?", "Um …", "Yes."
 */
export function answersAfterAll(
  text: string,
  answered: string,
  { config, expects }: Pick<TurnState, 'config' | 'expects'>,
): boolean {
  const { language } = config;
  return expects?.kind === 'yes_no' && saysYes(text, language) && !decides(answered, language);
}

function saysYes(text: string, language: string): boolean {
  const texts = questionTextsFor(language);
  return texts !== null && hasOne(wordsOf(text), `${texts.yes}|${texts.surely}`);
}

function decides(text: string, language: string): boolean {
  const texts = questionTextsFor(language);
  return saysYes(text, language) || (texts !== null && hasOne(wordsOf(text), texts.no));
}

function wordsOf(text: string): string {
  return ` ${normalised(text.replaceAll('’', "'"))} `;
}
