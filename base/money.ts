/**
 * Money: integer micro-dollars internally (below 2^53), decimal strings at the border; never floating point.
 */

/** Micro-dollars in one dollar. */
export const MICROS = 1_000_000;

/** Parses a decimal amount of dollars with up to six places; null if it is invalid or too large. */
export function parseMoney(text: string): number | null {
  const match = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) return null;
  const micros = Number(match[2]) * MICROS + Number((match[3] ?? '').padEnd(6, '0'));
  return match[1] === '-' && micros !== 0 ? -micros : micros;
}

/** Formats an amount with two to six places, as needed: 10000000 is `10.00`, 1234500 is `1.2345`. */
export function formatMoney(micros: number): string {
  const sign = micros < 0 ? '-' : '';
  const absolute = Math.abs(micros);
  const fraction = String(absolute % MICROS)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${sign}${Math.floor(absolute / MICROS)}.${fraction}`;
}

/** Price of `seconds` at a price per minute, rounded to the nearest micro-dollar. */
export function perMinute(pricePerMinuteMicros: number, seconds: number): number {
  return Math.round((pricePerMinuteMicros * seconds) / 60);
}
