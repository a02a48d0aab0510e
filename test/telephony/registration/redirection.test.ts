/** Where a redirected REGISTER goes, and what it names (RFC 3261 §8.1.3.4, §10.2, §19.1.1). */
import { describe, expect, it } from 'vitest';
import { readRedirection } from '#telephony/registration/redirection.ts';
import { readRegisterAnswer } from '#telephony/registration/register-answer.ts';
import { writeRequest } from '#telephony/registration/registration-request.ts';
import { beginRound } from '#telephony/registration/registration-round.ts';

describe('the registrar that a redirection names', () => {
  it.each([
    ['sip:204@pbx2.example', 'sip:pbx2.example', 'pbx2.example', 'auto'],
    ['sip:204:secret@pbx2.example:5070', 'sip:pbx2.example:5070', 'pbx2.example:5070', 'auto'],
    // A user part may contain `;` and `?` (RFC 3261 §25.1).
    ['sip:204;phone-context=home@pbx2.example', 'sip:pbx2.example', 'pbx2.example', 'auto'],
    ['sip:20?4@pbx2.example', 'sip:pbx2.example', 'pbx2.example', 'auto'],
    [
      'sip:[2001:db8::1]:5070;transport=TCP',
      'sip:[2001:db8::1]:5070;transport=TCP',
      '[2001:db8::1]:5070',
      'tcp',
    ],
    ['sips:204@pbx2.example;transport=tcp', 'sips:pbx2.example;transport=tcp', 'pbx2.example', 'tls'],
    ['sip:pbx2.example;method=INVITE;lr?Subject=x', 'sip:pbx2.example;lr', 'pbx2.example', 'auto'],
  ])('%s is named %s', (contact, uri, host, transport) => {
    expect(readRedirection(contact)).toEqual({ uri, host, transport });
  });

  it.each(['tel:+4930123456', 'sip:204@a@b.example', 'sip:pbx2.example;transport=ws', 'sip:204@'])(
    'is none in %s',
    (contact) => {
      expect(readRedirection(contact)).toBeNull();
    },
  );

  it('is the one that the answer prefers', () => {
    const value = '<sip:a.example>;q=0.2, <sip:b.example>;q=0.9, <tel:+49301>';
    const answer = readRegisterAnswer({
      status: 302,
      reason: 'Moved Temporarily',
      headers: [{ name: 'Contact', value }],
      sourceAddress: '203.0.113.5',
      contact: null,
      server: 'one',
    });
    expect(answer.redirects.map(({ host }) => host)).toEqual(['b.example', 'a.example']);
  });

  it('gets a secure Contact if it is secure (RFC 3261 §8.1.1.8)', () => {
    const account = { user: '204', registrar: 'pbx.example', username: '204', password: 'secret' };
    const identity = { callId: 'c', fromTag: 'f', cseq: 1, cnonce: 'n', token: 't', contactPlace: null };
    const written = writeRequest(beginRound('register', 600), account, identity, 'sips:pbx2.example');
    expect(written).toMatchObject({
      uri: 'sips:pbx2.example',
      headers: { Contact: '<sips:t@localhost>;expires=600', To: '<sip:204@pbx.example>' },
    });
  });
});
