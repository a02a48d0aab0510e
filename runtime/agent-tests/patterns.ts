/** Matches arguments of tool calls against what a test expects. A tenant's regular expression must not hold up the calls of this worker, so each test may spend little time on them. */
import { runInNewContext } from 'node:vm';
import type { ParamMatchers } from '#config/agent-test.ts';
import type { Clock } from '#config/clock.ts';

/** For one match. */
const MATCH_MS = 20;
/** For all matches of one test. */
const BUDGET_MS = 200;
const SUBJECT_CHARS = 2_000;

/** A regular expression took too long: whether it matches is not known. */
export class PatternTooSlow extends Error {}

/** True when every expected argument is there and matches. Throws `PatternTooSlow`. */
export type ArgumentsMatch = (expected: ParamMatchers, given: Readonly<Record<string, unknown>>) => boolean;

/** Makes the matcher of one test. */
export function createArgumentsMatch(clock: Clock): ArgumentsMatch {
  let spentMs = 0;

  function matchesPattern(pattern: string, subject: string): boolean {
    if (spentMs >= BUDGET_MS) throw new PatternTooSlow();
    const startedMs = clock.now();
    try {
      const globals = { pattern, subject: subject.slice(0, SUBJECT_CHARS) };
      return runInNewContext("new RegExp(pattern, 'u').test(subject)", globals, { timeout: MATCH_MS }) === true;
    } catch (error) {
      throw new PatternTooSlow('a regular expression takes too long', { cause: error });
    } finally {
      spentMs += clock.now() - startedMs;
    }
  }

  return (expected, given) =>
    Object.entries(expected).every(([name, { type, value }]) => {
      if (!Object.hasOwn(given, name)) return false;
      const actual = asText(given[name]);
      return type === 'any' || (type === 'exact' ? actual === value : matchesPattern(value, actual));
    });
}

/** An argument as it is compared. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The arguments of a call; none where the model wrote no JSON object. */
export function parsedArguments(input: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
