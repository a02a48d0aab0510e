/**
 * Whether a visitor has accepted the terms. Stored by the browser; if the browser stores nothing, kept for
 * this page only.
 */

const acceptedHere = new Set<string>();

/** True if the terms under this key were accepted. */
export function consentGiven(key: string): boolean {
  try {
    return acceptedHere.has(key) || localStorage.getItem(key) === 'accepted';
  } catch {
    return acceptedHere.has(key);
  }
}

/** Stores the acceptance of the terms under this key. */
export function keepConsent(key: string): void {
  acceptedHere.add(key);
  try {
    localStorage.setItem(key, 'accepted');
  } catch {
    // The acceptance remains in the page's memory.
  }
}
