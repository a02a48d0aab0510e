/** What the rules about the end of a turn share: the caller's speech in progress and its words. */
import { type Caller, type Endpoint, type Speech, speechText } from '../turn-state.ts';

/** The caller has stopped; whether the turn is over is being decided. */
export type Stopped = Extract<Caller, { is: 'stopped' }>;

/** An end of speech that has not been judged yet. */
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
    hasReached: false,
    wasIgnored: false,
    voicedMs: 0,
    unheardMs: 0,
    movedMs: startMs,
    wasPressed: false,
    speculations: 0,
    continues: null,
  };
}

/** Everything the turn will say, with what it goes on from. */
export function wholeText(speech: Speech): string {
  return [speech.continues?.text ?? '', speechText(speech)].filter((part) => part !== '').join(' ');
}
