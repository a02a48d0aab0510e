/**
 * A tenant's regular expression, matched in time that grows with its subject alone, so that none can hold up
 * the calls of a worker.
 */
import { RE2JS } from 're2js';

/**
 * RE2's syntax with Unicode classes: everything but look-around and backreferences. Throws a
 * `RE2JSSyntaxException`.
 */
export function compileLinearPattern(text: string): RE2JS {
  return RE2JS.compile(text);
}

/** True when `compileLinearPattern` takes it. */
export function isLinearPattern(text: string): boolean {
  try {
    compileLinearPattern(text);
    return true;
  } catch {
    return false;
  }
}
