/** The key somebody signed in with: kept for this tab, or on this device when they chose so. */
const STORAGE_KEY = 'parley.key';

/** The key kept, or null. */
export function storedKey(): string | null {
  return sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY);
}

/** Keeps a key until sign-out: beyond this tab only when `remember` is set. */
export function storeKey(key: string, remember: boolean): void {
  forgetKey();
  (remember ? localStorage : sessionStorage).setItem(STORAGE_KEY, key);
}

/** Forgets it everywhere. */
export function forgetKey(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  localStorage.removeItem(STORAGE_KEY);
}
