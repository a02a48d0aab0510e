/** Matches arguments of tool calls against what a test expects. */

import { compileLinearPattern } from '#base/linear-pattern.ts';
import type { ParamMatchers } from '#protocol/agent-test.ts';

const SUBJECT_CHARS = 2_000;

/**
 * True when every expected argument is there and matches; of a long argument a pattern sees the first 2,000
 * characters.
 */
export function argumentsMatch(expected: ParamMatchers, given: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(expected).every(([name, { type, value }]) => {
    if (!Object.hasOwn(given, name)) return false;
    const actual = asText(given[name]);
    if (type === 'any') return true;
    return type === 'exact'
      ? actual === value
      : compileLinearPattern(value).matcher(actual.slice(0, SUBJECT_CHARS)).find();
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
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
