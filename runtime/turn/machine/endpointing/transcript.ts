/**
 * The recogniser's words: added to the current speech, or to an earlier turn they arrive late for. Words
 * without detected voice form speech of their own.
 */
import { normalised } from '../../text/normalised.ts';
import { takeTurn } from '../answering/answering.ts';
import { type Draft, emit, explain } from '../draft.ts';
import { isUnnoticed } from '../floor/generating.ts';
import { heardNow } from '../interruption/answered-question.ts';
import { judgeOverlappingWords } from '../interruption/overlap.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Speech } from '../turn-state.ts';
import { newSpeech, type StoppedCaller, UNJUDGED, wholeText } from './speech.ts';
import { judgeTurn, tryCommit } from './turn-end.ts';

/** Handles interim and final words. */
export function onTranscript(
  draft: Draft,
  input: Extract<TurnInput, { type: 'transcript.interim' | 'transcript.final' | 'transcript.finalised' }>,
): void {
  if (draft.recognizer.failures > 0) draft.recognizer = { ...draft.recognizer, failures: 0 };
  if (input.type === 'transcript.finalised') {
    onFinalised(draft);
    return;
  }
  const text = input.text.trim();
  if (text === '' || handleLateWords(draft, input.type, text)) return;
  if (draft.caller.is === 'silent' && !startSpeechFromWords(draft, text)) return;
  const { caller } = draft;
  if (caller.is === 'silent') return;
  const isFinal = input.type === 'transcript.final';
  const { speech } = caller;
  const ifNew = text === speech.interim ? {} : { newWordsMs: draft.atMs, wordsRequested: false };
  const heard: Speech = {
    ...speech,
    ...ifNew,
    over: overBy(draft, speech),
    ...(isFinal ? { finals: [...speech.finals, text], interim: '' } : { interim: text }),
  };
  draft.unheardInARow = 0;
  draft.caller =
    caller.is === 'talking'
      ? { is: 'talking', speech: heard }
      : { ...caller, ...withWords(draft, caller, heard, isFinal) };
  const turnId = speech.continues?.turnId ?? draft.lastTurn + 1;
  emit(draft, {
    do: 'event',
    event: {
      type: 'transcript',
      role: 'user',
      segmentId: `u${turnId}`,
      text: wholeText(heard),
      final: false,
    },
  });
  judgeOverlappingWords(draft, isFinal);
  judgeTurn(draft);
}

/** The first words after an ignored noise are about what the agent says by now. */
function overBy(draft: Draft, { finals, interim, over, wasIgnored }: Speech): Speech['over'] {
  return wasIgnored && over !== null && finals.length === 0 && interim === '' ? heardNow(draft) : over;
}

function withWords(
  draft: Draft,
  caller: StoppedCaller,
  speech: Speech,
  isSettled: boolean,
): Pick<StoppedCaller, 'speech' | 'endMs' | 'endpoint'> {
  // Speech the detector missed has no measured end: the last change of its words stands in for it.
  const endMs = speech.voicedMs === 0 ? draft.atMs : caller.endMs;
  if (isSettled) learnFinal(draft, caller);
  return { speech, endMs, endpoint: { ...caller.endpoint, isSettled } };
}

function onFinalised(draft: Draft): void {
  if (draft.pendingTranscript?.is === 'committed' || draft.pendingTranscript?.is === 'ignored')
    draft.pendingTranscript = null;
  const { caller } = draft;
  if (caller.is !== 'stopped' || !caller.endpoint.isJudged) return;
  learnFinal(draft, caller);
  draft.caller = { ...caller, endpoint: { ...caller.endpoint, isSettled: true } };
  tryCommit(draft);
}

/**
 * A turn's words became final: from its first final word on, later ones are no longer a reply to the request.
 */
function learnFinal(draft: Draft, { endpoint }: StoppedCaller): void {
  if (endpoint.askedMs !== null && !endpoint.isSettled) draft.finalTookMs = draft.atMs - endpoint.askedMs;
}

/** True for words of speech that was already handled. */
function handleLateWords(draft: Draft, type: TurnInput['type'], text: string): boolean {
  const { caller, pendingTranscript: pending } = draft;
  if (pending?.is === 'committed') {
    const isSame = normalised(text) === normalised(pending.text);
    if (caller.is !== 'silent' && !isSame) return false;
    if (type === 'transcript.final') draft.pendingTranscript = null;
    if (!isSame && type === 'transcript.final') growTurn(draft, pending.text, text);
    explain(draft, { about: 'transcript', rule: 'late_final', anchorMs: draft.atMs, deadlineMs: draft.atMs });
    return true;
  }
  if (pending?.is === 'ignored' && caller.is === 'silent') {
    explain(draft, {
      about: 'transcript',
      rule: 'of_ignored_speech',
      anchorMs: draft.atMs,
      deadlineMs: draft.atMs,
    });
    return true;
  }
  return false;
}

/**
 * The final has more words than the interim the turn was taken on: if nothing is audible yet, the answer is
 * started again.
 */
function growTurn(draft: Draft, interim: string, final: string): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || !isUnnoticed(phase.answer) || phase.answer.hasHoldLine) return;
  const { turn, generation } = phase.answer;
  // More may have been typed or keyed after it. If the interim is gone, another turn is being answered by
  // now.
  const at = turn.source === 'event' ? -1 : turn.text.lastIndexOf(interim);
  if (at < 0) return;
  emit(draft, { do: 'discard', replyId: generation.replyId });
  takeTurn(draft, {
    ...turn,
    text: `${turn.text.slice(0, at)}${final}${turn.text.slice(at + interim.length)}`,
    rule: 'late_final',
    expectation: undefined,
  });
}

/**
 * Words without voice: too quiet for the detector, or later than their speech. Returns false when they are
 * dropped.
 */
function startSpeechFromWords(draft: Draft, text: string): boolean {
  const { pendingTranscript: pending, phase } = draft;
  if (pending?.is === 'unheard') {
    draft.caller = {
      is: 'stopped',
      speech: pending.speech,
      endMs: pending.endMs,
      endpoint: { ...UNJUDGED, isJudged: true },
    };
    draft.pendingTranscript = null;
    return true;
  }
  const isOverSpeech = phase.is === 'speaking' || phase.is === 'paused';
  if (isOverSpeech && text.split(/\s+/).length < 2) return false;
  draft.caller = {
    is: 'stopped',
    speech: { ...newSpeech(draft.atMs), isLongEnoughToPause: isOverSpeech, over: heardNow(draft) },
    endMs: draft.atMs,
    endpoint: { ...UNJUDGED, isJudged: true },
  };
  return true;
}
