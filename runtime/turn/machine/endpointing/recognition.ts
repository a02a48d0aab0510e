/** Reopens a failed recogniser and keeps the words so far. Timer: `reopen`. */
import { type Draft, emit, explain, startTimer, stopTimers } from '../draft.ts';

/** Failures in a row before attempts are delayed. */
const IMMEDIATE_REOPENINGS = 3;
const REOPEN_AFTER_MS = 2_000;

/**
 * Reopens the recogniser: the first times at once, then every two seconds and whenever the caller speaks.
 * After a permanent failure only keys and typing remain.
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

/** The delay is over or the caller speaks: try again. */
export function reopenRecognizer(draft: Draft): void {
  if (draft.recognizer.is !== 'reopening') return;
  draft.recognizer = { ...draft.recognizer, is: 'open' };
  stopTimers(draft, 'reopen');
  emit(draft, { do: 'openRecognizer' });
}
