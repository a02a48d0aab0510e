/**
 * When a number may be called: hours and days in every time zone it may be in. Pure; instants are wall-clock
 * ms.
 */
import type { CallingHours, Weekday } from '../../platform/store/models/batch-call-model.ts';

/** Weekdays as named in calling hours, in order. */
export const WEEKDAYS: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

const MINUTE_MS = 60_000;
/** Clock changes happen at whole quarters of an hour (UTC) everywhere. */
const QUARTER_MS = 15 * MINUTE_MS;
const MINUTES_PER_DAY = 24 * 60;
/** Long enough to cover every weekday completely. */
const HORIZON_MS = 8 * MINUTES_PER_DAY * MINUTE_MS;

/** True if calling is allowed now in all of these zones. */
export function isOpen(hours: CallingHours | null, zones: readonly string[], atMs: number): boolean {
  return hours === null || zones.every((zone) => minutesUntilOpen(hours, zone, atMs) === 0);
}

/**
 * The first instant from `fromMs` at which the number may be called, in whole minutes after `fromMs`; null if
 * there is none within eight days.
 */
export function nextOpening(
  hours: CallingHours | null,
  zones: readonly string[],
  fromMs: number,
): number | null {
  if (isOpen(hours, zones, fromMs) || hours === null) return fromMs;
  let atMs = fromMs - (fromMs % MINUTE_MS);
  while (atMs < fromMs + HORIZON_MS) {
    const waits = zones.map((zone) => minutesUntilOpen(hours, zone, atMs));
    const longest = Math.max(...waits);
    if (longest === 0) return atMs;
    // At most up to the zone's next possible clock change: the wait is computed again from there.
    atMs += Math.min(longest * MINUTE_MS, QUARTER_MS - (atMs % QUARTER_MS));
  }
  return null;
}

/** Minutes on this zone's clock until its calling hours; 0 within them. On an excluded day, until its end. */
function minutesUntilOpen({ start, end, days }: CallingHours, zone: string, atMs: number): number {
  const { weekday, minutes } = localTime(zone, atMs);
  if (!days.includes(weekday) || minutes >= minutesOf(end)) return MINUTES_PER_DAY - minutes;
  return Math.max(0, minutesOf(start) - minutes);
}

/** `HH:MM` as minutes of the day; `24:00` is its end. */
export function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Cached: creating a formatter costs more than everything else, and there are only a few hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(zone: string, atMs: number): { readonly weekday: Weekday; readonly minutes: number } {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(zone, format);
  }
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  return {
    weekday: (parts.get('weekday') ?? '').toLowerCase() as Weekday,
    minutes: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
  };
}
