/** `{{placeholders}}` in configured texts: how they are filled, and the platform's own variables. */

import { LIMITS } from '#config/limits.ts';
import { systemVariables } from './call-plan.ts';

/** Names of the platform's variables, without `system.`. */
const SYSTEM_VARIABLE_NAMES = Object.keys(systemVariables.shape);

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** Thrown if a text with filled placeholders is longer than `LIMITS.renderedChars`. */
export class FilledTooLong extends Error {
  constructor() {
    super(
      `The text is longer than ${LIMITS.renderedChars} characters with its placeholders filled in: use ` +
        'shorter values, or fewer placeholders',
    );
    this.name = 'FilledTooLong';
  }
}

/** A placeholder in a text. */
export interface Placeholder {
  readonly name: string;
  readonly written: string;
  /** The text before this placeholder, from the previous one or the beginning. */
  readonly before: string;
}

/**
 * Fills the placeholders of a text in one pass: filled values are never scanned again. Throws
 * `FilledTooLong`.
 */
export function fillPlaceholders(text: string, fill: (placeholder: Placeholder) => string): string {
  let filled = '';
  let position = 0;
  for (const { 0: written, 1: name = '', index } of text.matchAll(PLACEHOLDER)) {
    const before = text.slice(position, index);
    filled += before + fill({ name: name.trim(), written, before });
    position = index + written.length;
    if (filled.length > LIMITS.renderedChars) throw new FilledTooLong();
  }
  return filled + text.slice(position);
}

/**
 * The 422 message for a text with an unknown platform variable, or null. The unknown name is not repeated.
 */
export function placeholderProblem(text: string): string | null {
  for (const [, name] of text.matchAll(/\{\{\s*system\.([^{}]*)\}\}/g)) {
    if (!SYSTEM_VARIABLE_NAMES.includes(name?.trim() ?? '')) {
      return (
        'unknown system variable; the valid names are ' +
        `${SYSTEM_VARIABLE_NAMES.map((known) => `system.${known}`).join(', ')}`
      );
    }
  }
  return null;
}
