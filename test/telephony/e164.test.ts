import { describe, expect, it } from 'vitest';
import { countryOf, isE164, isPremium } from '#telephony/e164.ts';

describe('E.164', () => {
  it.each(['+14155550123', '+12', '+390612345678', '+123456789012345'])('%s is a valid number', (text) => {
    expect(isE164(text)).toBe(true);
  });

  it.each(['14155550123', '+', '+0123', '+1', '+1234567890123456', '+1 415', '+1415a', 'sip:+1415', ''])(
    '%s is not a valid number',
    (text) => {
      expect(isE164(text)).toBe(false);
    },
  );

  it.each([
    ['+14155550123', 'US'],
    ['+15550100000', 'US'],
    ['+16045550123', 'CA'],
    ['+18765550123', 'JM'],
    ['+442079460000', 'GB'],
    ['+393331234567', 'IT'],
    ['+81312345678', 'JP'],
    ['+525512345678', 'MX'],
    ['+61212345678', 'AU'],
    ['+77011234567', 'KZ'],
    ['+79161234567', 'RU'],
    ['+35312345678', 'IE'],
    ['+870123456789', null],
  ])('%s belongs to %s', (number, country) => {
    expect(countryOf(number)).toBe(country);
  });

  it.each([
    '+19005550123',
    '+442079460000'.replace('20', '90'),
    '+448701234567',
    '+39899123456',
    '+81990123456',
    '+61190012345',
    '+881612345678',
  ])('%s is a premium number', (number) => {
    expect(isPremium(number)).toBe(true);
  });

  it.each([
    '+14155550123',
    '+442079460000',
    '+393331234567',
    '+81312345678',
    '+61412345678',
    '+525512345678',
    '+4915112345678',
  ])('%s is not a premium number', (number) => {
    expect(isPremium(number)).toBe(false);
  });
});
