/**
 * A tenant's regular expression, matched in time linear in its input, so that it cannot block the calls of a
 * worker.
 */
import { RE2JS } from 're2js';

/**
 * RE2's syntax with Unicode classes: everything except look-around and backreferences. Throws
 * `RE2JSSyntaxException`.
 */
export function compileLinearPattern(text: string): RE2JS {
  return RE2JS.compile(text);
}

/** True if `compileLinearPattern` accepts it. */
export function isLinearPattern(text: string): boolean {
  try {
    compileLinearPattern(text);
    return true;
  } catch {
    return false;
  }
}
