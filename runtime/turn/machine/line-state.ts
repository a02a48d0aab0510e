/** Whether the far end of an outgoing call is somebody. What changes it is in the folder `line`. */
import { type Automated, isAutomatedLine } from '../text/line-words.ts';
import type { Line, Phase, TurnState } from './turn-state.ts';

/** The line is a menu, a queue or the screening of a phone. */
export function isAutomated(line: Line | null): line is Line & { readonly is: Automated } {
  return line !== null && isAutomatedLine(line.is);
}

/** Phases in which both sides may speak. */
export const TALK: ReadonlySet<Phase['is']> = new Set([
  'listening',
  'answering',
  'speaking',
  'paused',
  'clearing',
  'pressing',
]);

/** Both sides may speak, so that the far end may be judged by what it says. */
export function isTalk(phase: Phase): boolean {
  return TALK.has(phase.is);
}

/** The line, or the silence after its words, is waited for: the timer `line` must run. */
export function awaitsLine({ caller, line, phase }: Pick<TurnState, 'caller' | 'line' | 'phase'>): boolean {
  const isWaiting = line !== null && (line.pending !== null || isAutomated(line));
  return isWaiting && phase.is === 'listening' && caller.is === 'silent';
}
