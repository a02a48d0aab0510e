/**
 * Merges turns that get one answer: the caller said, typed or keyed more before they noticed anything of the
 * first answer.
 */
import type { Turn } from '../turn-state.ts';

/**
 * Both turns as one, in place of the first. If either was spoken, the answer is spoken. Typing and keys keep
 * the first turn's waiting time; new speech restarts it.
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
