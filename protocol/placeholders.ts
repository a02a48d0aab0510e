/**
 * `{{placeholders}}` in configured texts: how they are filled in, and which ones of the platform's own exist.
 */

import { LIMITS } from '#config/limits.ts';
import { systemVariables } from './call-plan.ts';

/** Names of the platform's variables, without `system.`. */
const SYSTEM_VARIABLE_NAMES = Object.keys(systemVariables.shape);

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** Thrown when a text with its placeholders filled in is longer than `LIMITS.renderedChars`. */
export class FilledTooLong extends Error {
  constructor() {
    super(
      `With its placeholders filled in a text is longer than ${LIMITS.renderedChars} characters: use shorter values, or fewer placeholders`,
    );
    this.name = 'FilledTooLong';
  }
}

/** A placeholder as it stands in its text. */
export interface Placeholder {
  readonly name: string;
  readonly written: string;
  /** The text between the placeholder before, or the beginning, and this one. */
  readonly before: string;
}

/**
 * Fills the placeholders of a text in one pass: what is filled in is never scanned again. Throws
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
 * The 422 text of a text that uses a variable of the platform that does not exist, or null. The unknown name
 * is not repeated.
 */
export function placeholderProblem(text: string): string | null {
  for (const [, name] of text.matchAll(/\{\{\s*system\.([^{}]*)\}\}/g)) {
    if (!SYSTEM_VARIABLE_NAMES.includes(name?.trim() ?? '')) {
      return `unknown system variable; the valid names are ${SYSTEM_VARIABLE_NAMES.map((known) => `system.${known}`).join(', ')}`;
    }
  }
  return null;
}
