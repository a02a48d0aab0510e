/** Country codes (ISO 3166-1 alpha-2), from the runtime's own data. */

/** Unions and placeholders among the runtime's countries. */
const NO_COUNTRIES: ReadonlySet<string> = new Set(['EU', 'EZ', 'UN', 'ZZ']);

let names: Intl.DisplayNames | null = null;

/** True for the code of a country; false for a former or alternative one, such as `UK` for `GB`. */
export function isCountry(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || NO_COUNTRIES.has(code)) return false;
  // Made at the first use: most processes never need it, and it takes 20 ms.
  names ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  return names.of(code) !== undefined && new Intl.Locale(`und-${code}`).region === code;
}
