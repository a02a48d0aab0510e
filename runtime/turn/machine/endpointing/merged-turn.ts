/**
 * Turns that get one answer: the caller said, typed or keyed more before anything of the first one's was
 * noticed.
 */
import type { Turn } from '../turn-state.ts';

/**
 * Both as one turn, in the place of the first. Who has spoken hears the answer, however they said the rest;
 * and who types or keys more while they wait has waited since the first, where new speech begins the wait
 * anew.
 */
export function mergedTurn(first: Turn, more: Turn): Turn {
  const { speechEndMs, committedMs } = more.source === 'speech' ? more : first;
  const wantsAudio = first.wantsAudio || more.wantsAudio;
  return {
    ...more,
    turnId: first.turnId,
    text: `${first.text} ${more.text}`,
    startMs: first.startMs,
    speechEndMs,
    committedMs,
    wantsAudio,
  };
}
