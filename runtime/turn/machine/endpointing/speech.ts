/** Shared by the rules for the end of a turn: the caller's current speech and its words. */
import { type Caller, type Endpoint, type Speech, speechText } from '../turn-state.ts';

/** The caller has stopped; the end of the turn is being decided. */
export type StoppedCaller = Extract<Caller, { is: 'stopped' }>;

/** An end of speech without a judgement yet. */
export const UNJUDGED: Endpoint = {
  rule: 'unjudged',
  dueMs: Number.POSITIVE_INFINITY,
  isJudged: false,
  askedMs: null,
  isSettled: false,
};

/** Speech that begins now, without words yet. */
export function newSpeech(startMs: number): Speech {
  return {
    startMs,
    finals: [],
    interim: '',
    isLongEnoughToPause: false,
    wasIgnored: false,
    over: null,
    voicedMs: 0,
    unheardMs: 0,
    newWordsMs: startMs,
    wordsRequested: false,
    speculations: 0,
    continues: null,
  };
}

/** The turn's whole text, including what it continues. */
export function wholeText(speech: Speech): string {
  return [speech.continues?.text ?? '', speechText(speech)].filter((part) => part !== '').join(' ');
}
