/**
 * The time zone of a session, by precedence: request, agent, client's hint, country of the phone number, UTC.
 */
import { isTimezone, zonesOfCountry } from '#config/timezones.ts';
import { countryOf } from '#telephony/e164.ts';

/** Sources of a zone by precedence; missing or invalid ones are skipped. */
export interface TimezoneSources {
  readonly requested: string | null;
  readonly agent: string;
  readonly client: string | null;
  /** The human party's number, E.164 or empty. */
  readonly phoneNumber: string;
}

/** The session's zone; null when no source gives one, which means UTC. */
export function sessionTimezone(sources: TimezoneSources): string | null {
  const named = [sources.requested, sources.agent, sources.client].find(
    (zone) => zone !== null && zone !== '' && isTimezone(zone),
  );
  return named ?? onlyZoneOf(sources.phoneNumber);
}

/**
 * Cached, because creating a formatter costs more than the rest of a plan; there are only a few hundred
 * zones.
 */
const dateFormats = new Map<string, Intl.DateTimeFormat>();

/** Today's date in a zone, YYYY-MM-DD. */
export function dateIn(timezone: string, wallTimeMs: number): string {
  let format = dateFormats.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone: timezone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    dateFormats.set(timezone, format);
  }
  return format.format(wallTimeMs);
}

function onlyZoneOf(phoneNumber: string): string | null {
  const country = phoneNumber === '' ? null : countryOf(phoneNumber);
  if (country === null) return null;
  const zones = zonesOfCountry(country);
  return zones.length === 1 ? (zones[0] ?? null) : null;
}
