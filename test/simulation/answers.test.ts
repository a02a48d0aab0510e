import { describe, expect, it } from 'vitest';
import { type Answered, answer } from '#bench/answers/callers.ts';
import { ANSWERS } from '#bench/answers/catalogue.ts';
import { listened } from '#bench/answers/listeners.ts';
import { UNSEEN } from '#bench/answers/unseen.ts';

const CALLERS = 20;
const DEFAULT_WAIT_MS = 550;

function answersIn(language: string): readonly Answered[] {
  return [...(ANSWERS[language]?.heldBack ?? []), ...(UNSEEN[language] ?? [])].flatMap(
    ([kind, question, text], row) =>
      Array.from({ length: CALLERS }, (_, caller) =>
        answer(
          { language, kind, question, breaths: text.split(' | ') },
          1 + row * CALLERS + caller,
          DEFAULT_WAIT_MS,
        ),
      ),
  );
}

describe('callers who answer what the agent asked, of answers that no rule was tuned on', () => {
  it.each(Object.keys(ANSWERS))('in %s: at most one of twenty is cut off', (language) => {
    const answers = answersIn(language);
    expect(answers.filter(({ isCutOff }) => isCutOff).length).toBeLessThanOrEqual(answers.length / 20);
  });

  it.each(Object.keys(ANSWERS))('in %s: two of five are answered sooner than other words', (language) => {
    const waits = answersIn(language).flatMap(({ waitMs }) => waitMs ?? []);
    const sooner = waits.filter((waitMs) => waitMs < DEFAULT_WAIT_MS);
    expect(sooner.length).toBeGreaterThan(0.4 * waits.length);
  });
});

describe('callers who make a sound while the agent speaks', () => {
  it.each(Object.entries(listened()))(
    'in %s: none that only shows that they listen cuts it off',
    (_, heard) => {
      expect(heard).toMatchObject({ falsePer100: 0, missedPer100: 0 });
    },
  );
});
