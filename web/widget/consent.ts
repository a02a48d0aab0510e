/**
 * Whether a visitor has accepted the terms: remembered by the browser, or for this page alone where the
 * browser keeps nothing.
 */

const acceptedHere = new Set<string>();

/** True once the terms under this key were accepted. */
export function consentGiven(key: string): boolean {
  try {
    return acceptedHere.has(key) || localStorage.getItem(key) === 'accepted';
  } catch {
    return acceptedHere.has(key);
  }
}

/** Remembers that they were. */
export function keepConsent(key: string): void {
  acceptedHere.add(key);
  try {
    localStorage.setItem(key, 'accepted');
  } catch {
    // The page's own memory has it.
  }
}
