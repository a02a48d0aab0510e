import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemPromptProblem } from '#config/prompt-tokens.ts';
import { growthInTurns, MOST_GROWTH, repeated } from '#test/hostile/growth.ts';

const LONGEST = 100_000;
/** One for about 2,000 characters. */
const FEWEST_ROUNDS = 40;

describe('the system prompt', () => {
  it('is counted in o200k tokens, with special tokens as plain text', async () => {
    expect(await systemPromptProblem(' hello'.repeat(4_000))).toBeNull();
    expect(await systemPromptProblem(' hello'.repeat(5_001))).toBe(
      'system_prompt exceeds 4000 tokens (got 5001)',
    );
    expect(await systemPromptProblem(`<|endoftext|>${' hello'.repeat(3_900)}`)).toBeNull();
  });

  it.each([
    ['words', ' hello'],
    ['one endless word', 'a'],
    ['spaces', ' '],
    ['emoji', '😀'],
  ])('is counted in linear time while other work goes on, if it consists of %s', async (_name, token) => {
    const make = (size: number) => repeated(token, size);
    const growth = await growthInTurns({ make, run: systemPromptProblem, longest: LONGEST });
    expect(growth).toBeLessThanOrEqual(MOST_GROWTH);
    expect(await roundsDuring(systemPromptProblem(make(LONGEST)))).toBeGreaterThan(FEWEST_ROUNDS);
  });
});

/** Rounds of the event loop until the work is done. */
async function roundsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  let rounds = 0;
  for (; !isDone; rounds++) await nextRound();
  return rounds;
}
