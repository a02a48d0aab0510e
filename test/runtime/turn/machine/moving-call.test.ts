import { describe, expect, it } from 'vitest';
import { moveOf } from '#runtime/turn/machine/moving-call.ts';
import { turnConfig } from '#runtime/turn/machine/turn-config.ts';
import { initialState, type TurnState } from '#runtime/turn/machine/turn-state.ts';
import { testPlan } from '../../test-plan.ts';

const listening: TurnState = {
  ...initialState(turnConfig(testPlan(), null, (text) => text)),
  phase: { is: 'listening' },
};

describe('a call moves to another worker', () => {
  it('unnoticed while both sides are silent and nothing is owed, and while caller and person are joined', () => {
    expect(moveOf(listening)).toBe('unnoticed');
    expect(moveOf({ ...listening, phase: { is: 'joined', answer: null, cut: null } })).toBe('unnoticed');
  });

  it.each<[string, Partial<TurnState>]>([
    ['while the agent answers', { phase: { is: 'answering', answer: {} as never } }],
    ['while the caller talks', { caller: { is: 'talking', speech: {} as never } }],
    ['while a turn waits', { waiting: [{} as never] }],
    ['while a reply is prepared', { speculation: {} as never }],
    ['while words are missing', { pendingTranscript: { is: 'unheard', speech: {} as never, endMs: 0 } }],
    ['while a tool runs', { runningTools: { call: {} as never } }],
    ['while keys are being entered', { digits: '4' }],
    ['while a machine may have answered', { screening: {} as never }],
    ['while the caller is away', { isLegLost: true }],
  ])('noticed %s', (_, change) => {
    expect(moveOf({ ...listening, ...change })).toBe('noticed');
  });

  it('never before it is connected or while it ends', () => {
    const unspoken = { cut: null, utterance: null, answer: null };
    for (const phase of [
      { is: 'connecting', answer: null, notice: null },
      { is: 'ending', reason: 'agent_hangup', ...unspoken },
      { is: 'ended', reason: 'agent_hangup' },
    ] as const)
      expect(moveOf({ ...listening, phase })).toBe('never');
  });
});
