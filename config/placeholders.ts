/** `{{placeholders}}` in configured texts: which ones of the platform's own exist (supplement 4.3). */
import { systemVariables } from './call-plan.ts';

/** Names of the platform's variables, without `system.`. */
const SYSTEM_VARIABLE_NAMES = Object.keys(systemVariables.shape);

/** The 422 text of a text that uses a variable of the platform that does not exist, or null. The unknown name is not repeated. */
export function placeholderProblem(text: string): string | null {
  for (const [, name] of text.matchAll(/\{\{\s*system\.([^{}]*)\}\}/g)) {
    if (!SYSTEM_VARIABLE_NAMES.includes(name?.trim() ?? '')) {
      return `unknown system variable; the valid names are ${SYSTEM_VARIABLE_NAMES.map((known) => `system.${known}`).join(', ')}`;
    }
  }
  return null;
}
