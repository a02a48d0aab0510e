/** A certificate or key in a setting: a file name, or the text itself. */
import { readFileSync } from 'node:fs';

/** Returns the text. Throws an error that names the setting if the file cannot be read. */
export function readPem(setting: string, value: string): string {
  if (value.includes('-----BEGIN')) return value;
  try {
    return readFileSync(value, 'utf8');
  } catch (error) {
    throw new Error(`${setting}: the file it names cannot be read`, { cause: error });
  }
}
