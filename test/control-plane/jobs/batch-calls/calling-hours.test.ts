import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOpen, nextOpening, WEEKDAYS } from '#control-plane/jobs/batch-calls/calling-hours.ts';
import type { CallingHours } from '#control-plane/platform/store/models/batch-call-model.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const OFFICE: CallingHours = { start: '09:00', end: '17:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] };
const EVERY_DAY: CallingHours = { start: '09:00', end: '20:00', days: [...WEEKDAYS] };
const at = (text: string) => Date.parse(text);

/** The local wall clock of a zone, computed by another method than the code under test. */
function onTheWall(zone: string, ms: number): { readonly day: string; readonly time: string } {
  const [date = '', time = ''] = new Date(ms).toLocaleString('sv-SE', { timeZone: zone }).split(' ');
  const day = WEEKDAYS[(new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7] ?? '';
  return { day, time: time.slice(0, 5) };
}

function isOpenOnTheWall({ start, end, days }: CallingHours, zone: string, ms: number): boolean {
  const { day, time } = onTheWall(zone, ms);
  return (days as readonly string[]).includes(day) && time >= start && time < end;
}

const ZONES = [
  'America/New_York',
  'America/Los_Angeles',
  'America/Phoenix',
  'America/St_Johns',
  'Europe/Berlin',
  'Europe/Dublin',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Tokyo',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'UTC',
];
const time = fc
  .tuple(fc.nat(23), fc.constantFrom('00', '15', '30', '59'))
  .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${minute}`);
const hours = fc
  .tuple(
    time,
    fc.oneof(time, fc.constant('24:00')),
    fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { minLength: 1 }),
  )
  .filter(([start, end]) => start < end)
  .map(([start, end, days]): CallingHours => ({ start, end, days }));
const zones = fc.uniqueArray(fc.constantFrom(...ZONES), { minLength: 1, maxLength: 4 });
/** Days with clock changes, and ordinary days. */
const instant = fc
  .tuple(
    fc.constantFrom(
      '2026-03-08',
      '2026-03-29',
      '2026-04-05',
      '2026-10-25',
      '2026-11-01',
      '2026-06-10',
      '2027-01-01',
    ),
    fc.nat(3 * 24 * 60 * 60),
  )
  .map(([day, seconds]) => at(`${day}T00:00:00Z`) - 24 * HOUR_MS + seconds * 1000);

describe('calling hours', () => {
  it('are in the local time of the number', () => {
    expect(isOpen(OFFICE, ['Europe/Berlin'], at('2026-11-23T08:00:00Z'))).toBe(true);
    expect(isOpen(OFFICE, ['Europe/Berlin'], at('2026-11-23T07:59:59Z'))).toBe(false);
    expect(isOpen(OFFICE, ['Europe/Berlin'], at('2026-11-23T16:00:00Z'))).toBe(false);
    expect(isOpen(OFFICE, ['America/New_York'], at('2026-11-23T08:00:00Z'))).toBe(false);
  });

  it('must be open in every zone the number may be in', () => {
    const both = ['America/New_York', 'America/Los_Angeles'];
    expect(isOpen(EVERY_DAY, both, at('2026-11-23T16:59:00Z'))).toBe(false);
    expect(isOpen(EVERY_DAY, both, at('2026-11-23T17:00:00Z'))).toBe(true);
    expect(isOpen(EVERY_DAY, both, at('2026-11-24T01:00:00Z'))).toBe(false);
  });

  it('use the local day of the week', () => {
    // Sunday evening in Los Angeles is Monday in Tokyo.
    expect(isOpen({ ...EVERY_DAY, days: ['mon'] }, ['Asia/Tokyo'], at('2026-11-23T00:30:00Z'))).toBe(true);
    expect(isOpen({ ...EVERY_DAY, days: ['mon'] }, ['America/Los_Angeles'], at('2026-11-23T00:30:00Z'))).toBe(
      false,
    );
    expect(nextOpening(OFFICE, ['Europe/Berlin'], at('2026-11-20T20:00:00Z'))).toBe(
      at('2026-11-23T08:00:00Z'),
    );
  });

  it('begin at the local wall-clock hour across clock changes', () => {
    // Berlin switches to winter time in the night to 25 October 2026.
    expect(nextOpening(EVERY_DAY, ['Europe/Berlin'], at('2026-10-24T20:00:00Z'))).toBe(
      at('2026-10-25T08:00:00Z'),
    );
    expect(nextOpening(EVERY_DAY, ['Europe/Berlin'], at('2026-03-28T22:00:00Z'))).toBe(
      at('2026-03-29T07:00:00Z'),
    );
  });

  it('never open where the zones share no hour', () => {
    expect(
      nextOpening(
        { ...EVERY_DAY, end: '12:00' },
        ['Asia/Tokyo', 'America/New_York'],
        at('2026-11-23T00:00:00Z'),
      ),
    ).toBe(null);
  });

  it('are always open when none are set', () => {
    expect(isOpen(null, [], 0)).toBe(true);
    expect(nextOpening(null, [], 12_345)).toBe(12_345);
  });

  it('are open exactly when every local clock says so, for any schedule and zones', () => {
    fc.assert(
      fc.property(hours, zones, instant, (wanted, where, ms) => {
        expect(isOpen(wanted, where, ms)).toBe(where.every((zone) => isOpenOnTheWall(wanted, zone, ms)));
      }),
      { numRuns: 500 },
    );
  });

  it('have a next opening that is open, with nothing open before it, for any schedule and zones', () => {
    fc.assert(
      fc.property(hours, zones, instant, (wanted, where, ms) => {
        const opening = nextOpening(wanted, where, ms);
        if (opening !== null) {
          expect(opening).toBeGreaterThanOrEqual(ms - (ms % MINUTE_MS));
          expect(isOpen(wanted, where, opening)).toBe(true);
        }
        // Samples minutes before the opening, or before the end of the week when there is no opening.
        const untilMs = opening ?? ms + 7 * 24 * HOUR_MS;
        for (const beforeMs of [1, 16, 31, 61, 125, 607, 1_440]
          .map((minutes) => untilMs - minutes * MINUTE_MS)
          .filter((each) => each >= ms))
          expect(isOpen(wanted, where, beforeMs)).toBe(false);
      }),
      { numRuns: 150 },
    );
  });
});
