/**
 * Silence on both sides: the agent prompts the caller once or twice, then ends the call. Timer: `idle` runs
 * while neither side speaks and no tool runs; silence adds up across the prompts and is reset when the caller
 * does something.
 */

import { type Draft, explain, startTimer, stopTimers } from '../draft.ts';
import { beginEnding } from '../ending/ending.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { isQuiet } from '../timers.ts';
import { takeTurn } from './answering.ts';

/** With less time than this before the hang-up, one prompt is enough. */
const TWO_PROMPTS_FROM_MS = 15_000;

/** Starts or stops counting silence, after every step. */
export function countQuiet(draft: Draft): void {
  const { beforeMs, sinceMs, prompts } = draft.quiet;
  const quiet = isQuiet(draft);
  if (quiet && sinceMs === null) {
    draft.quiet = { beforeMs, sinceMs: draft.atMs, prompts };
    startTimer(draft, 'idle', draft.atMs + Math.max(0, nextThresholdMs(draft) - beforeMs));
  } else if (!quiet && sinceMs !== null) {
    draft.quiet = { beforeMs: beforeMs + draft.atMs - sinceMs, sinceMs: null, prompts };
    stopTimers(draft, 'idle');
  }
}

/** The caller showed activity without speaking. */
export function forgetQuiet(draft: Draft): void {
  draft.quiet = { beforeMs: 0, sinceMs: null, prompts: 0 };
}

function nextThresholdMs(draft: Draft): number {
  const { reengage, hangupAfterMs } = draft.config;
  const prompts = reengage ? (hangupAfterMs >= TWO_PROMPTS_FROM_MS ? 2 : 1) : 0;
  return draft.quiet.prompts < prompts
    ? (hangupAfterMs * (draft.quiet.prompts + 1)) / (prompts + 1)
    : hangupAfterMs;
}

/** The silence has lasted long enough to act. */
export function onIdle(draft: Draft): void {
  const { beforeMs, sinceMs, prompts } = draft.quiet;
  if (sinceMs === null) return;
  const quietMs = beforeMs + draft.atMs - sinceMs;
  const isOver = quietMs >= draft.config.hangupAfterMs;
  explain(draft, {
    about: 'silence',
    rule: isOver ? 'idle_hangup' : 'reengage',
    anchorMs: draft.atMs - quietMs,
    deadlineMs: draft.atMs,
  });
  if (isOver) {
    beginEnding(draft, 'agent_hangup', draft.config.idleFarewell ? draft.config.phrases.goodbye : null);
    return;
  }
  takeEvent(
    draft,
    '[The caller has said nothing for a while. Briefly ask whether they are still there.]',
    draft.config.phrases.stillThere,
  );
  draft.quiet = { beforeMs: quietMs, sinceMs: null, prompts: prompts + 1 };
}

/**
 * Lets the agent speak without caller words, unless the caller speaks before it is heard; `fallback` is
 * spoken when the model fails.
 */
export function takeEvent(draft: Draft, text: string, fallback: string): void {
  takeTurn(draft, { ...eventTurn(draft, text, fallback), isForSilence: true });
}
