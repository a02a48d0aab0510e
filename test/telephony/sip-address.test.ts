import { describe, expect, it } from 'vitest';
import { isForSameUser, numberOf, readHostPort, readSipUri, telephoneOf } from '#telephony/sip-address.ts';

describe('a SIP URI', () => {
  it.each([
    [
      'sip:+15550100000@Trunk.Example.:5070;transport=TCP',
      { user: '+15550100000', host: 'trunk.example', port: 5070, transport: 'tcp', isPhone: false },
    ],
    [
      'SIP:%2B15550100000:secret@[2001:DB8::1]',
      { user: '+15550100000', host: '2001:db8::1', port: null, transport: 'udp', isPhone: false },
    ],
    ['sips:ann;phone-context=x@trunk.example;user=phone?Subject=a@b', null],
    [
      'sips:ann;phone-context=x@trunk.example;user=phone?Subject=a',
      { user: 'ann', host: 'trunk.example', port: null, transport: 'tls', isPhone: true },
    ],
    ['sip:trunk.example', { user: '', host: 'trunk.example', port: null, transport: 'udp', isPhone: false }],
    ['sip:a@b@trunk.example', null],
    ['sip:a@trunk.example:65536', null],
    ['sip:a@[1.2.3.4]', null],
    ['tel:+15550100000', null],
    [`sip:${'a'.repeat(3_000)}@trunk.example`, null],
  ])('is parsed: %s', (uri, address) => {
    expect(readSipUri(uri)).toEqual(address);
  });

  it('names the same user in any spelling, also behind a proxy that rewrites the host', () => {
    const plain = 'sip:+15550100000@trunk.example';
    for (const same of [
      'sip:%2B1-555-010-0000:x@TRUNK.example.:5060;user=phone',
      'sip:15550100000@other.example:5070',
      'sip:trunk.example:5070',
    ])
      expect(isForSameUser(same, plain)).toBe(true);
    for (const other of [
      'sip:+15550100001@trunk.example',
      'sip:ann@trunk.example',
      'sip:other.example',
      'nonsense',
    ])
      expect(isForSameUser(other, plain)).toBe(false);
  });
});

describe('a user part', () => {
  it.each([
    '+15550100000',
    '15550100000',
    '%2B15550100000',
    '+1-(555)-010.0000',
    '+15550100000;phone-context=x',
    '+1%20555%200100000',
  ])('security 11: is recognised as its number in the spelling %s', (user) => {
    expect(numberOf(user)).toBe('+15550100000');
  });

  it.each(['', 'ann', '+', '+0123', '+1234567890123456', '%ZZ'])(
    'is not recognised as a number: %s',
    (user) => {
      expect(numberOf(user)).toBeNull();
    },
  );

  it.each([
    ['005352001234', false, '+5352001234'],
    ['01153-5200-1234', false, '+5352001234'],
    ['5352001234', false, '+5352001234'],
    ['200', true, '+200'],
    ['200', false, null],
    ['ann', true, null],
  ])('is dialled as a telephone number or treated as an extension: %s', (user, isPhone, number) => {
    expect(telephoneOf({ user, isPhone })).toBe(number);
  });
});

it.each(['', 'a b', 'host:', 'host:0', 'host:65536', 'host:99999', '[::1', 'a@b'])(
  'does not accept %j as a host and port',
  (text) => {
    expect(readHostPort(text)).toBeNull();
  },
);
