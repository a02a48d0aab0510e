/** Matches tool-call arguments against a test's expectations. */

import { compileLinearPattern } from '#base/linear-pattern.ts';
import type { ParamMatchers } from '#protocol/agent-test.ts';

const SUBJECT_CHARS = 2_000;

/**
 * True when every expected argument is present and matches. A pattern sees the first 2,000 characters of an
 * argument.
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

/** The form in which arguments are compared. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Parses a call's arguments; an empty object if the model's JSON is not an object. */
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
