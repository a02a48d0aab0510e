/** The focus of the keyboard. */

/** True if no element has it: what had it is gone from the page, or was disabled. */
export function isFocusLost(): boolean {
  return document.activeElement?.matches('body, :disabled') ?? true;
}
