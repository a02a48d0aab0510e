import { describe, expect, it } from 'vitest';
import { createDraft } from '#runtime/turn/machine/draft.ts';
import { enter, restartDeadline, startPhaseTimer } from '#runtime/turn/machine/phases.ts';
import type { Phase } from '#runtime/turn/machine/turn-state.ts';
import { TurnScript } from './turn-script.ts';

const PROMPT = {
  replyId: 'r1',
  kind: 'notice',
  turnId: null,
  isInterruptible: true,
  startedMs: null,
  text: 'Press 1.',
} as const;
const SPEAKING: Phase = { is: 'speaking', utterance: PROMPT, answer: null };
const CUT: Phase = { is: 'clearing', utterance: PROMPT, answer: null, next: null };
const TAKEN_OVER: Phase = { is: 'withHuman', answer: null, cut: null, lines: [], isTimeUp: false };
const menu = (of: Partial<Extract<Phase, { is: 'menu' }>>): Phase => ({
  is: 'menu',
  utterance: null,
  attempt: 1,
  after: 'input',
  isReady: false,
  ...of,
});

/** The effects on timers when a call at 5 s, heard for the last time at 4 s, goes through these phases. */
function timers(...phases: readonly Phase[]): string[] {
  const draft = createDraft({ ...TurnScript.listening().state, progressMs: 4_000 }, 5_000);
  for (const phase of phases) enter(draft, phase);
  return draft.effects.map((effect) =>
    effect.do === 'startTimer'
      ? `${effect.name} at ${effect.atMs}`
      : `no ${'name' in effect ? effect.name : ''}`,
  );
}

describe('a phase', () => {
  it('starts its deadline when it is entered, and stops it when it is left', () => {
    expect(timers(SPEAKING)).toEqual(['progress at 7500']);
    expect(timers(SPEAKING, TAKEN_OVER)).toEqual(['progress at 7500', 'no progress', 'no hold']);
  });

  it('starts the deadline again if the next phase has the same', () => {
    expect(timers(SPEAKING, CUT)).toEqual(['progress at 7500', 'no hold', 'progress at 7500']);
  });

  it('keeps its deadline through a change that needs the same', () => {
    expect(timers(SPEAKING, { ...SPEAKING, utterance: { ...PROMPT, startedMs: 5_000 } })).toHaveLength(1);
  });

  it('starts and stops its deadline when it comes to need one, and no longer does', () => {
    const cut = menu({ utterance: PROMPT, after: 'retry' });
    expect(timers(menu({ utterance: PROMPT }))).toEqual([]);
    expect(timers(menu({ utterance: PROMPT }), cut)).toEqual(['menu at 5500']);
    expect(timers(cut, menu({ after: 'retry' }))).toEqual(['menu at 5500', 'no menu']);
  });

  it('cannot start a timer of another phase', () => {
    const draft = createDraft(TurnScript.listening().state, 5_000);
    expect(() => startPhaseTimer(draft, 'endCap', 6_000)).toThrow(
      'the timer endCap does not belong to the phase listening',
    );
    restartDeadline(draft);
    expect(draft.effects).toEqual([]);
  });
});
