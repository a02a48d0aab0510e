/** Countries by their two letters (ISO 3166-1 alpha-2), as the runtime's own data knows them. */

/** Unions and placeholders that stand among the countries there. */
const NO_COUNTRIES: ReadonlySet<string> = new Set(['EU', 'EZ', 'UN', 'ZZ']);

const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** True for the code of a country; not for one it had before or has beside it, such as `UK` for `GB`. */
export function isCountry(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || NO_COUNTRIES.has(code)) return false;
  return names.of(code) !== undefined && new Intl.Locale(`und-${code}`).region === code;
}
