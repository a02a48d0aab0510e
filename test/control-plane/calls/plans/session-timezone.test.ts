import { describe, expect, it } from 'vitest';
import { readVariables } from '#control-plane/calls/admission/init-webhook.ts';
import { spokenNumber } from '#control-plane/calls/plans/build-plan.ts';
import { dateIn, sessionTimezone } from '#control-plane/calls/plans/session-timezone.ts';

describe('a session’s time zone', () => {
  const none = { requested: null, agent: '', client: null, phoneNumber: '' };
  it.each([
    [
      {
        ...none,
        requested: 'Asia/Tokyo',
        agent: 'Europe/Paris',
        client: 'America/Lima',
        phoneNumber: '+4930123',
      },
      'Asia/Tokyo',
    ],
    [{ ...none, agent: 'Europe/Paris', client: 'America/Lima', phoneNumber: '+81312345678' }, 'Europe/Paris'],
    [{ ...none, client: 'America/Lima', phoneNumber: '+81312345678' }, 'America/Lima'],
    [{ ...none, client: 'Mars/Olympus', phoneNumber: '+81312345678' }, 'Asia/Tokyo'],
    [{ ...none, phoneNumber: '+14155550123' }, null],
    [none, null],
  ])('follows from %o: %s', (sources, zone) => {
    expect(sessionTimezone(sources)).toBe(zone);
  });

  it('decides the local date', () => {
    expect([dateIn('Asia/Tokyo', Date.UTC(2026, 0, 1, 16)), dateIn('UTC', Date.UTC(2026, 0, 1, 16))]).toEqual(
      ['2026-01-02', '2026-01-01'],
    );
  });
});

describe('a number in spoken form', () => {
  it.each([
    ['+14155550123', '+1; 4 1 5; 5 5 5; 0 1 2 3'],
    ['anonymous', ''],
    ['', ''],
  ])('is made from %s: %s', (number, spoken) => {
    expect(spokenNumber(number)).toBe(spoken);
  });
});

describe('the variables of an init webhook’s answer', () => {
  it('are read up to 500 entries and 1 MiB; an invalid entry is dropped alone', () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`v${index}`, index]));
    expect(Object.keys(readVariables({ dynamic_variables: many })).length).toBe(500);
    const large = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`v${index}`, 'x'.repeat(100_000)]),
    );
    expect(Object.keys(readVariables({ dynamic_variables: large })).length).toBe(10);
    expect(
      readVariables({ dynamic_variables: { a: 1, 'b.c': 2, d: null, e: 'x'.repeat(100_001), f: false } }),
    ).toEqual({ a: 1, f: false });
    for (const answer of [null, [], 'x', {}, { dynamic_variables: [1] }])
      expect(readVariables(answer)).toEqual({});
  });
});
