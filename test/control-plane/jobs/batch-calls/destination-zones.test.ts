import { describe, expect, it } from 'vitest';
import { isOpen, nextOpening, WEEKDAYS } from '#control-plane/jobs/batch-calls/calling-hours.ts';
import { zonesOfNumber } from '#control-plane/jobs/batch-calls/destination-zones.ts';

describe('the time zones of a number', () => {
  it('are determined by its leading digits', async () => {
    expect(await zonesOfNumber('+14155550123')).toEqual(['America/Los_Angeles']);
    expect(await zonesOfNumber('+12125550123')).toEqual(['America/New_York']);
    expect(await zonesOfNumber('+442071234567')).toEqual(['Europe/London']);
    expect(await zonesOfNumber('+79161234567')).toEqual(['Europe/Moscow']);
    expect(await zonesOfNumber('+818012345678')).toEqual(['Asia/Tokyo']);
  });

  it('are all those of its country where the digits are no more specific', async () => {
    const zones = await zonesOfNumber('+15550100042');
    expect(zones).toContain('America/New_York');
    expect(zones).toContain('Pacific/Honolulu');
    expect(zones).not.toContain('America/Toronto');
  });

  it('are narrowed to the hours they all share', async () => {
    const zones = await zonesOfNumber('+15550100042');
    const hours = { start: '09:00', end: '20:00', days: [...WEEKDAYS] };
    const opening = nextOpening(hours, zones, Date.parse('2026-11-23T12:00:00Z')) ?? 0;
    // Honolulu is the last zone to reach 09:00, which is 14:00 in New York.
    expect(new Date(opening).toISOString()).toBe('2026-11-23T19:00:00.000Z');
    expect(isOpen(hours, zones, Date.parse('2026-11-24T01:00:00Z'))).toBe(false);
  });

  it('are unknown for networks without a country', async () => {
    expect(await zonesOfNumber('+88212345678')).toEqual([]);
  });
});
