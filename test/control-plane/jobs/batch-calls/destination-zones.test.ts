import { describe, expect, it } from 'vitest';
import { isOpen, nextOpening, WEEKDAYS } from '#control-plane/jobs/batch-calls/calling-hours.ts';
import { zonesOfNumber } from '#control-plane/jobs/batch-calls/destination-zones.ts';

describe('the time zones of a number', () => {
  it('are told by its leading digits', async () => {
    expect(await zonesOfNumber('+14155550123')).toEqual(['America/Los_Angeles']);
    expect(await zonesOfNumber('+12125550123')).toEqual(['America/New_York']);
    expect(await zonesOfNumber('+442071234567')).toEqual(['Europe/London']);
    expect(await zonesOfNumber('+79161234567')).toEqual(['Europe/Moscow']);
    expect(await zonesOfNumber('+818012345678')).toEqual(['Asia/Tokyo']);
  });

  it('are those of its country where they say no more than that', async () => {
    const zones = await zonesOfNumber('+15550100042');
    expect(zones).toContain('America/New_York');
    expect(zones).toContain('Pacific/Honolulu');
    expect(zones).not.toContain('America/Toronto');
  });

  it('are narrowed to the hours that all of them share', async () => {
    const zones = await zonesOfNumber('+15550100042');
    const hours = { start: '09:00', end: '20:00', days: [...WEEKDAYS] };
    const opening = nextOpening(hours, zones, Date.parse('2026-11-23T12:00:00Z')) ?? 0;
    // 09:00 in Honolulu is the last of them to begin: 14:00 in New York.
    expect(new Date(opening).toISOString()).toBe('2026-11-23T19:00:00.000Z');
    expect(isOpen(hours, zones, Date.parse('2026-11-24T01:00:00Z'))).toBe(false);
  });

  it('are not known for networks of no country', async () => {
    expect(await zonesOfNumber('+88212345678')).toEqual([]);
  });
});
