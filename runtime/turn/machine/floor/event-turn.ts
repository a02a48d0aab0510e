/** Turns that respond to an event instead of words. */
import type { Draft } from '../draft.ts';
import type { Turn } from '../turn-state.ts';

/** A turn that responds to an event instead of words. */
export function eventTurn(draft: Draft, text: string, fallback: string | null): Turn {
  draft.lastTurn += 1;
  const { atMs } = draft;
  return {
    turnId: draft.lastTurn,
    source: 'event',
    text,
    speech: null,
    startMs: atMs,
    speechEndMs: atMs,
    dueMs: atMs,
    committedMs: atMs,
    rule: 'event',
    wantsAudio: true,
    fallback,
    isForSilence: false,
  };
}
