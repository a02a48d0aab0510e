/** IANA time zones, from the runtime's own data. */

/** True for the name of an IANA zone such as `Europe/Berlin`; offsets such as `+01:00` are not names. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][\w+/-]*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Listing them takes milliseconds. */
const zonesByCountry = new Map<string, readonly string[]>();

/** The zones of a country (ISO 3166-1 alpha-2). */
export function zonesOfCountry(country: string): readonly string[] {
  const known = zonesByCountry.get(country);
  if (known) return known;
  // Exists in Node's Intl, not yet in TypeScript's library.
  const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones?(): string[] | undefined };
  const zones = locale.getTimeZones?.() ?? [];
  zonesByCountry.set(country, zones);
  return zones;
}
