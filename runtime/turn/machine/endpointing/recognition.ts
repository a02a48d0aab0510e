/** A recogniser that fails: it is opened again, while what was said so far is kept. Timer: `reopen`. */
import { type Draft, emit, explain, startTimer } from '../draft.ts';

/** Failures in a row before each attempt waits. */
const IMMEDIATE_REOPENINGS = 3;
const REOPEN_AFTER_MS = 2_000;

/**
 * The recogniser is opened again: at once at first, then every two seconds and when the caller speaks. One
 * that refuses for good leaves keys and typing.
 */
export function onRecognizerFailed(draft: Draft, isRetryable: boolean): void {
  const failures = draft.recognizer.failures + 1;
  explain(draft, {
    about: 'failure',
    rule: isRetryable ? 'recognizer_reopened' : 'recognizer_lost',
    anchorMs: draft.atMs,
    deadlineMs: draft.atMs,
  });
  if (!isRetryable) draft.recognizer = { is: 'none', failures };
  else if (failures <= IMMEDIATE_REOPENINGS) {
    draft.recognizer = { is: 'open', failures };
    emit(draft, { do: 'openRecognizer' });
  } else {
    draft.recognizer = { is: 'reopening', failures };
    startTimer(draft, 'reopen', draft.atMs + REOPEN_AFTER_MS);
  }
}

/** The wait before the next attempt is over, or the caller speaks: it may be whole again. */
export function reopenRecognizer(draft: Draft): void {
  if (draft.recognizer.is !== 'reopening') return;
  draft.recognizer = { ...draft.recognizer, is: 'open' };
  emit(draft, { do: 'stopTimer', name: 'reopen' }, { do: 'openRecognizer' });
}
