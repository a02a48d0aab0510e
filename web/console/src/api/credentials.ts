/** The API key used to sign in: stored for this tab or, if the user chose so, on this device. */
const STORAGE_KEY = 'parley.key';

/** The stored key, or null. */
export function storedKey(): string | null {
  return sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY);
}

/** Stores a key until sign-out; beyond this tab only if `remember` is set. */
export function storeKey(key: string, remember: boolean): void {
  forgetKey();
  (remember ? localStorage : sessionStorage).setItem(STORAGE_KEY, key);
}

/** Deletes the key everywhere. */
export function forgetKey(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  localStorage.removeItem(STORAGE_KEY);
}
