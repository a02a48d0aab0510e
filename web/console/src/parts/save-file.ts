/** Saves something as a file of the user's. */

/** A browser that asks where to save the file reads it later. */
const KEPT_MS = 10 * 60_000;

export function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
