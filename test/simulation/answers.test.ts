import { describe, expect, it } from 'vitest';
import { type Answered, answer } from '#bench/answers/callers.ts';
import { ANSWERS, type Row } from '#bench/answers/catalogue.ts';
import { listened } from '#bench/answers/listeners.ts';
import { hintOf, UNSEEN } from '#bench/answers/unseen.ts';

const CALLERS = 20;
const DEFAULT_WAIT_MS = 550;

function answersTo(rows: readonly Row[], language: string, hasHints: boolean): readonly Answered[] {
  return rows.flatMap((row, index) => {
    const [kind, question, text] = row;
    const hint = hasHints ? { hint: hintOf(row, language) } : {};
    const exchange = { language, kind, question, breaths: text.split(' | '), ...hint };
    return Array.from({ length: CALLERS }, (_, caller) =>
      answer(exchange, 1 + index * CALLERS + caller, DEFAULT_WAIT_MS),
    );
  });
}

describe.each([
  ['what the agent asked, of answers by which no wait was chosen', false],
  ['what the model says it expects, of answers by which nothing was chosen', true],
] as const)('callers who answer %s', (_, hasHints) => {
  const rowsOf = (language: string) => (hasHints ? UNSEEN[language] : ANSWERS[language]?.heldBack) ?? [];
  const cases = Object.keys(ANSWERS).map(
    (language) => [language, answersTo(rowsOf(language), language, hasHints)] as const,
  );

  it.each(cases)('in %s: at most one of twenty is cut off', (_language, answers) => {
    expect(answers.filter(({ isCutOff }) => isCutOff).length).toBeLessThanOrEqual(answers.length / 20);
  });

  it.each(cases)('in %s: two of five are answered sooner than other words', (_language, answers) => {
    const waits = answers.flatMap(({ waitMs }) => waitMs ?? []);
    const sooner = waits.filter((waitMs) => waitMs < DEFAULT_WAIT_MS);
    expect(sooner.length).toBeGreaterThan(0.4 * waits.length);
  });
});

describe('callers who make a sound while the agent speaks', () => {
  const cases = Object.entries(listened());

  it.each(cases)('in %s: none that only shows that they listen cuts it off', (_, { falsePer100 }) => {
    expect(falsePer100).toBe(0);
  });

  it.each(cases)('in %s: of words by which no rule was written, at most 5 of 100 do', (_, heard) => {
    expect(heard.heldBackPer100).toBeLessThanOrEqual(5);
  });

  it.each(cases)('in %s: an interruption stops it, and so does a yes to its question', (_, heard) => {
    expect(heard).toMatchObject({ missedPer100: 0, unansweredPer100: 0 });
  });
});
